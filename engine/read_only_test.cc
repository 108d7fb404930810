// Options::read_only: what such a database shows, what it changes (nothing), and what it refuses.
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"
#include "storage/base/sanitizers.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey::read_only_test {
namespace {

namespace fs = std::filesystem;
using Records = std::map<std::string, std::string>;

std::string Key(uint64_t i) { return KeyWriter().UInt(i).key(); }

Options ReadOnly() {
  Options options;
  options.read_only = true;
  options.cache_bytes = 2 << 20;
  return options;
}

Records Contents(Database& db, std::string_view name) {
  Records records;
  const Tree tree = *db.OpenTree(name, /*create=*/false);
  Transaction txn = db.Begin();
  Cursor cursor = txn.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    records.emplace(cursor.key(), cursor.value());
  }
  REQUIRE_OK(cursor.status());
  return records;
}

/// The bytes and the time of the last write of every file in `directory`.
std::map<std::string, std::pair<std::string, fs::file_time_type>> Files(const fs::path& directory) {
  std::map<std::string, std::pair<std::string, fs::file_time_type>> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    files[entry.path().filename()] = {std::move(bytes), entry.last_write_time()};
  }
  return files;
}

/// Copies the files as a kill of the process would leave them. No actor may write meanwhile: a log that
/// was copied before a page that was written behind it looked like one that has lost its end.
void CopyAtOneMoment(const fs::path& path, const fs::path& copy) {
  for (auto before = Files(path);;) {
    fs::remove_all(copy);
    fs::copy(path, copy, fs::copy_options::recursive);
    auto after = Files(path);
    if (after == before) return;
    before = std::move(after);
  }
}

/// The files in `directory` that this process could write to through an open descriptor.
std::vector<std::string> WritableFiles(const fs::path& directory) {
  std::vector<std::string> writable;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const fs::path file = fs::read_symlink(entry.path(), error);
    const int flags = fcntl(std::stoi(entry.path().filename()), F_GETFL);
    if (file.parent_path() == directory && (flags & O_ACCMODE) != O_RDONLY) {
      writable.push_back(file);
    }
  }
  return writable;
}

/// Records that no checkpoint has written, deleted ones, long ones, a dropped tree, a deleted range,
/// and a transaction that has not committed.
struct BusyDatabase {
  BusyDatabase(const std::string& path, Options options)
      : db(OpenOrFail(path, options)), tree(TreeOrFail(*db, "t")) {
    constexpr uint64_t kRecords = kSanitizer ? 3'000 : 12'000;
    for (uint64_t i = 0; i < kRecords; i += 200) {
      WriteBatch batch;
      for (uint64_t k = i; k < i + 200; ++k) batch.Put(tree, Key(k * 7919 % kRecords), Value(k));
      REQUIRE_OK(db->Write(batch));
    }
    WriteBatch deletes;
    for (uint64_t i = 0; i < kRecords; i += 3) deletes.Delete(tree, Key(i));
    REQUIRE_OK(db->Write(deletes));
    REQUIRE_OK(db->DeleteRange(tree, {.from = Key(1000), .to = Key(4000)}));
    REQUIRE_OK(db->Put(tree, Key(1), std::string(50'000, 'l')));
    REQUIRE_OK(db->Put(TreeOrFail(*db, "dropped"), "a", "b"));
    REQUIRE_OK(db->DropTree("dropped"));
  }
  static std::string Value(uint64_t k) { return std::string(60 + k % 80, 'a' + char(k % 26)); }
  void Begin() {
    running.emplace(db->Begin());
    for (uint64_t i = 5000; i < 8000; ++i) REQUIRE_OK(running->Put(tree, Key(i), "uncommitted"));
  }

  std::unique_ptr<Database> db;
  Tree tree;
  std::optional<Transaction> running;
};

TEST_CASE("A read-only open shows what was committed and changes no byte") {
  const std::string layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  if (kSanitizer && layout != "hylog") return;  // it has the parts of the others
  const bool is_logged = GENERATE(true, false);
  const bool is_clean = !is_logged || GENERATE(true, false);
  CAPTURE(layout, is_logged, is_clean);
  const TempDir dir;
  const fs::path path = dir.path() / "db", copy = dir.path() / "copy";
  Options options;
  options.cache_bytes = 4 << 20;
  options.techniques.layout = layout;
  if (!is_logged) options.durability = Durability::kNone;
  Records committed;
  {
    BusyDatabase busy(path, options);
    committed = Contents(*busy.db, "t");
    busy.Begin();
    if (!is_clean) CopyAtOneMoment(path, copy);
  }
  if (is_clean) fs::rename(path, copy);
  const auto before = Files(copy);
  for (int round = 0; round < (kSanitizer ? 1 : 2); ++round) {
    auto db = OpenOrFail(copy, ReadOnly());
    CHECK(WritableFiles(copy).empty());
    CHECK(db->ListTrees() == std::vector<std::string>{"t"});
    CHECK((Contents(*db, "t") == committed));
    std::string value;
    REQUIRE_OK(db->Get(*db->OpenTree("t", false), Key(1), &value));
    CHECK(value.size() == 50'000);
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(db->Sync());
    REQUIRE_OK(db->Close());
    CHECK((Files(copy) == before));
  }
  options.cache_bytes = 2 << 20;
  const auto db = OpenOrFail(copy, options);
  CHECK((Contents(*db, "t") == committed));
}

TEST_CASE("Several readers have a database open at once, and no writer beside them") {
  const TempDir dir;
  const std::string path = dir.path() / "db";
  {
    const auto db = OpenOrFail(path, {});
    REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
    CHECK(absl::IsFailedPrecondition(Database::Open(path, ReadOnly()).status()));
  }
  auto first = OpenOrFail(path, ReadOnly()), second = OpenOrFail(path, ReadOnly());
  CHECK(Contents(*first, "t") == Contents(*second, "t"));
  CHECK(absl::IsFailedPrecondition(Database::Open(path, {}).status()));
  first.reset();
  CHECK(absl::IsFailedPrecondition(Database::Open(path, {}).status()));
  second.reset();
  const auto db = OpenOrFail(path, {});
  REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "w"));
}

TEST_CASE("Every call that writes is refused by a database that is open read-only") {
  const TempDir dir;
  const std::string path = dir.path() / "db";
  {
    const auto db = OpenOrFail(path, {});
    REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
  }
  Options options = ReadOnly();
  options.isolation = Isolation::kSerializable;
  const auto db = OpenOrFail(path, options);
  const Tree tree = *db->OpenTree("t");
  Transaction txn = db->Begin({.read_only = false});
  WriteBatch batch;
  batch.Put(tree, "a", "b");
  std::string value;
  const absl::Status refused[] = {
      db->Put(tree, "a", "b"),
      db->Delete(tree, "k"),
      db->Write(batch),
      txn.Put(tree, "a", "b"),
      txn.Insert(tree, "a", "b"),
      txn.Delete(tree, "k"),
      txn.GetForUpdate(tree, "k", &value),
      db->RunTransaction([&](Transaction& own) { return own.Put(tree, "a", "b"); }),
      db->OpenTree("new").status(),
      db->DropTree("t"),
      db->RenameTree("t", "u"),
      db->ClearTree(tree),
      db->DeleteRange(tree, {.from = "a", .to = "z"}),
      db->NewBulkLoader("u").status(),
      db->Checkpoint(),
      db->Compact().status(),
      db->Backup(dir.path() / "backup").status(),
  };
  for (const absl::Status& status : refused) {
    CHECK(absl::IsFailedPrecondition(status));
    CHECK(status.message().find("opened read-only") != std::string_view::npos);
  }
  CHECK_FALSE(fs::exists(dir.path() / "backup"));
  REQUIRE_OK(txn.Get(tree, "k", &value));
  CHECK(value == "v");
  REQUIRE_OK(txn.Commit());
  REQUIRE_OK(db->SetCacheBytes(4 << 20));
  REQUIRE_OK(db->Get(tree, "k", &value));
}

TEST_CASE("A read-only open that cannot be done says why and leaves the directory as it was") {
  const TempDir dir;
  const fs::path path = dir.path() / "db";
  CHECK(absl::IsNotFound(Database::Open(path, ReadOnly()).status()));
  CHECK(absl::IsInvalidArgument(Database::Open("", ReadOnly()).status()));
  CHECK(absl::IsInvalidArgument(Database::Open("", {}).status()));
  CHECK_FALSE(fs::exists(path));
  fs::create_directory(path);
  std::ofstream(path / "data.lk.new") << "cut short";
  CHECK(absl::IsNotFound(Database::Open(path, ReadOnly()).status()));
  CHECK(fs::exists(path / "data.lk.new"));
  fs::remove(path / "data.lk.new");

  Options options = ReadOnly();
  options.error_if_exists = true;
  CHECK(absl::IsInvalidArgument(Database::Open(path, options).status()));
  options = ReadOnly();
  options.in_memory_device = true;
  CHECK(absl::IsInvalidArgument(Database::Open(path, options).status()));

  // Without a log, what was not closed is lost: a reader is told so, too.
  options = {};
  options.durability = Durability::kNone;
  const auto db = OpenOrFail(path, options);
  REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
  const fs::path copy = dir.path() / "copy";
  fs::copy(path, copy, fs::copy_options::recursive);
  const auto before = Files(copy);
  const absl::Status unclean = Database::Open(copy, ReadOnly()).status();
  CHECK_FALSE(unclean.ok());
  CHECK(unclean.message() == Database::Open(copy, options).status().message());
  CHECK((Files(copy) == before));
}

// The log would have been written over, with all that only it held.
TEST_CASE("An empty data file beside a log is no new database") {
  const TempDir dir;
  const std::string path = dir.File("db");
  {
    const auto db = OpenOrFail(path, {});
    REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
    REQUIRE_OK(db->Close());
  }
  fs::resize_file(path + "/data.lk", 0);
  const auto before = Files(path);
  for (const Options& options : {Options{}, ReadOnly()}) {
    const absl::Status refused = Database::Open(path, options).status();
    CHECK(absl::IsFailedPrecondition(refused));
    CHECK_THAT(std::string(refused.message()), Catch::Contains("restore it from a backup"));
  }
  CHECK((Files(path) == before));
}

TEST_CASE("A link that leads nowhere in the place of the data file is no new database") {
  const TempDir dir;
  fs::create_directory(dir.File("db"));
  fs::create_symlink(dir.File("away"), dir.File("db/data.lk"));
  for (const Options& options : {Options{}, ReadOnly()}) {
    const absl::Status refused = Database::Open(dir.File("db"), options).status();
    CHECK(absl::IsFailedPrecondition(refused));
    CHECK_THAT(std::string(refused.message()), Catch::Contains("is a link to a file"));
  }
  CHECK(fs::is_symlink(dir.File("db/data.lk")));
}

}  // namespace
}  // namespace latchkey::read_only_test
