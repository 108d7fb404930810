// The public calls when memory runs out: each allocation of a short life fails in turn,
// once or from then on, and nothing that was acknowledged is lost (RELIABILITY.md 2, "malloc
// failure"). The campaign "faults --kind=memory" looks below them, in all layouts and many more
// situations.
#include "storage/base/out_of_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "storage/base/sanitizers.h"
#include "storage/base/status_macros.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/testing/failing_new.h"

namespace latchkey::out_of_memory_test {
namespace {

using Records = std::map<std::string, std::string>;

constexpr int kTransactions = 8;

// Everything in here is the test's own but what runs inside Call: only that may run out of memory.
class Life {
 public:
  Life(SimulatedRuntime& runtime, std::string layout)
      : runtime_(runtime), layout_(std::move(layout)) {}

  absl::Status Open(CrashRecorder& disks, bool create) {
    return Call([&] { return CatchOutOfMemory([&] { return OpenNow(disks, create); }); });
  }

  // Writes, splits, values in chains, rollbacks and checkpoints, whatever is answered.
  void Work() {
    for (int i = 0; i < kTransactions; ++i) {
      Tree tree;
      if (!Call([&]() -> absl::Status {
             LATCHKEY_ASSIGN_OR_RETURN(tree, db_->OpenTree("tree"));
             return absl::OkStatus();
           }).ok()) {
        continue;
      }
      Transact(tree, i);
      Scan(tree);
      if (i % 3 == 2) Call([&] { return db_->Checkpoint(); }).IgnoreError();
    }
  }

  void Transact(Tree tree, int i) {
    Records after = records_;
    std::optional<Transaction> txn;
    Call([&] {
      txn.emplace(db_->Begin());
      return absl::OkStatus();
    }).IgnoreError();
    std::optional<Savepoint> savepoint;
    Records at_savepoint;
    bool has_written = false;
    for (int j = 0; j < 6; ++j) {
      if (j == 3 && i % 2 == 1) {
        at_savepoint = after;
        Call([&]() -> absl::Status {
          LATCHKEY_ASSIGN_OR_RETURN(savepoint, txn->SetSavepoint());
          return absl::OkStatus();
        }).IgnoreError();
      }
      const std::string key = "key" + std::to_string((i * 5 + j) % 16);
      const std::string value(j == 2 ? 6000 : 500 + j, static_cast<char>('a' + i));
      const bool deletes = j == 4;
      const absl::Status done =
          Call([&] { return deletes ? txn->Delete(tree, key) : txn->Put(tree, key, value); });
      // A call that was refused has had no effect: the transaction goes on without it.
      if (!done.ok()) continue;
      has_written = true;
      if (deletes) {
        after.erase(key);
      } else {
        after[key] = value;
      }
    }
    if (savepoint && Call([&] { return txn->RollbackTo(*savepoint); }).ok()) after = at_savepoint;
    if (i % 4 == 3) {
      Call([&] { return txn->Rollback(); }).IgnoreError();
    } else {
      const absl::Status done = Call([&] { return txn->Commit(); });
      if (done.ok()) {
        // If every write was refused, the outcome of a commit before this one stays unknown.
        if (has_written) {
          records_ = after;
          possible_.clear();
        }
      } else if (done.message().find("unknown") != absl::string_view::npos) {
        possible_.push_back(after);
      }
    }
    Call([&] {
      txn.reset();
      return absl::OkStatus();
    }).IgnoreError();
  }

  // A scan that ends without an error has seen everything.
  void Scan(Tree tree) {
    Records found;
    const absl::Status done = Call([&]() -> absl::Status {
      Transaction txn = db_->Begin({.read_only = true});
      Cursor cursor = txn.NewCursor(tree);
      for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
        const ExemptAllocations test;
        found[std::string(cursor.key())] = cursor.value();
      }
      return cursor.status();
    });
    if (done.ok()) CHECK(Accepts(found));
  }

  void Close() {
    if (db_ == nullptr) return;
    Call([&] { return db_->Close(); }).IgnoreError();
    Call([&] {
      db_.reset();
      return absl::OkStatus();
    }).IgnoreError();
  }

  absl::StatusOr<Records> Read() {
    Records found;
    absl::StatusOr<Tree> tree = db_->OpenTree("tree", /*create=*/false);
    if (absl::IsNotFound(tree.status())) return found;
    LATCHKEY_RETURN_IF_ERROR(tree.status());
    Transaction txn = db_->Begin();
    Cursor cursor = txn.NewCursor(*tree);
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next())
      found[std::string(cursor.key())] = cursor.value();
    LATCHKEY_RETURN_IF_ERROR(cursor.status());
    return found;
  }

  bool Accepts(const Records& found) const {
    return found == records_ ||
           std::find(possible_.begin(), possible_.end(), found) != possible_.end();
  }
  Database& db() { return *db_; }
  const std::set<std::string>& answers() const { return answers_; }
  void ForgetAnswers() { answers_.clear(); }

 private:
  absl::Status OpenNow(CrashRecorder& disks, bool create) {
    Options options;
    options.create_if_missing = create;
    options.cache_bytes = 2 << 20;
    options.checkpoint_log_bytes = 64 << 10;
    options.techniques.layout = layout_;
    options.techniques.segment_size = create ? 64 << 10 : 0;
    LATCHKEY_ASSIGN_OR_RETURN(
        std::unique_ptr<DatabaseImpl> impl,
        DatabaseImpl::OpenOverDevices(runtime_, DevicesOn(disks, SmallSizing()), options));
    db_ = DatabaseImpl::AsDatabase(std::move(impl));
    return absl::OkStatus();
  }

  template <typename Body>
  absl::Status Call(Body body) {
    absl::Status done;
    {
      const CountedAllocations engine;
      done = body();
    }
    if (!done.ok() && !absl::IsNotFound(done)) answers_.insert(done.ToString());
    return done;
  }

  SimulatedRuntime& runtime_;
  const std::string layout_;
  std::unique_ptr<Database> db_;
  Records records_;
  std::vector<Records> possible_;
  std::set<std::string> answers_;
};

struct Setting {
  std::string layout;
  bool begins_crashed = false;  // with recovery, not with creation
  uint64_t seed = 1;
};

// One life in which allocation number `fails` fails; how many there were.
uint64_t RunLife(const Setting& setting, uint64_t fails, bool from_then_on) {
  const ExemptAllocations test;
  SimulatedRuntime runtime(
      {.seed = setting.seed, .preempt_probability = 0.01, .may_be_abandoned = true});
  CrashRecorder disks(runtime, {.record = false, .seed = setting.seed});
  for (const char* name : {"data", "log", "journal"}) disks.AddDisk(name);
  std::unique_ptr<CrashRecorder> after_crash;
  uint64_t allocations = 0;
  const absl::Status ran = runtime.Run([&] {
    const ExemptAllocations main_actor;
    Life life(runtime, setting.layout);
    CrashRecorder* at = &disks;
    if (setting.begins_crashed) {
      REQUIRE(life.Open(disks, /*create=*/true).ok());
      life.Work();
      after_crash = std::make_unique<CrashRecorder>(
          runtime, CrashRecorderOptions{.record = false, .seed = setting.seed});
      for (const char* name : {"data", "log", "journal"}) {
        after_crash->AddDisk(name, disks.content(after_crash->disks()));
      }
      disks.PowerOff();
      life.Close();
      life.ForgetAnswers();
      at = after_crash.get();
    }
    AllocationFaults::Arm(fails, from_then_on);
    const bool opened = life.Open(*at, /*create=*/!setting.begins_crashed).ok();
    if (opened) life.Work();
    life.Close();
    AllocationFaults::Disarm();
    allocations = AllocationFaults::count();
    for (const std::string& answer : life.answers()) {
      INFO(answer);
      CHECK((answer.find("memory") != std::string::npos ||
             answer.find("reopen") != std::string::npos));
    }
    if (!opened && !setting.begins_crashed) return;
    const absl::Status reopened = life.Open(*at, /*create=*/false);
    INFO(reopened.message());
    REQUIRE(reopened.ok());
    const absl::Status sound = life.db().Verify();
    INFO(sound.message());
    CHECK(sound.ok());
    const absl::StatusOr<Records> found = life.Read();
    REQUIRE(found.ok());
    CHECK(life.Accepts(*found));
    life.Close();
  });
  INFO(ran.message());
  CHECK(ran.ok());
  return allocations;
}

// Lives in which an allocation failed, for the summary of a run of all tests.
struct Tally {
  uint64_t lives = 0, failed_allocations = 0;
  ~Tally() {
    if (lives == 0) return;
    fmt::print("counts: memory lives={} failed_allocations={}\n", lives, failed_allocations);
  }
};
Tally tally;

TEST_CASE("Whichever allocation fails, what was acknowledged is there at the next open") {
  const Setting setting{.layout = "hylog", .begins_crashed = GENERATE(false, true), .seed = 1};
  const bool from_then_on = GENERATE(false, true);
  const uint64_t all = RunLife(setting, AllocationFaults::kNever, false);
  REQUIRE(all > 100);
  const uint64_t step = kSanitizer ? 29 : 1;
  for (uint64_t k = setting.seed % step; k < all; k += step) {
    INFO(setting.layout << (setting.begins_crashed ? ", recovered" : ", created") << ", seed "
                        << setting.seed << ", allocation " << k
                        << (from_then_on ? " and all behind it" : "") << " of " << all);
    RunLife(setting, k, from_then_on);
    ++tally.lives;
    tally.failed_allocations += AllocationFaults::injected();
  }
}

TEST_CASE(
    "A way back to a savepoint that lacks the memory to free a value restores nothing twice") {
  // The record was restored, its chain could not be freed, and the rollback of all that followed
  // found the record gone: a broken invariant.
  const ExemptAllocations test;
  uint64_t refused = 0, all = 1;
  for (uint64_t k = 0; k < all; ++k) {
    CAPTURE(k);
    SimulatedRuntime runtime;
    CrashRecorder disks(runtime, {.record = false});
    for (const char* name : {"data", "log", "journal"}) disks.AddDisk(name);
    const absl::Status ran = runtime.Run([&] {
      const ExemptAllocations main_actor;
      Life life(runtime, "lfs");
      REQUIRE(life.Open(disks, /*create=*/true).ok());
      const Tree tree = *life.db().OpenTree("tree");
      absl::Status back;
      {
        Transaction txn = life.db().Begin();
        REQUIRE(txn.Put(tree, "before", "value").ok());
        const Savepoint savepoint = *txn.SetSavepoint();
        REQUIRE(txn.Put(tree, "behind", std::string(9000, 'x')).ok());
        AllocationFaults::Arm(k, /*from_then_on=*/true);
        {
          const CountedAllocations engine;
          back = txn.RollbackTo(savepoint);
        }
        AllocationFaults::Disarm();
        if (AllocationFaults::injected() > 0) all = k + 2;
        if (back.ok()) REQUIRE(txn.Commit().ok());
      }
      refused += !back.ok();
      life.Close();
      REQUIRE(life.Open(disks, /*create=*/false).ok());
      CHECK(life.db().Verify().ok());
      const absl::StatusOr<Records> found = life.Read();
      REQUIRE(found.ok());
      CHECK(found->size() == (back.ok() ? 1u : 0u));
      life.Close();
    });
    INFO(ran.message());
    REQUIRE(ran.ok());
  }
  CHECK(refused > 0);
}

TEST_CASE("The error of a failed allocation names what to do, and says that nothing was done") {
  const absl::Status status = OutOfMemory();
  CHECK(absl::IsResourceExhausted(status));
  CHECK(status.message() ==
        "out of memory: the call had no effect; call again when there is memory, or give the "
        "database less of it (Options::cache_bytes, Options::version_store_bytes)");
  CHECK(IsOutOfMemory(status));
  CHECK_FALSE(IsOutOfMemory(absl::ResourceExhaustedError("out of space")));
  CHECK_FALSE(IsOutOfMemory(absl::OkStatus()));
}

}  // namespace
}  // namespace latchkey::out_of_memory_test
