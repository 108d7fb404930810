// Compaction of a database that is used.
#include <absl/status/status.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "engine/testing/testing_database.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"

namespace latchkey::compaction_test {
namespace {

constexpr uint64_t kRecords = 20'000, kKeepsOneIn = 10;

std::string KeyOf(uint64_t i) { return "key" + std::to_string(1'000'000 + i); }

Options OptionsFor(const std::string& layout, Durability durability) {
  Options options;
  options.durability = durability;
  options.techniques.layout = layout;
  options.techniques.segment_size = 128 << 10;
  options.cache_bytes = 8 << 20;
  return options;
}

// Records spread over all leaves stay.
void FillAndThin(Database& db, Tree tree) {
  const std::string value(500, 'v');
  for (uint64_t from = 0; from < kRecords; from += 1000) {
    Transaction txn = db.Begin();
    for (uint64_t i = from; i < from + 1000; ++i) REQUIRE_OK(txn.Put(tree, KeyOf(i), value));
    REQUIRE_OK(txn.Commit());
  }
  for (uint64_t i = 0; i < kRecords; ++i) {
    if (i % kKeepsOneIn != 0) REQUIRE_OK(db.Delete(tree, KeyOf(i)));
  }
}

void CheckKept(Database& db, Tree tree) {
  REQUIRE_OK(db.Verify());
  uint64_t next = 0;
  Transaction txn = db.Begin();
  Cursor cursor = txn.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), next += kKeepsOneIn) {
    REQUIRE(cursor.key() == KeyOf(next));
  }
  REQUIRE_OK(cursor.status());
  CHECK(next == kRecords);
}

TEST_CASE("After a compaction the file holds little more than the records, in every layout") {
  const std::string layout = GENERATE(from_range(LayoutsUnderTest()));
  const Durability durability = GENERATE(Durability::kNone, Durability::kGroup);
  CAPTURE(layout, durability);
  // One thread has no races to find, and HyLog has the parts of the others.
  if (kThreadSanitizer && (layout != "hylog" || durability == Durability::kNone)) return;
  if (kAddressSanitizer && layout != "hylog" && durability == Durability::kNone) return;
  const TempDir dir;
  auto db = OpenOrFail(dir.File("db"), OptionsFor(layout, durability));
  const Tree tree = TreeOrFail(*db, "tree");
  FillAndThin(*db, tree);
  const auto info = db->Compact();
  REQUIRE_OK(info.status());
  CHECK(info->bytes_before >= info->bytes_after);
  CHECK(info->leaves > 0);
  // 1 MB of records, in leaves that are at least half full, u_d .8, the least reserve, the header.
  CHECK(info->bytes_after < (6 << 20));
  CheckKept(*db, tree);
  REQUIRE_OK(db->Close());
  db = OpenOrFail(dir.File("db"), OptionsFor(layout, durability));
  CheckKept(*db, TreeOrFail(*db, "tree"));
}

TEST_CASE("A compaction unites leaves that deletes have left more than a quarter full") {
  auto db = OpenInMemory(OptionsFor("overwrite", Durability::kCommit));
  const Tree tree = TreeOrFail(*db, "tree");
  const std::string value(100, 'v');
  for (uint64_t i = 0; i < kRecords; ++i) REQUIRE_OK(db->Put(tree, KeyOf(i), value));
  for (uint64_t i = 0; i < kRecords; ++i) {
    if (i % 2 != 0) REQUIRE_OK(db->Delete(tree, KeyOf(i)));
  }
  const auto info = db->Compact();
  REQUIRE_OK(info.status());
  CHECK(info->freed > 50);
  const auto again = db->Compact();
  REQUIRE_OK(again.status());
  CHECK(again->freed == 0);
  CHECK(again->leaves <= info->leaves);
  REQUIRE_OK(db->Verify());
}

TEST_CASE(
    "After a compaction the leaves are full, though many pairs of them did not fit into one") {
  const TempDir dir;
  Options options = OptionsFor("overwrite", Durability::kGroup);
  auto db = OpenOrFail(dir.File("db"), options);
  const Tree tree = TreeOrFail(*db, "tree");
  Rng rng(1);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < kRecords; ++i) {  // in random order: leaves are two thirds full
    const std::string key = KeyOf(i * 7919 % kRecords), value(rng.Below(200), 'v');
    bytes += key.size() + value.size();
    REQUIRE_OK(db->Put(tree, key, value));
  }
  const auto share = [&] {
    return static_cast<double>(bytes) / static_cast<double>(db->GetStatistics().live_bytes);
  };
  REQUIRE_OK(db->Checkpoint());
  CHECK(share() < .7);
  REQUIRE_OK(db->Compact().status());
  CHECK(share() > .8);
  REQUIRE_OK(db->Verify());
  REQUIRE_OK(db->Close());
  db = OpenOrFail(dir.File("db"), options);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Users read and write while a database is compacted, and find what they wrote") {
  const std::string layout = GENERATE(std::string("overwrite"), std::string("lfs"));
  CAPTURE(layout);
  auto db = OpenInMemory(OptionsFor(layout, Durability::kGroup));
  const Tree tree = TreeOrFail(*db, "tree"), other = TreeOrFail(*db, "other");
  FillAndThin(*db, tree);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<Actor>> users;
  for (uint64_t user = 0; user < 2; ++user) {
    users.push_back(ThreadRuntime().Spawn("user", [&, user] {
      Rng rng(user);
      for (uint64_t n = 0; !stop; ++n) {
        const uint64_t i = rng.Below(kRecords / kKeepsOneIn) * kKeepsOneIn;
        std::string value;
        wrong += !db->Get(tree, KeyOf(i), &value).ok() || value.size() != 500;
        const std::string key = std::to_string(user) + "/" + std::to_string(n % 500);
        wrong += !db->Put(other, key, std::string(300, 'u')).ok();
        if (n % 3 == 0) wrong += !db->Delete(other, key).ok();
      }
    }));
  }
  for (int i = 0; i < 3; ++i) REQUIRE_OK(db->Compact().status());
  stop = true;
  users.clear();
  CHECK(wrong == 0);
  CheckKept(*db, tree);
}

TEST_CASE("A compaction that is stopped says so, and one at a time runs") {
  auto db = OpenInMemory(OptionsFor("overwrite", Durability::kCommit));
  const Tree tree = TreeOrFail(*db, "tree");
  FillAndThin(*db, tree);
  CompactOptions options;
  absl::Status second;
  options.progress = [&](const CompactProgress& now) {
    if (now.leaves == 3) second = db->Compact().status();
    return now.leaves < 5;
  };
  const absl::Status stopped = db->Compact(options).status();
  CHECK(absl::IsCancelled(stopped));
  CHECK(absl::IsFailedPrecondition(second));
  REQUIRE_OK(db->Compact().status());
  CheckKept(*db, tree);
}

}  // namespace
}  // namespace latchkey::compaction_test
