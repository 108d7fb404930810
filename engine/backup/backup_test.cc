#include <fstream>
#include <map>
#include <string>

#include "engine/backup/backup_job.h"
#include "engine/database_impl.h"
#include "engine/testing/crash_disks.h"
#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"

namespace latchkey::backup_test {
namespace {

constexpr BackupSizing kSmallFiles = {.page_file_bytes = uint64_t{1} << 20};

std::map<std::string, std::string> Contents(Database& db, std::string_view name = "t") {
  std::map<std::string, std::string> records;
  const Tree tree = TreeOrFail(db, name);
  Transaction transaction = db.Begin();
  Cursor cursor = transaction.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    records[std::string(cursor.key())] = std::string(cursor.value());
  }
  REQUIRE_OK(cursor.status());
  return records;
}

void Alter(Database& db, uint64_t seed, int changes, int keys = 20'000) {
  Rng rng(seed);
  const Tree tree = TreeOrFail(db, "t");
  for (int i = 0; i < changes;) {
    WriteBatch batch;
    for (int j = 0; j < 200; ++j, ++i) {
      const std::string key = "key " + std::to_string(rng.Below(static_cast<uint64_t>(keys)));
      if (rng.Below(5) == 0) {
        batch.Delete(tree, key);
      } else {
        batch.Put(tree, key, std::string(rng.Below(40) == 0 ? 9000 : rng.Below(200), 'v'));
      }
    }
    REQUIRE_OK(db.Write(batch));
  }
}

// It takes many checkpoints while the test changes it.
std::unique_ptr<Database> FilledDatabaseWithCheckpoints(const TempDir& dir) {
  Options options;
  options.cache_bytes = 8 << 20;
  options.checkpoint_log_bytes = 1 << 20;
  auto db = OpenOrFail(dir.File("db"), options);
  Alter(*db, 1, 20'000);
  return db;
}

BackupInfo BackupOrFail(Database& db, const std::string& to, const BackupOptions& options = {},
                        const BackupSizing& sizing = kSmallFiles) {
  absl::StatusOr<BackupInfo> info = DatabaseImpl::Of(db).Backup(to, options, sizing);
  if (!info.ok()) FAIL(info.status().message());
  return *info;
}

std::map<std::string, std::string> Restored(const std::string& from, const std::string& to,
                                            uint32_t number = 0) {
  REQUIRE_OK(RestoreBackup(from, to, {.number = number, .database = {}, .progress = {}}));
  return Contents(*OpenOrFail(to, {}));
}

}  // namespace

TEST_CASE("a restored backup holds what the database held, on every layout") {
  for (const std::string_view layout : {"overwrite", "lfs", "wolf", "hylog"}) {
    if (kThreadSanitizer && layout != "hylog") continue;
    TempDir dir;
    Options options;
    options.techniques.layout = layout;
    options.cache_bytes = 8 << 20;
    const auto db = OpenOrFail(dir.File("db"), options);
    Alter(*db, 1, 20'000);
    const BackupInfo info = BackupOrFail(*db, dir.File("backup"));
    CHECK(info.number == 1);
    CHECK(info.pages > 100);
    CHECK(CheckBackups(dir.File("backup")).ok());
    CHECK(Restored(dir.File("backup"), dir.File("copy")) == Contents(*db));
    REQUIRE_OK(db->Verify());
  }
}

TEST_CASE("an incremental backup writes only what has changed, and every backup can be restored") {
  TempDir dir;
  const auto db = OpenOrFail(dir.File("db"), {});
  Alter(*db, 1, 40'000);
  std::vector<std::map<std::string, std::string>> states = {Contents(*db)};
  const BackupInfo full = BackupOrFail(*db, dir.File("backup"));
  for (uint64_t i = 0; i < 3; ++i) {
    Alter(*db, 10 + i, 200, 300);
    states.push_back(Contents(*db));
    const BackupInfo more =
        BackupOrFail(*db, dir.File("backup"), {.incremental = true, .progress = {}});
    CHECK(more.number == i + 2);
    CHECK(more.pages < full.pages / 2);
  }
  CHECK(CheckBackups(dir.File("backup"))->size() == 4);
  for (uint32_t number = 1; number <= 4; ++number) {
    CHECK(Restored(dir.File("backup"), dir.File("copy" + std::to_string(number)), number) ==
          states[number - 1]);
  }
}

TEST_CASE("a backup beside writers holds every commit that was acknowledged before it") {
  TempDir dir;
  const auto db = FilledDatabaseWithCheckpoints(dir);
  const Tree tree = TreeOrFail(*db, "counters");
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> acknowledged{0};
  const auto writer = ThreadRuntime().Spawn("writer", [&] {
    // Each transaction writes the same number under a hundred keys.
    for (uint64_t n = 1; !stop; ++n) {
      WriteBatch batch;
      for (int k = 0; k < 100; ++k) {
        batch.Put(tree, std::to_string(k), std::to_string(n) + std::string(100, '.'));
      }
      if (!db->Write(batch).ok()) return;
      acknowledged = n;
    }
  });
  struct End {  // also when a check fails
    ~End() {
      stop = true;
      writer.Join();
    }
    std::atomic<bool>& stop;
    Actor& writer;
  } end{stop, *writer};
  for (int backup = 0; backup < 2; ++backup) {
    const uint64_t before = acknowledged;
    BackupOrFail(*db, dir.File("backup"), {.incremental = backup > 0, .progress = {}});
    const std::string copy = dir.File("copy" + std::to_string(backup));
    REQUIRE_OK(RestoreBackup(dir.File("backup"), copy));
    const auto restored = OpenOrFail(copy, {});
    std::string first, value;
    const absl::Status got = restored->Get(TreeOrFail(*restored, "counters"), "0", &first);
    CHECK((got.ok() || before == 0));
    if (!got.ok()) continue;
    CHECK(std::stoull(first) >= before);
    for (int k = 0; k < 100; ++k) {
      REQUIRE_OK(restored->Get(TreeOrFail(*restored, "counters"), std::to_string(k), &value));
      CHECK(value == first);
    }
  }
}

TEST_CASE("an interrupted backup does not count, and goes on where it stopped") {
  TempDir dir;
  const auto db = OpenOrFail(dir.File("db"), {});
  Alter(*db, 1, 40'000);
  BackupOptions options;
  options.progress = [](const BackupProgress& progress) { return progress.bytes < (3 << 20); };
  const auto stopped = DatabaseImpl::Of(*db).Backup(dir.File("backup"), options, kSmallFiles);
  CHECK(absl::IsCancelled(stopped.status()));
  CHECK(absl::IsNotFound(ListBackups(dir.File("backup")).status()));
  CHECK(absl::IsNotFound(RestoreBackup(dir.File("backup"), dir.File("copy"))));
  CHECK_FALSE(std::filesystem::exists(dir.File("copy")));
  Alter(*db, 2, 400);
  const BackupInfo info = BackupOrFail(*db, dir.File("backup"));
  CHECK(info.resumed_pages > 0);
  CHECK(Restored(dir.File("backup"), dir.File("copy")) == Contents(*db));
}

TEST_CASE("a check finds every kind of damage to a backup, and a restore refuses it") {
  TempDir dir;
  const auto db = OpenOrFail(dir.File("db"), {});
  Alter(*db, 1, 2000);
  BackupOrFail(*db, dir.File("backup"));
  Rng rng(7);
  for (const auto& entry : std::filesystem::directory_iterator(dir.File("backup"))) {
    if (entry.file_size() == 0) continue;
    for (int i = 0; i < 40; ++i) {
      const auto at = static_cast<std::streamoff>(rng.Below(entry.file_size()));
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const auto bit = rng.Below(8);
      const auto flip = [&] {
        file.seekg(at);
        const char byte = static_cast<char>(file.get() ^ (1 << bit));
        file.seekp(at);
        file.put(byte);
        file.flush();
      };
      flip();
      INFO(entry.path() << " at " << at);
      CHECK_FALSE(CheckBackups(dir.File("backup")).ok());
      flip();
    }
  }
  CHECK(CheckBackups(dir.File("backup")).ok());
}

// A restore once took the backup before it, without a word.
TEST_CASE("a check and a restore notice that the newest backup has lost its manifest") {
  TempDir dir;
  const auto db = OpenOrFail(dir.File("db"), {});
  Alter(*db, 1, 200);
  BackupOrFail(*db, dir.File("backup"));
  Alter(*db, 2, 200);
  REQUIRE_OK(db->Backup(dir.File("backup"), {.incremental = true, .progress = {}}).status());
  std::filesystem::rename(dir.File("backup/backup-0002.lkb"), dir.File("manifest"));
  for (const absl::Status& missed : {CheckBackups(dir.File("backup")).status(),
                                     RestoreBackup(dir.File("backup"), dir.File("copy"))}) {
    CHECK(absl::IsDataLoss(missed));
    CHECK_THAT(std::string(missed.message()), Catch::Contains("put the manifest back"));
  }
  std::filesystem::rename(dir.File("manifest"), dir.File("backup/backup-0002.lkb"));
  CHECK(CheckBackups(dir.File("backup")).ok());
}

TEST_CASE("a backup of a newer format is refused, and named as one") {
  TempDir dir;
  const auto db = OpenOrFail(dir.File("db"), {});
  Alter(*db, 1, 200);
  BackupOrFail(*db, dir.File("backup"));
  std::fstream manifest(dir.File("backup/backup-0001.lkb"), std::ios::in | std::ios::out);
  manifest.seekp(static_cast<std::streamoff>(std::string("latchkey-backup ").size()));
  manifest << '2' << std::flush;
  const absl::Status refused = CheckBackups(dir.File("backup")).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("use a newer program"));
}

TEST_CASE("backups and restores name what is wrong with their directories") {
  TempDir dir;
  const auto db = OpenOrFail(dir.File("db"), {});
  Alter(*db, 1, 200);
  const std::string to = dir.File("backup");
  CHECK(absl::IsInvalidArgument(db->Backup(dir.File("db/inside")).status()));
  CHECK(absl::IsAlreadyExists(db->Backup(dir.path().string()).status()));
  std::ofstream(dir.File("file")) << "text";
  CHECK(absl::IsInvalidArgument(db->Backup(dir.File("file")).status()));
  CHECK(absl::IsFailedPrecondition(db->Backup(to, {.incremental = true, .progress = {}}).status()));
  BackupOrFail(*db, to);
  CHECK(absl::IsAlreadyExists(db->Backup(to).status()));
  CHECK(absl::IsAlreadyExists(RestoreBackup(to, dir.File("db"))));
  CHECK(absl::IsInvalidArgument(RestoreBackup(to, to + "/copy")));
  CHECK(absl::IsInvalidArgument(
      RestoreBackup(to, dir.File("copy"), {.number = 2, .database = {}, .progress = {}})));
  const auto other = OpenOrFail(dir.File("other"), {});
  CHECK(absl::IsFailedPrecondition(
      other->Backup(to, {.incremental = true, .progress = {}}).status()));
  Options unlogged;
  unlogged.durability = Durability::kNone;
  CHECK(absl::IsFailedPrecondition(
      OpenOrFail(dir.File("unlogged"), unlogged)->Backup(dir.File("backup2")).status()));
}

std::map<std::string, std::string> LoadedRecords(uint64_t seed) {
  std::map<std::string, std::string> records;
  Rng rng(seed);
  for (int i = 0; i < 4000; ++i) {
    const size_t size = rng.Below(100) == 0 ? 9000 : rng.Below(200);
    records["record " + std::to_string(rng.Next())] = std::string(size, 'l');
  }
  return records;
}

std::unique_ptr<BulkLoader> BeginLoad(Database& db, const std::string& name, uint64_t seed) {
  absl::StatusOr<std::unique_ptr<BulkLoader>> load = db.NewBulkLoader(name);
  if (!load.ok()) FAIL(load.status().message());
  for (const auto& [key, value] : LoadedRecords(seed)) REQUIRE_OK((*load)->Put(key, value));
  return *std::move(load);
}

// The restored tree lacked pages, and the restore refused the backup: the pages of a load are not in
// the log, and a copy that had passed their ids did not come back to them.
TEST_CASE("a bulk load that ends during a backup is in it, wherever its pages are") {
  TempDir dir;
  Options options;
  options.techniques.layout = GENERATE("overwrite", "lfs", "hylog");
  if (kSanitizer && options.techniques.layout != "hylog") return;
  const auto db = OpenOrFail(dir.File("db"), options);
  REQUIRE_OK(BeginLoad(*db, "low", 1)->Finish().status());  // its ids come first
  Alter(*db, 1, 20'000);
  std::unique_ptr<BulkLoader> before = BeginLoad(*db, "begun before", 2), during, unfinished;
  int calls = 0;
  BackupOptions backup;
  backup.progress = [&](const BackupProgress& progress) {
    if (progress.phase != BackupPhase::kPages) return true;
    if (++calls == 1) {
      REQUIRE_OK(db->DropTree("low"));
      during = BeginLoad(*db, "in passed places", 3);
      REQUIRE_OK(during->Finish().status());
      unfinished = BeginLoad(*db, "unfinished", 4);
    }
    if (calls == 2) {
      REQUIRE_OK(before->Finish().status());
      REQUIRE_OK(db->Put(TreeOrFail(*db, "begun before"), "changed", "afterwards"));
      REQUIRE_OK(db->RenameTree("in passed places", "renamed"));
      REQUIRE_OK(db->Put(TreeOrFail(*db, "new"), "key", "value"));
    }
    return true;
  };
  BackupOrFail(*db, dir.File("backup"), backup);
  REQUIRE(calls >= 3);
  CHECK(CheckBackups(dir.File("backup")).ok());
  REQUIRE_OK(RestoreBackup(dir.File("backup"), dir.File("copy")));
  const auto copy = OpenOrFail(dir.File("copy"), {});
  CHECK(copy->ListTrees() == db->ListTrees());
  for (const char* tree : {"t", "begun before", "renamed", "new"}) {
    INFO(tree);
    CHECK(Contents(*copy, tree) == Contents(*db, tree));
  }
  // What the series knows of these pages is right, too.
  REQUIRE_OK(unfinished->Finish().status());
  BackupOrFail(*db, dir.File("backup"), {.incremental = true, .progress = {}});
  REQUIRE_OK(RestoreBackup(dir.File("backup"), dir.File("later")));
  CHECK(Contents(*OpenOrFail(dir.File("later"), {}), "unfinished") == LoadedRecords(4));
}

// An actor that makes, fills, loads, renames and drops trees until it is destroyed.
class TreesBeside {
 public:
  explicit TreesBeside(Database& db) : db_(db) {
    actor_ = ThreadRuntime().Spawn("trees", [this] {
      for (uint64_t n = 1; !stop_ && status_.ok(); ++n) status_ = One(n);
    });
  }
  ~TreesBeside() {
    stop_ = true;
    actor_->Join();
    CHECK(status_.ok());
  }

 private:
  // Two trees of the same records, which appear at once each and change their names.
  absl::Status One(uint64_t n) {
    const std::string loaded = "loaded " + std::to_string(n), put = "put " + std::to_string(n);
    absl::StatusOr<std::unique_ptr<BulkLoader>> load = db_.NewBulkLoader(loaded);
    if (!load.ok()) return load.status();
    const absl::StatusOr<Tree> tree = db_.OpenTree(put);
    if (!tree.ok()) return tree.status();
    WriteBatch batch;
    for (int i = 1000; i < 1400; ++i) {
      const std::string key = std::to_string(i), value(i % 50 == 0 ? 9000 : 80, 'b');
      batch.Put(*tree, key, value);
      if (absl::Status status = (*load)->Put(key, value); !status.ok()) return status;
    }
    if (absl::Status status = db_.Write(batch); !status.ok()) return status;
    if (absl::Status status = (*load)->Finish().status(); !status.ok()) return status;
    if (n > 1 && n % 2 == 0) {
      const std::string old = std::to_string(n - 1);
      if (absl::Status status = db_.DropTree("loaded " + old); !status.ok()) return status;
      return db_.RenameTree("put " + old, "kept " + old);
    }
    if (n < 4) return absl::OkStatus();
    // Few trees stay, so that a slow backup does not have more and more to copy.
    const std::string odd = std::to_string(n - 2), even = std::to_string(n - 1);
    if (absl::Status status = db_.DropTree("kept " + odd); !status.ok()) return status;
    if (absl::Status status = db_.DropTree("loaded " + even); !status.ok()) return status;
    return db_.DropTree("put " + even);
  }

  Database& db_;
  std::atomic<bool> stop_{false};
  absl::Status status_;
  std::unique_ptr<Actor> actor_;
};

TEST_CASE("backups beside loads, drops and renames of trees restore to whole trees") {
  TempDir dir;
  const auto db = FilledDatabaseWithCheckpoints(dir);
  const TreesBeside beside(*db);
  for (int backup = 0; backup < 3; ++backup) {
    BackupOrFail(*db, dir.File("backup"), {.incremental = backup > 0, .progress = {}});
    const std::string path = dir.File("copy" + std::to_string(backup));
    REQUIRE_OK(RestoreBackup(dir.File("backup"), path));  // verifies every tree
    const auto copy = OpenOrFail(path, {});
    for (const std::string& name : copy->ListTrees()) {
      if (name == "t") continue;
      INFO(name);
      const size_t records = Contents(*copy, name).size();
      CHECK((records == 400 || (records == 0 && name.starts_with("put "))));
    }
  }
}

TEST_CASE("page sequences count only while no more writes came than make one round of them") {
  TempDir dir;
  const auto db = OpenOrFail(dir.File("db"), {});
  Alter(*db, 1, 20'000);
  const BackupInfo full = BackupOrFail(*db, dir.File("backup"));
  const auto more = [&](uint64_t writes_of_one_round) {
    Alter(*db, 2, 200, 100);
    REQUIRE_OK(db->Checkpoint());
    return BackupOrFail(*db, dir.File("backup"), {.incremental = true, .progress = {}},
                        {.page_file_bytes = 1 << 20, .writes_of_one_round = writes_of_one_round});
  };
  CHECK(more(1 << 20).pages < full.pages / 2);
  // Counted from the begin of the parent: the writes since are few, those since the first one many.
  CHECK(more(full.pages).pages < full.pages / 2);
  CHECK(more(1).pages >= full.pages / 2);
  CHECK(more(1 << 20).pages < full.pages / 2);
  CHECK(Restored(dir.File("backup"), dir.File("copy")) == Contents(*db));
}

// Calls of the progress function while nothing new was copied: the backup waited.
int WaitsOf(Database& db, const std::string& to, bool beside_commits, uint64_t limit) {
  const Tree tree = TreeOrFail(db, "t");
  int waits = 0;
  uint64_t bytes = 0;
  BackupOptions options;
  options.max_bytes_per_second = limit;
  options.progress = [&](const BackupProgress& progress) {
    if (progress.phase != BackupPhase::kPages) return true;
    waits += progress.bytes == bytes && bytes > 0 ? 1 : 0;
    if (beside_commits && progress.bytes != bytes) REQUIRE_OK(db.Put(tree, "key", "value"));
    bytes = progress.bytes;
    return true;
  };
  BackupOrFail(db, to, options);
  return waits;
}

TEST_CASE("a backup without a limit leaves time to users while they commit, and only then") {
  TempDir dir;
  const auto db = OpenOrFail(dir.File("db"), {});
  Alter(*db, 1, 20'000);
  CHECK(WaitsOf(*db, dir.File("1"), /*beside_commits=*/true, 0) > 0);
  CHECK(WaitsOf(*db, dir.File("2"), /*beside_commits=*/false, 0) == 0);
  CHECK(WaitsOf(*db, dir.File("3"), /*beside_commits=*/true, uint64_t{1} << 60) == 0);
}

// The error of a log read that came while the backup slept for its limit was dropped.
TEST_CASE("an error of the log ends a backup, also while its rate makes it wait") {
  TempDir dir;
  CrashDisks disks;
  absl::StatusOr<std::unique_ptr<DatabaseImpl>> opened =
      DatabaseImpl::OpenOverDevices(ThreadRuntime(), disks.Devices({}), {});
  REQUIRE_OK(opened.status());
  const auto db = DatabaseImpl::AsDatabase(*std::move(opened));
  Alter(*db, 1, 4000);
  const Tree tree = TreeOrFail(*db, "t");
  bool failed = false;
  uint64_t bytes = 0;
  BackupOptions options;
  options.max_bytes_per_second = 2 << 20;  // less than any build copies
  options.progress = [&](const BackupProgress& progress) {
    // Called again without new bytes: it waits.
    if (!failed && progress.phase == BackupPhase::kPages && progress.bytes == bytes && bytes > 0) {
      failed = true;
      REQUIRE_OK(db->Put(tree, "one more", "group of the log"));
      disks.recorder().SetFault(Fault{.kind = FaultKind::kReadError, .only_disk = 1});
    }
    bytes = progress.bytes;
    return true;
  };
  const absl::StatusOr<BackupInfo> info = db->Backup(dir.File("backup"), options);
  CHECK(failed);
  CHECK(disks.recorder().injected_faults() == 1);
  CHECK_FALSE(info.ok());
  CHECK(absl::IsNotFound(ListBackups(dir.File("backup")).status()));
  disks.recorder().SetFault(std::nullopt);
  REQUIRE_OK(db->Backup(dir.File("backup")).status());
  REQUIRE_OK(CheckBackups(dir.File("backup")).status());
}

}  // namespace latchkey::backup_test
