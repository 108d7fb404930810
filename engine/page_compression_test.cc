// Page compression as users of a database meet it.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "engine/salvage/salvage.h"
#include "engine/testing/testing_database.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey::page_compression_test {
namespace {

using Records = std::map<std::string, std::string>;

Options Compressed(const std::string& codec, const std::string& layout = "lfs") {
  Options options;
  options.techniques.layout = layout;
  options.techniques.page_compression = codec;
  options.techniques.segment_size = 64 << 10;
  options.durability = Durability::kGroup;
  options.cache_bytes = 2 << 20;  // far less than the records: pages come from the device
  return options;
}

void Damage(const std::string& file, uint64_t offset) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(offset));
  out.write("damage", 6);
  REQUIRE(out.good());
}

// Half of each value compresses.
std::string ValueOf(Rng& rng) {
  std::string value(300, 'x');
  for (size_t i = 0; i < 150; ++i) value[i] = static_cast<char>(rng.Below(256));
  return value;
}

void Rewrite(Database& db, Rng& rng, Records* records) {
  const Tree tree = TreeOrFail(db, "records");
  constexpr int kBatches = kSanitizer ? 25 : 100;
  for (int batch = 0; batch < kBatches; ++batch) {
    WriteBatch writes;
    for (int i = 0; i < 100; ++i) {
      const std::string key = "key" + std::to_string(rng.Below(200 * kBatches));
      const std::string value = ValueOf(rng);
      writes.Put(tree, key, value);
      (*records)[key] = value;
    }
    REQUIRE_OK(db.Write(writes));
  }
}

Records ContentOf(Database& db) {
  Records records;
  Transaction transaction = db.Begin();
  Cursor cursor = transaction.NewCursor(TreeOrFail(db, "records"));
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    records[std::string(cursor.key())] = std::string(cursor.value());
  }
  REQUIRE_OK(cursor.status());
  return records;
}

uint64_t LiveBytesWithoutCompression() {
  const TempDir dir;
  Records records;
  Rng rng(11);
  const auto db = OpenOrFail(dir.File("db"), Compressed("none"));
  for (int round = 0; round < 2; ++round) Rewrite(*db, rng, &records);
  REQUIRE_OK(db->Checkpoint());
  return db->GetStatistics().live_bytes;
}

TEST_CASE("A database with page compression takes less space, and each open may choose the codec") {
  const TempDir dir;
  Records records;
  Rng rng(11);
  std::vector<std::string> openings = CodecsUnderTest();
  if (openings.empty()) return;
  openings.insert(openings.end(), {"none", openings.front()});
  if (kThreadSanitizer) openings.resize(1);  // one user has no races to find
  const uint64_t whole_bytes = LiveBytesWithoutCompression();
  for (size_t i = 0; i < openings.size(); ++i) {
    CAPTURE(openings[i]);
    const auto db =
        OpenOrFail(dir.File("db"), Compressed(openings[i], i % 2 == 0 ? "lfs" : "hylog"));
    CHECK(ContentOf(*db).size() == records.size());
    for (int round = 0; round < 2; ++round) Rewrite(*db, rng, &records);
    REQUIRE_OK(db->Checkpoint());
    CHECK(ContentOf(*db) == records);
    REQUIRE_OK(db->Verify());
    const Statistics statistics = db->GetStatistics();
    if (i == 0) CHECK(statistics.live_bytes * 10 < whole_bytes * 8);
    REQUIRE_OK(db->Close());
  }
}

TEST_CASE("Page compression that a file was created without is refused with the remedy") {
  const std::vector<std::string> codecs = CodecsUnderTest();
  if (codecs.empty()) return;
  const TempDir dir;
  REQUIRE_OK(OpenOrFail(dir.File("db"), Compressed("none"))->Close());
  const auto refused = Database::Open(dir.File("db"), Compressed(codecs.front()));
  CHECK(absl::IsInvalidArgument(refused.status()));
  CHECK_THAT(std::string(refused.status().message()), Catch::Contains("restore a backup"));
  const auto unknown = Database::Open(dir.File("new"), Compressed("gzip"));
  CHECK(absl::IsInvalidArgument(unknown.status()));
  CHECK_THAT(std::string(unknown.status().message()), Catch::Contains("page compression"));
  CHECK_FALSE(std::filesystem::exists(dir.File("new")));
}

TEST_CASE("A backup of whole pages may be restored with page compression, and back") {
  const std::vector<std::string> codecs = CodecsUnderTest();
  if (codecs.empty()) return;
  const TempDir dir;
  Records records;
  Rng rng(5);
  std::string from = "none";
  for (const std::string& to : {codecs.front(), std::string("none")}) {
    CAPTURE(from, to);
    const std::string path = dir.File(from), backups = dir.File("backups-of-" + from);
    {
      const auto db = OpenOrFail(path, Compressed(from));
      if (records.empty()) Rewrite(*db, rng, &records);
      REQUIRE_OK(db->Backup(backups, {}).status());
      REQUIRE_OK(db->Close());
    }
    std::filesystem::remove_all(path);
    RestoreOptions restore;
    restore.database = Compressed(to);
    REQUIRE_OK(RestoreBackup(backups, dir.File(to), restore));
    const auto db = OpenOrFail(dir.File(to), Compressed(to));
    CHECK(ContentOf(*db) == records);
    REQUIRE_OK(db->Close());
    from = to;
  }
}

TEST_CASE("Salvage finds compressed pages, also without a superblock") {
  for (const std::string& codec : CodecsUnderTest()) {
    for (const bool without_superblock : {false, true}) {
      CAPTURE(codec, without_superblock);
      const TempDir dir;
      Records records;
      {
        Rng rng(7);
        Options options = Compressed(codec);
        options.durability = Durability::kNone;
        const auto db = OpenOrFail(dir.File("db"), options);
        Rewrite(*db, rng, &records);
        REQUIRE_OK(db->Close());
      }
      if (without_superblock) {
        for (const uint64_t offset : {0, 4096, 512 << 10, (512 << 10) + 4096}) {
          Damage(dir.File("db") + "/data.lk", offset + 100);
        }
      }
      SalvageOptions options;
      options.output.cache_bytes = 16 << 20;
      const auto report = Salvage(dir.File("db"), dir.File("saved"), options);
      REQUIRE_OK(report.status());
      const auto saved = OpenOrFail(dir.File("saved"), Options());
      CHECK(ContentOf(*saved) == records);
    }
  }
}

}  // namespace
}  // namespace latchkey::page_compression_test
