#include "tools/campaign/faults/fault_life.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "engine/log/engine_log.h"
#include "engine/transaction_impl.h"
#include "layout/geometry.h"
#include "storage/base/hash.h"
#include "storage/base/out_of_memory.h"
#include "storage/runtime/exempt_allocations.h"
#include "tools/campaign/crash/crash_busy_database.h"
#include "tools/campaign/crash/crash_monitor.h"
#include "tools/campaign/faults/fault_steps.h"

namespace latchkey {
namespace {

// Virtual time after which the actor whose sync failed has told the others.
constexpr Nanos kToldWithin = 10 * kNanosPerMicro;

/// No superblock may be written after a failed sync: data that it names may be lost.
class NoSuperblockAfterFailedSync final : public DiskMonitor {
 public:
  explicit NoSuperblockAfterFailedSync(Runtime& runtime) : runtime_(runtime) {}

  std::string OnWriteSubmitted(uint32_t disk, uint64_t offset,
                               std::span<const std::byte>) override {
    const bool is_superblock = disk == DatabaseOnDisks::kData && offset < kHeaderAreaBytes &&
                               offset % kHeaderHalfBytes < kSuperblocksBytes;
    if (!failed_at_ || !is_superblock || runtime_.Now() <= *failed_at_ + kToldWithin) return "";
    return fmt::format("the superblock at {} is written after a sync has failed", offset);
  }
  void OnSyncFailed(uint32_t) override {
    if (!failed_at_) failed_at_ = runtime_.Now();
  }

 private:
  Runtime& runtime_;
  std::optional<Nanos> failed_at_;
};

/// The life's own allocations never fail. Those of the database's calls may.
class Life {
 public:
  Life(const FaultSetting& setting, FaultSource& source, const FaultPoint& point,
       CrashMachine& machine, FaultHistory& history)
      : setting_(setting),
        source_(source),
        point_(point),
        machine_(machine),
        history_(history),
        rng_(MixHash(setting.seed)) {}

  FaultOutcome Run(FaultPhase phase) {
    const ExemptAllocations campaign;
    machine_.disks->SetMonitor(std::make_unique<NoSuperblockAfterFailedSync>(machine_.runtime()));
    const bool opens = phase == FaultPhase::kCreate || phase == FaultPhase::kOpen ||
                       phase == FaultPhase::kRecovery;
    if (opens) Arm();
    if (Open(/*create=*/phase == FaultPhase::kCreate)) {
      Prepare(phase);
      if (!opens && phase != FaultPhase::kClose) Arm();
      Do(phase);
      if (phase == FaultPhase::kClose) Arm();
      if (phase != FaultPhase::kClose) Afterwards();
      Close();
    }
    Disarm();
    outcome_.calls = source_.calls(machine_);
    outcome_.injected = source_.injected(machine_);
    outcome_.sync_failed = SyncFailed();
    outcome_.written_again = MustGoOn();
    for (const std::string& violation : machine_.disks->violations()) Mistake(violation);
    return std::move(outcome_);
  }

 private:
  void Arm() {
    source_.Arm(machine_, point_);
    armed_ = true;
  }
  void Disarm() {
    source_.Disarm(machine_);
    disarmed_ = true;
  }
  void Mistake(std::string what) { outcome_.mistakes.push_back(std::move(what)); }

  // Calls the database as an embedder does, through the public interface.
  template <typename Body>
  std::invoke_result_t<Body> Call(Body body) {
    std::invoke_result_t<Body> result = Counted(body);
    if (!armed_ || source_.injected(machine_) == 0) outcome_.calm_until = Position();
    return result;
  }
  template <typename Body>
  static std::invoke_result_t<Body> Counted(Body body) {
    const CountedAllocations engine;
    return CatchOutOfMemory(body);
  }
  uint64_t Position() const { return machine_.disks->position(); }

  uint64_t Failed(uint32_t disk, DeviceCall call) const {
    return machine_.disks->failed_calls(disk, call);
  }
  bool SyncFailed() const {
    for (uint32_t disk = 0; disk < machine_.disks->disks(); ++disk) {
      if (Failed(disk, DeviceCall::kSync) > 0) return true;
    }
    return false;
  }
  // Whether the database may acknowledge nothing more. The actor that met the failure tells the
  // others within a moment.
  bool MustRefuse() {
    const bool failed = SyncFailed() || Failed(DatabaseOnDisks::kLog, DeviceCall::kWrite) > 0;
    if (failed && !IsReadOnly()) machine_.runtime().SleepFor(2 * kToldWithin);
    return failed || IsReadOnly();
  }
  bool IsReadOnly() const {
    if (db_ == nullptr) return false;
    return !db_->store().WriteStatus().ok() ||
           (db_->engine_log() != nullptr && !db_->engine_log()->CheckWritable().ok());
  }

  // Whether the only failure is one write of the data file. The store tries it again, and nothing
  // may be refused because of it.
  bool MustGoOn() const {
    return !point_.from_then_on && source_.injected(machine_) == 1 &&
           Failed(DatabaseOnDisks::kData, DeviceCall::kWrite) == 1;
  }

  // Judges the answer of an operation. Returns whether the operation succeeded.
  bool Answered(const char* what, const absl::Status& status) {
    if (status.ok()) return true;
    ++outcome_.refused;
    if (MustGoOn()) {
      Mistake(fmt::format("{} is refused for one failed write: {}", what, status.ToString()));
    } else if (disarmed_ && !IsReadOnly()) {
      Mistake(
          fmt::format("{} is refused though nothing fails any more: {}", what, status.ToString()));
    } else if (source_.injected(machine_) == 0) {
      Mistake(fmt::format("{} failed before any fault: {}", what, status.ToString()));
    } else if (!source_.IsDocumented(status)) {
      Mistake(fmt::format("{}: not a documented answer: {}", what, status.ToString()));
    }
    return false;
  }
  // As Answered, for operations that make data durable. `refused`: the operation must fail.
  bool AnsweredDurably(const char* what, bool refused, const absl::Status& status) {
    if (refused && status.ok()) {
      Mistake(fmt::format("{} was acknowledged although the database has to be read-only", what));
    }
    // While memory is short, the check itself may fail for want of memory.
    const bool looked = disarmed_ || !IsOutOfMemory(status);
    if (refused && looked && !status.ok() &&
        status.message().find("reopen") == absl::string_view::npos) {
      Mistake(fmt::format("{} names no remedy: {}", what, status.ToString()));
    }
    return Answered(what, status);
  }
  void Acknowledge(size_t number) {
    Answer(number, setting_.durability == Durability::kCommit ? CommitAnswer::kDurable
                                                              : CommitAnswer::kForNow);
  }
  void Answer(size_t number, CommitAnswer answer) { history_.Answer(number, Position(), answer); }

  bool Open(bool create) {
    auto opened =
        Call([&] { return FaultSubject(setting_).Open(setting_.seed, machine_, create); });
    outcome_.created = !create || opened.ok();
    if (create && opened.ok()) outcome_.created_at = Position();
    if (!Answered("open", opened.status())) return false;
    db_ = *std::move(opened);
    outcome_.opened = true;
    return true;
  }

  absl::StatusOr<TreeImpl*> FindTree(const std::string& name, bool create) {
    return Call([&] { return db_->OpenTree(name, create); });
  }
  TreeImpl* Tree(const std::string& name) {
    const absl::StatusOr<TreeImpl*> tree = FindTree(name, /*create=*/true);
    return Answered("making a tree", tree.status()) ? *tree : nullptr;
  }

  static absl::Status Do(TransactionImpl& txn, TreeImpl& tree, const FaultStep& step) {
    if (step.kind == FaultStep::Kind::kPut) return txn.Put(tree, step.key, step.value);
    const absl::Status done = txn.Delete(tree, step.key);
    return absl::IsNotFound(done) ? absl::OkStatus() : done;
  }

  enum class End { kCommit, kRollback };
  bool Transact(const std::vector<FaultStep>& steps, End end = End::kCommit) {
    return Transact(steps, end, rng_);
  }
  bool Transact(const std::vector<FaultStep>& steps, End end, Rng& rng) {
    std::vector<TreeImpl*> trees;
    for (const FaultStep& step : steps) {
      trees.push_back(Tree(step.tree));
      if (trees.back() == nullptr) return false;
    }
    auto txn =
        Call([&]() -> absl::StatusOr<std::unique_ptr<TransactionImpl>> { return db_->Begin(); });
    if (!Answered("beginning a transaction", txn.status())) return false;
    const bool done = Finish(**txn, steps, trees, end, rng);
    Call([&] {
      txn->reset();
      return absl::OkStatus();
    }).IgnoreError();
    return done;
  }
  bool Finish(TransactionImpl& txn, const std::vector<FaultStep>& steps,
              const std::vector<TreeImpl*>& trees, End end, Rng& rng) {
    std::vector<FaultStep> applied;
    if (!Write(txn, steps, trees, rng, &applied) || end == End::kRollback) {
      return Answered("a rollback", Call([&] { return txn.Rollback(); })) && end == End::kRollback;
    }
    return Commit(txn, applied);
  }
  // Some transactions return to a savepoint before the end. A step that fails for want of memory
  // has no effect, and the next steps follow.
  bool Write(TransactionImpl& txn, const std::vector<FaultStep>& steps,
             const std::vector<TreeImpl*>& trees, Rng& rng, std::vector<FaultStep>* applied) {
    const size_t save_at = rng.Below(4 * steps.size() + 1);
    std::optional<Savepoint> savepoint;
    size_t saved = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (i == save_at) {
        auto set = Call([&] { return txn.SetSavepoint(); });
        if (Answered("a savepoint", set.status())) savepoint = *std::move(set);
        saved = applied->size();
      }
      const absl::Status done = Call([&] { return Do(txn, *trees[i], steps[i]); });
      if (Answered("a write", done)) {
        applied->push_back(steps[i]);
      } else if (!IsOutOfMemory(done)) {
        return false;
      }
    }
    if (!savepoint) return true;
    if (!Answered("going back to a savepoint", Call([&] { return txn.RollbackTo(*savepoint); }))) {
      return false;
    }
    applied->resize(saved);
    return true;
  }

  bool Commit(TransactionImpl& txn, const std::vector<FaultStep>& steps) {
    const bool refused = MustRefuse();
    const bool behind_unknown = unknown_;
    const size_t number = history_.Submit(Position(), steps);
    const absl::Status done = Call([&] { return txn.Commit(); });
    const bool wrote = !done.ok() || txn.last_commit() != 0;
    if (AnsweredDurably("a commit", refused && wrote, done)) {
      if (behind_unknown && wrote) {
        Mistake("a commit was acknowledged behind one of unknown outcome");
      }
      Acknowledge(number);
      ++outcome_.commits;
      return true;
    }
    const bool is_unknown = done.message().find("unknown") != absl::string_view::npos;
    Answer(number, is_unknown ? CommitAnswer::kUnknown : CommitAnswer::kRefused);
    unknown_ = unknown_ || is_unknown;
    return false;
  }

  void Drop() {
    const std::vector<FaultStep> steps = {
        {.kind = FaultStep::Kind::kDrop, .tree = kFaultDropped, .key = {}, .value = {}}};
    const auto stays = [this] { return FindTree(kFaultDropped, /*create=*/false).ok(); };
    if (!stays()) return;  // an earlier drop has removed it
    const bool refused = MustRefuse();
    const size_t number = history_.Submit(Position(), steps);
    const absl::Status done = Call([&] { return db_->DropTree(kFaultDropped); });
    if (AnsweredDurably("dropping a tree", refused, done)) return Acknowledge(number);
    // A tree that can be used after that stays, unless nothing can be made durable any more.
    const bool is_unknown = MustRefuse() || !stays();
    Answer(number, is_unknown ? CommitAnswer::kUnknown : CommitAnswer::kRefused);
  }

  void Checkpoint() {
    const bool refused = MustRefuse();
    const absl::Status done = Call([&] { return db_->Checkpoint(); });
    if (!AnsweredDurably("a checkpoint", refused, done)) return;
    if (setting_.durability != Durability::kNone) history_.Promise(Position());
  }

  // Before any fault.
  void Prepare(FaultPhase phase) {
    if (phase == FaultPhase::kPut || phase == FaultPhase::kCleaning) {
      Answered("shrinking the cache", ShrinkCache(*db_));
    }
    if (phase == FaultPhase::kCheckpoint || phase == FaultPhase::kClose) {
      for (int i = 0; i < 8; ++i) Transact(SomeFaultSteps(rng_));
    }
  }

  void Do(FaultPhase phase) {
    switch (phase) {
      case FaultPhase::kCreate:
        for (int i = 0; i < 3; ++i) Transact(SomeFaultSteps(rng_));
        return;
      case FaultPhase::kOpen:
        ReadAll();
        return;
      case FaultPhase::kPut:
        for (int i = 0; i < 16; ++i) {
          Transact(SomeFaultSteps(rng_), rng_.Below(5) == 0 ? End::kRollback : End::kCommit);
        }
        return;
      case FaultPhase::kSplit:
        return SplitAndMerge();
      case FaultPhase::kCommit:
        for (int i = 0; i < 20; ++i) Transact({SomeFaultPut(rng_)});
        return;
      case FaultPhase::kCheckpoint:
        for (int i = 0; i < 3; ++i) {
          Checkpoint();
          Transact(SomeFaultSteps(rng_));
        }
        return;
      case FaultPhase::kCleaning:
        for (int i = 0; i < 30; ++i) {
          Transact({SomeFaultPut(rng_), SomeFaultPut(rng_), SomeFaultPut(rng_)});
        }
        return;
      case FaultPhase::kDrop:
        for (int i = 0; i < 2; ++i) {
          Drop();
          Transact({SomeFaultPut(rng_, kFaultDropped), SomeFaultPut(rng_)});
        }
        return;
      case FaultPhase::kUsers:
        return Users();
      case FaultPhase::kRecovery:
        Transact(SomeFaultSteps(rng_));
        return;
      case FaultPhase::kClose:
        return;
    }
  }

  void SplitAndMerge() {
    constexpr uint64_t kTransactions = 6, kRecords = 8;
    const auto steps = [this](FaultStep::Kind kind, uint64_t i) {
      std::vector<FaultStep> list;
      for (uint64_t j = 0; j < kRecords; ++j) {
        const bool puts = kind == FaultStep::Kind::kPut;
        list.push_back({.kind = kind,
                        .tree = kFaultKept,
                        .key = fmt::format("split{:05}", i * kRecords + j),
                        .value = puts ? SomeFaultValue(rng_, 500, 700) : std::string()});
      }
      return list;
    };
    for (uint64_t i = 0; i < kTransactions; ++i) {
      Transact(steps(FaultStep::Kind::kPut, i), i == 2 ? End::kRollback : End::kCommit);
    }
    for (uint64_t i = 0; i < kTransactions; ++i) Transact(steps(FaultStep::Kind::kDelete, i));
  }

  // Their commits need no order: no user changes records of another.
  void Users() {
    constexpr uint64_t kUsers = 3;
    std::vector<std::unique_ptr<Actor>> users;
    for (uint64_t user = 0; user < kUsers; ++user) {
      users.push_back(machine_.runtime().Spawn(fmt::format("user {}", user), [this, user] {
        const ExemptAllocations campaign;
        Rng rng(MixHash(setting_.seed * kUsers + user));
        const std::string tree = fmt::format("tree of {}", user);
        for (int i = 0; i < 6; ++i) {
          const std::vector<FaultStep> steps = {SomeFaultPut(rng, tree), SomeFaultPut(rng, tree)};
          Transact(steps, rng.Below(5) == 0 ? End::kRollback : End::kCommit, rng);
        }
      }));
    }
    for (const std::unique_ptr<Actor>& user : users) user->Join();
  }

  void ReadAll() {
    const absl::StatusOr<FaultRecords> found = Call([&] { return ReadRecords(*db_); });
    if (!Answered("reading", found.status())) return;
    outcome_.read_back = true;
    if (!history_.now().Accepts(*found)) {
      Mistake("read while open: " + history_.now().Explain(*found));
    }
  }

  // The calls that must succeed, or must be refused, after the faults have stopped.
  void Afterwards() {
    ReadAll();
    Transact({SomeFaultPut(rng_)});
    Disarm();
    ReadAll();
    Transact({SomeFaultPut(rng_)});
    Checkpoint();
    ReadAll();
  }

  absl::Status TryClose() {
    const bool refused = MustRefuse();
    const absl::Status closed = Call([&] { return db_->Close(); });
    if (AnsweredDurably("closing", refused, closed)) {
      outcome_.closed_at = Position();
      history_.Promise(Position());
    }
    return closed;
  }

  void Close() {
    if (IsOutOfMemory(TryClose())) {
      Disarm();
      TryClose().IgnoreError();
    }
    outcome_.read_only = IsReadOnly();
    if (MustGoOn() && IsReadOnly()) Mistake("it is read-only for one failed write");
    const LeakedFrames leaked = db_->context().pool.CountLeaks();
    if (leaked.latched > 0 || leaked.lost > 0) {
      Mistake(fmt::format("{} pages are still latched and {} frames lost when it is closed",
                          leaked.latched, leaked.lost));
    }
    Call([&] {
      db_.reset();
      return absl::OkStatus();
    }).IgnoreError();
  }

  const FaultSetting& setting_;
  FaultSource& source_;
  const FaultPoint point_;
  CrashMachine& machine_;
  FaultHistory& history_;
  Rng rng_;
  std::unique_ptr<DatabaseImpl> db_;
  FaultOutcome outcome_;
  bool unknown_ = false;   // outcome of a commit
  bool armed_ = false;     // calls fail as point_ says, from now on
  bool disarmed_ = false;  // no call fails any more
};

}  // namespace

FaultOutcome RunFaultLife(const FaultSetting& setting, FaultPhase phase, FaultSource& source,
                          const FaultPoint& point, CrashMachine& machine, FaultHistory& history) {
  return Life(setting, source, point, machine, history).Run(phase);
}

}  // namespace latchkey
