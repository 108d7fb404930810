// Crashes: random transactions over disks that lose their power at a random event, on every
// layout. What is found after recovery is a prefix of the commit order that contains every
// acknowledged commit; then the same database goes on, and crashes again, in recovery too.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/testing/crash_disks.h"
#include "engine/testing/recorded_machine.h"
#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey::recovery_test {
namespace {

using Model = std::map<std::string, std::string>;  // "tree/key" -> value

constexpr size_t kTrees = 3;

// A sweep goes through `kSeeds` databases, each of which lives `kLives` times.
constexpr uint64_t kSeeds = kThreadSanitizer ? 1 : kSanitizer ? 2 : 3;
constexpr int kLives = kThreadSanitizer ? 5 : 12;

absl::StatusOr<std::unique_ptr<DatabaseImpl>> OpenOn(CrashDisks& disks, const Options& options) {
  return DatabaseImpl::OpenOverDevices(ThreadRuntime(), disks.Devices(BusySizing()), options);
}

std::string TreeName(size_t tree) { return "tree" + std::to_string(tree); }

// One transaction's changes: absent = deleted.
struct Step {
  std::vector<std::pair<std::string, std::string>> puts;
  std::vector<std::string> deletes;

  void ApplyTo(Model* model) const {
    for (const auto& [key, value] : puts) (*model)[key] = value;
    for (const std::string& key : deletes) model->erase(key);
  }
};

std::string RandomValue(Rng& rng) {
  const uint64_t kind = rng.Below(20);
  const size_t size = kind == 0 ? 2000 + rng.Below(12'000) : rng.Below(kind < 4 ? 700 : 120);
  return std::string(size, static_cast<char>('a' + rng.Below(26)));
}

// Runs one random transaction; `*step` is what it changes if it commits.
absl::Status RunTransaction(DatabaseImpl& db, Rng& rng, const Model& model, Step* step,
                            bool* submitted) {
  std::vector<TreeImpl*> trees;
  for (size_t t = 0; t < kTrees; ++t) {
    absl::StatusOr<TreeImpl*> tree = db.OpenTree(TreeName(t), true);
    if (!tree.ok()) return tree.status();
    trees.push_back(*tree);
  }
  std::unique_ptr<TransactionImpl> txn = db.Begin();
  Model mine;
  std::map<std::string, bool> touched;  // key -> is there
  const size_t operations = 1 + rng.Below(rng.Below(8) == 0 ? 60 : 8);
  std::optional<Savepoint> savepoint;
  Model saved_mine;
  std::map<std::string, bool> saved_touched;
  for (size_t i = 0; i < operations; ++i) {
    const uint64_t dice = rng.Below(16);
    if (dice == 0) {
      absl::StatusOr<Savepoint> set = txn->SetSavepoint();
      if (!set.ok()) return set.status();
      savepoint = *set;
      saved_mine = mine;
      saved_touched = touched;
    } else if (dice == 1 && savepoint) {
      if (absl::Status back = txn->RollbackTo(*savepoint); !back.ok()) return back;
      mine = saved_mine;
      touched = saved_touched;
      savepoint.reset();
    }
    const size_t t = rng.Below(kTrees);
    const std::string key = "key" + std::to_string(rng.Below(400));
    const std::string full = TreeName(t) + "/" + key;
    if (rng.Below(4) == 0) {
      const auto it = touched.find(full);
      const bool there = it != touched.end() ? it->second : model.contains(full);
      const absl::Status deleted = txn->Delete(*trees[t], key);
      if (!deleted.ok() && !absl::IsNotFound(deleted)) return deleted;
      if (deleted.ok() != there) return absl::InternalError("delete disagrees about " + full);
      touched[full] = false;
      mine.erase(full);
    } else {
      const std::string value = RandomValue(rng);
      if (absl::Status put = txn->Put(*trees[t], key, value); !put.ok()) return put;
      touched[full] = true;
      mine[full] = value;
    }
  }
  if (rng.Below(6) == 0) return txn->Rollback();
  for (const auto& [key, there] : touched) {
    if (there) {
      step->puts.emplace_back(key, mine[key]);
    } else {
      step->deletes.push_back(key);
    }
  }
  *submitted = true;
  return txn->Commit();
}

Model Contents(DatabaseImpl& db) {
  Model found;
  std::unique_ptr<TransactionImpl> txn = db.Begin();
  for (const std::string& name : db.ListTrees()) {
    absl::StatusOr<TreeImpl*> tree = db.OpenTree(name, false);
    REQUIRE(tree.ok());
    CursorImpl cursor(*txn, *tree, KeyRange{});
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      found[name + "/" + std::string(cursor.key())] = std::string(cursor.value());
    }
    INFO(cursor.status().message());
    REQUIRE(cursor.status().ok());
  }
  REQUIRE(txn->Commit().ok());
  return found;
}

// A database that lives through many crashes, with the model of what must be in it.
class Survivor {
 public:
  using Protections = std::vector<TornWriteProtection>;

  /// Each opening draws one of `protections`.
  Survivor(std::string layout, Durability durability, uint64_t seed,
           Protections protections = {TornWriteProtection::kDoublewrite})
      : layout_(std::move(layout)),
        durability_(durability),
        protections_(std::move(protections)),
        rng_(seed) {
    CrashDisks disks;
    auto db = Open(disks);
    INFO(db.status().message());
    REQUIRE(db.ok());
    REQUIRE((*db)->Close().ok());
    db->reset();
    images_ = disks.CutPower(CrashVariant::kNone);
  }

  // Opens, perhaps after openings that crash, works until the power goes, and takes the images.
  void Live() {
    CrashWhileOpening();
    CrashDisks disks(images_);
    auto db = Open(disks);
    INFO(db.status().message());
    REQUIRE(db.ok());
    CheckContents(**db);
    disks.recorder().PowerOffAfter(rng_.Below(800));
    const size_t most = 20 + rng_.Below(100);
    for (size_t i = 0; i < most && !disks.recorder().power_is_off(); ++i) Work(**db);
    images_ = disks.CutPower(rng_);
    db->reset();
  }

  uint64_t commits() const { return commits_; }
  /// Pages made again from images in the log.
  uint64_t repairs() const { return repairs_; }

 private:
  absl::StatusOr<std::unique_ptr<DatabaseImpl>> Open(CrashDisks& disks) {
    Options options = BusyOptions(layout_, durability_);
    options.torn_write_protection =
        protections_.size() == 1 ? protections_[0] : protections_[rng_.Below(protections_.size())];
    options.log_sink = [this](LogSeverity, std::string_view message) {
      repairs_ += message.find("again from its image") != std::string_view::npos;
    };
    return OpenOn(disks, options);
  }

  void CrashWhileOpening() {
    for (int attempt = 0; attempt < 3 && rng_.Below(2) == 0; ++attempt) {
      CrashDisks doomed(images_);
      doomed.recorder().PowerOffAfter(rng_.Below(80));
      const auto db = Open(doomed);
      INFO(db.status().message());
      REQUIRE((db.ok() || absl::IsUnavailable(db.status())));
      images_ = doomed.CutPower(rng_);
    }
  }

  void Work(DatabaseImpl& db) {
    if (rng_.Below(40) == 0 && !db.Checkpoint().ok()) return;
    if (rng_.Below(50) == 0) return DropTree(db);
    if (rng_.Below(15) == 0) return DeleteRange(db);
    Step step;
    bool submitted = false;
    const absl::Status done = RunTransaction(db, rng_, newest_, &step, &submitted);
    INFO(done.message());
    REQUIRE((done.ok() || absl::IsUnavailable(done)));
    if (!submitted) return;
    ++commits_;
    step.ApplyTo(&newest_);
    Note(done.ok());
  }

  void DropTree(DatabaseImpl& db) {
    const std::string name = TreeName(rng_.Below(kTrees));
    const absl::Status done = db.DropTree(name);
    if (absl::IsNotFound(done)) return;
    INFO(done.message());
    REQUIRE((done.ok() || absl::IsUnavailable(done)));
    std::erase_if(newest_, [&](const auto& entry) { return entry.first.starts_with(name + "/"); });
    Note(done.ok());
  }

  void DeleteRange(DatabaseImpl& db) {
    const std::string name = TreeName(rng_.Below(kTrees));
    const absl::StatusOr<TreeImpl*> tree = db.OpenTree(name, /*create=*/true);
    if (!tree.ok()) return;
    KeyRange range;
    if (rng_.Below(5) != 0) range.from = "key" + std::to_string(rng_.Below(400));
    if (rng_.Below(5) != 0) range.to = "key" + std::to_string(rng_.Below(400));
    if (range.from && range.to && *range.to < *range.from) std::swap(range.from, range.to);
    const absl::Status done = db.DeleteRange(**tree, range);
    INFO(done.message());
    REQUIRE((done.ok() || absl::IsUnavailable(done)));
    std::erase_if(newest_, [&](const auto& entry) {
      if (!entry.first.starts_with(name + "/")) return false;
      const std::string key = entry.first.substr(name.size() + 1);
      return (!range.from || *range.from <= key) && (!range.to || key < *range.to);
    });
    Note(done.ok());
  }

  // `newest_` has come about: acknowledged, or perhaps only submitted.
  void Note(bool acknowledged) {
    if (acknowledged && durability_ == Durability::kCommit) {
      acknowledged_ = newest_;
      since_.clear();
    } else {
      since_.push_back(newest_);
    }
  }

  // Finds which prefix survived and goes on from it.
  void CheckContents(DatabaseImpl& db) {
    const Model found = Contents(db);
    bool known = found == acknowledged_;
    for (const Model& state : since_) known = known || found == state;
    REQUIRE(known);
    acknowledged_ = newest_ = found;
    since_.clear();
    const absl::Status verified = db.Verify();
    INFO(verified.message());
    REQUIRE(verified.ok());
  }

  const std::string layout_;
  const Durability durability_;
  const Protections protections_;
  Rng rng_;
  CrashImages images_;
  Model acknowledged_, newest_;
  std::vector<Model> since_;  // states after later commits that were submitted
  uint64_t commits_ = 0;
  std::atomic<uint64_t> repairs_{0};
};

TEST_CASE("After any crash a database holds every acknowledged commit and no half of another") {
  const std::string layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  const Durability durability = GENERATE(Durability::kCommit, Durability::kGroup);
  for (uint64_t seed = 1; seed <= std::min<uint64_t>(kSeeds, 2); ++seed) {
    CAPTURE(layout, seed, static_cast<int>(durability));
    Survivor survivor(layout, durability, seed);
    for (int life = 0; life < kLives; ++life) {
      CAPTURE(life);
      survivor.Live();
    }
    CHECK(survivor.commits() > 0);
  }
}

TEST_CASE("Pages that a crash has torn are made again from images in the log") {
  const std::string layout = GENERATE("overwrite", "lfs", "hylog");
  uint64_t repairs = 0;
  // The crashes of most seeds tear a page that its image repairs, not those of all.
  const bool needs_repairs = layout == "overwrite";
  for (uint64_t seed = 1; seed <= kSeeds || (needs_repairs && repairs == 0 && seed <= 20); ++seed) {
    CAPTURE(layout, seed);
    Survivor survivor(layout, Durability::kCommit, seed, {TornWriteProtection::kImages});
    for (int life = 0; life < kLives; ++life) {
      CAPTURE(life);
      survivor.Live();
    }
    repairs += survivor.repairs();
  }
  if (needs_repairs) CHECK(repairs > 0);
}

TEST_CASE("After any crash a database may be opened with another protection of torn writes") {
  const std::string layout = GENERATE("overwrite", "hylog");
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(layout, seed);
    Survivor survivor(layout, Durability::kCommit, seed,
                      {TornWriteProtection::kImages, TornWriteProtection::kDoublewrite});
    for (int life = 0; life < kLives; ++life) {
      CAPTURE(life);
      survivor.Live();
    }
  }
}

TEST_CASE("After a crash the statistics say what recovery did, after a clean close nothing") {
  CrashDisks first_life;
  const Options options = BusyOptions("hylog", Durability::kCommit);
  auto db = OpenOn(first_life, options);
  REQUIRE(db.ok());
  CHECK_FALSE((*db)->GetStatistics().recovery.has_value());
  auto tree = (*db)->OpenTree("t", /*create=*/true);
  REQUIRE(tree.ok());
  for (const char* key : {"a", "b", "c"}) {
    REQUIRE_OK((*db)->RunTransaction(
        [&](TransactionImpl& transaction) { return transaction.Put(**tree, key, "value"); }));
  }
  CrashImages images = first_life.CutPower(CrashVariant::kNone);
  db->reset();

  CrashDisks second_life(std::move(images));
  db = OpenOn(second_life, options);
  REQUIRE(db.ok());
  const std::optional<Statistics::Recovery> recovery = (*db)->GetStatistics().recovery;
  REQUIRE(recovery.has_value());
  CHECK(recovery->redone_changes >= 3);
  CHECK(recovery->undone_changes == 0);
  CHECK(recovery->log_records >= recovery->redone_changes);
  CHECK(recovery->log_bytes > 0);
  REQUIRE_OK((*db)->Close());
  db->reset();
  images = second_life.CutPower(CrashVariant::kNone);

  CrashDisks third_life(std::move(images));
  db = OpenOn(third_life, options);
  REQUIRE(db.ok());
  CHECK_FALSE((*db)->GetStatistics().recovery.has_value());
  REQUIRE_OK((*db)->Close());
  db->reset();
}

// The disks after a crash of a database with `records` records of 100 bytes, none of them
// checkpointed.
CrashImages CrashWithoutCheckpoint(int records) {
  CrashDisks disks;
  Options options = BusyOptions("overwrite", Durability::kCommit);
  options.checkpoint_log_bytes = 16 << 20;
  auto db = OpenOn(disks, options);
  REQUIRE(db.ok());
  auto tree = (*db)->OpenTree("t", /*create=*/true);
  REQUIRE(tree.ok());
  const std::string value(100, 'v');
  for (int i = 0; i < records; ++i) {
    REQUIRE_OK((*db)->RunTransaction([&](TransactionImpl& transaction) {
      return transaction.Put(**tree, "key" + std::to_string(i), value);
    }));
  }
  return disks.CutPower(CrashVariant::kNone);
}

TEST_CASE("The checkpoint after recovery goes on behind the open, unless the log is too long") {
  const bool is_long = GENERATE(false, true);
  CAPTURE(is_long);
  CrashDisks disks(CrashWithoutCheckpoint(is_long ? 2000 : 100));
  const Options options = BusyOptions("overwrite", Durability::kCommit);
  auto db = OpenOn(disks, options);
  REQUIRE(db.ok());
  const Statistics opened = (*db)->GetStatistics();
  REQUIRE(opened.recovery.has_value());
  REQUIRE(opened.log.has_value());
  CHECK((opened.recovery->log_bytes > 3 * options.checkpoint_log_bytes) == is_long);
  CHECK((opened.recovery->checkpoint_s > 0) == is_long);
  if (is_long) CHECK(opened.log->checkpoints > 0);
  while ((*db)->GetStatistics().log->checkpoints == 0) ThreadRuntime().SleepFor(kNanosPerMilli);
  REQUIRE_OK((*db)->Close());
}

// ---- The files of a database

std::string Value(Database& db, const std::string& key) {
  std::string value;
  const absl::Status read = db.Get(TreeOrFail(db, "t"), key, &value);
  INFO(read.message());
  REQUIRE(read.ok());
  return value;
}

Options FileOptions(Durability durability) {
  Options options;
  options.cache_bytes = 8 << 20;
  options.durability = durability;
  return options;
}

void MakeDatabase(const std::string& path, Durability durability) {
  const auto db = OpenOrFail(path, FileOptions(durability));
  REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "key", "value"));
  REQUIRE_OK(db->Close());
}

TEST_CASE("A database may be opened with a log, without, and with it again") {
  const TempDir dir;
  const std::string path = dir.File("db");
  MakeDatabase(path, Durability::kNone);
  int round = 0;
  for (const Durability durability : {Durability::kCommit, Durability::kNone, Durability::kGroup,
                                      Durability::kNone, Durability::kCommit}) {
    const auto db = OpenOrFail(path, FileOptions(durability));
    CHECK(Value(*db, "key") == "value");
    for (int before = 0; before < round; ++before) {
      CHECK(Value(*db, "round" + std::to_string(before)) == "x");
    }
    REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "round" + std::to_string(round++), "x"));
    REQUIRE_OK(db->Verify());
  }
}

TEST_CASE("A database whose log is missing is refused, and the message names the file") {
  const TempDir dir;
  const std::string path = dir.File("db");
  MakeDatabase(path, Durability::kCommit);
  std::filesystem::remove(path + "/log.lk");
  const absl::Status refused = Database::Open(path, FileOptions(Durability::kCommit)).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(std::string(refused.message()).find("log.lk") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(path + "/log.lk"));
}

TEST_CASE("The log of another database is refused") {
  const TempDir dir;
  MakeDatabase(dir.File("one"), Durability::kCommit);
  MakeDatabase(dir.File("two"), Durability::kCommit);
  std::filesystem::copy_file(dir.File("two") + "/log.lk", dir.File("one") + "/log.lk",
                             std::filesystem::copy_options::overwrite_existing);
  const absl::Status refused =
      Database::Open(dir.File("one"), FileOptions(Durability::kCommit)).status();
  CHECK(absl::IsFailedPrecondition(refused));
}

TEST_CASE("A creation that was cut short is begun again, files without their data are not") {
  const TempDir dir;
  const std::string path = dir.File("db");
  std::filesystem::create_directory(path);
  for (const char* name : {"/data.lk.new", "/log.lk", "/map.lk"}) {
    std::ofstream(path + name) << "half of something";
  }
  MakeDatabase(path, Durability::kCommit);
  CHECK_FALSE(std::filesystem::exists(path + "/data.lk.new"));
  CHECK(Value(*OpenOrFail(path, FileOptions(Durability::kCommit)), "key") == "value");

  std::filesystem::rename(path + "/data.lk", path + "/elsewhere");
  const absl::Status refused = Database::Open(path, FileOptions(Durability::kCommit)).status();
  CHECK(absl::IsFailedPrecondition(refused));
  std::filesystem::rename(path + "/elsewhere", path + "/data.lk");
  CHECK(Value(*OpenOrFail(path, FileOptions(Durability::kCommit)), "key") == "value");
}

}  // namespace
}  // namespace latchkey::recovery_test
