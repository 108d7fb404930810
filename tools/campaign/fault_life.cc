#include "tools/campaign/fault_life.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "engine/log/engine_log.h"
#include "engine/transaction_impl.h"
#include "layout/geometry.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/crash_busy_database.h"
#include "tools/campaign/crash_monitor.h"

namespace latchkey {
namespace {

constexpr std::array kPhases = {FaultPhase::kCreate,   FaultPhase::kOpen,   FaultPhase::kPut,
                                FaultPhase::kSplit,    FaultPhase::kCommit, FaultPhase::kCheckpoint,
                                FaultPhase::kCleaning, FaultPhase::kDrop,   FaultPhase::kRecovery,
                                FaultPhase::kClose};

constexpr const char* kKept = "kept";
constexpr const char* kDropped = "dropped";
constexpr uint32_t kKeys = 160;

DatabaseSubject Subject(const std::string& layout) {
  return DatabaseSubject({.layout = layout, .space_utilization = 0.95});
}

std::string KeyOf(uint64_t number) { return fmt::format("key{:05}", number * 7919 % 100'000); }

std::string SomeValue(Rng& rng, size_t least, size_t most) {
  return fmt::format("{:x}.", rng.Next()) +
         std::string(least + rng.Below(most - least + 1), static_cast<char>('a' + rng.Below(26)));
}

FaultStep SomePut(Rng& rng, const char* tree = kKept) {
  const bool is_long = rng.Below(20) == 0;
  return {.kind = FaultStep::Kind::kPut,
          .tree = tree,
          .key = KeyOf(rng.Below(kKeys)),
          .value = is_long ? SomeValue(rng, 5'000, 9'000) : SomeValue(rng, 8, 500)};
}

FaultStep SomeDelete(Rng& rng) {
  return {
      .kind = FaultStep::Kind::kDelete, .tree = kKept, .key = KeyOf(rng.Below(kKeys)), .value = {}};
}

std::vector<FaultStep> SomeSteps(Rng& rng) {
  std::vector<FaultStep> steps;
  for (uint64_t left = 1 + rng.Below(4); left > 0; --left) {
    const uint64_t choice = rng.Below(6);
    steps.push_back(choice == 0   ? SomeDelete(rng)
                    : choice == 1 ? SomePut(rng, kDropped)
                                  : SomePut(rng));
  }
  return steps;
}

// Of virtual time: whoever has asked for a sync that failed has told the others by then.
constexpr Nanos kToldWithin = 10 * kNanosPerMicro;

/// No superblock is written once a sync has failed: what it names may be lost.
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

class Life {
 public:
  Life(const std::string& layout, uint64_t seed, FaultSource& source, const FaultPoint& point,
       CrashMachine& machine, FaultOracle& oracle)
      : layout_(layout),
        seed_(seed),
        source_(source),
        point_(point),
        machine_(machine),
        oracle_(oracle),
        rng_(MixHash(seed)) {}

  FaultOutcome Run(FaultPhase phase) {
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
    source_.Disarm(machine_);
    outcome_.calls = source_.calls(machine_);
    outcome_.injected = source_.injected(machine_);
    outcome_.sync_failed = SyncFailed();
    outcome_.written_again = MustGoOn();
    for (const std::string& violation : machine_.disks->violations()) Mistake(violation);
    return std::move(outcome_);
  }

 private:
  void Arm() { source_.Arm(machine_, point_); }
  void Mistake(std::string what) { outcome_.mistakes.push_back(std::move(what)); }

  uint64_t Failed(uint32_t disk, DeviceCall call) const {
    return machine_.disks->failed_calls(disk, call);
  }
  bool SyncFailed() const {
    for (uint32_t disk = 0; disk < machine_.disks->disks(); ++disk) {
      if (Failed(disk, DeviceCall::kSync) > 0) return true;
    }
    return false;
  }
  // Whether from now on nothing may be acknowledged any more. What has failed by now, its actor has
  // told the others about in a moment.
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

  // Whether all that has failed is one write of the data file, which is tried again: nothing may be
  // refused on its account.
  bool MustGoOn() const {
    return !point_.from_then_on && source_.injected(machine_) == 1 &&
           Failed(DatabaseOnDisks::kData, DeviceCall::kWrite) == 1;
  }

  // Judges what an operation has answered. Returns whether it was done.
  bool Answered(const char* what, const absl::Status& status) {
    if (status.ok()) return true;
    ++outcome_.refused;
    if (MustGoOn()) {
      Mistake(fmt::format("{} is refused for one failed write: {}", what, status.ToString()));
    } else if (source_.injected(machine_) == 0) {
      Mistake(fmt::format("{} failed before any fault: {}", what, status.ToString()));
    } else if (!source_.IsDocumented(status)) {
      Mistake(fmt::format("{}: not a documented answer: {}", what, status.ToString()));
    }
    return false;
  }
  // As Answered, for what makes something durable: `refused`: it must not be done any more.
  bool AnsweredDurably(const char* what, bool refused, const absl::Status& status) {
    if (refused && status.ok()) {
      Mistake(fmt::format("{} was acknowledged although the database has to be read-only", what));
    }
    if (refused && !status.ok() && status.message().find("reopen") == absl::string_view::npos) {
      Mistake(fmt::format("{} names no remedy: {}", what, status.ToString()));
    }
    return Answered(what, status);
  }

  bool Open(bool create) {
    absl::StatusOr<std::unique_ptr<DatabaseImpl>> opened =
        Subject(layout_).Open(seed_, machine_, create);
    outcome_.created = !create || opened.ok();
    if (!Answered("open", opened.status())) return false;
    db_ = *std::move(opened);
    return true;
  }

  TreeImpl* Tree(const std::string& name) {
    absl::StatusOr<TreeImpl*> tree = db_->OpenTree(name, /*create=*/true);
    return Answered("making a tree", tree.status()) ? *tree : nullptr;
  }

  absl::Status Do(TransactionImpl& txn, TreeImpl& tree, const FaultStep& step) {
    if (step.kind == FaultStep::Kind::kPut) return txn.Put(tree, step.key, step.value);
    const absl::Status done = txn.Delete(tree, step.key);
    return absl::IsNotFound(done) ? absl::OkStatus() : done;
  }

  enum class End { kCommit, kRollback };
  bool Transact(const std::vector<FaultStep>& steps, End end = End::kCommit) {
    std::vector<TreeImpl*> trees;
    for (const FaultStep& step : steps) {
      trees.push_back(Tree(step.tree));
      if (trees.back() == nullptr) return false;
    }
    const std::unique_ptr<TransactionImpl> txn = db_->Begin();
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!Answered("a write", Do(*txn, *trees[i], steps[i]))) {
        Answered("a rollback", txn->Rollback());
        return false;
      }
    }
    if (end == End::kRollback) return Answered("a rollback", txn->Rollback());
    return Commit(*txn, steps);
  }

  bool Commit(TransactionImpl& txn, const std::vector<FaultStep>& steps) {
    const bool refused = MustRefuse();
    const absl::Status done = txn.Commit();
    const bool wrote = !done.ok() || txn.last_commit() != 0;
    if (AnsweredDurably("a commit", refused && wrote, done)) {
      if (unknown_ && wrote) Mistake("a commit was acknowledged behind one of unknown outcome");
      oracle_.Commit(steps);
      ++outcome_.commits;
      return true;
    }
    if (done.message().find("unknown") != absl::string_view::npos) {
      oracle_.MayCommit(steps);
      unknown_ = true;
    }
    return false;
  }

  void Drop() {
    const std::vector<FaultStep> steps = {
        {.kind = FaultStep::Kind::kDrop, .tree = kDropped, .key = {}, .value = {}}};
    if (!db_->OpenTree(kDropped, /*create=*/false).ok()) return;  // an earlier drop got so far
    const bool refused = MustRefuse();
    const absl::Status done = db_->DropTree(kDropped);
    if (AnsweredDurably("dropping a tree", refused, done)) return oracle_.Commit(steps);
    // A tree that can be used after that stays, unless nothing can be made durable any more.
    if (MustRefuse() || !db_->OpenTree(kDropped, /*create=*/false).ok()) oracle_.MayCommit(steps);
  }

  void Checkpoint() {
    const bool refused = MustRefuse();
    AnsweredDurably("a checkpoint", refused, db_->Checkpoint());
  }

  // Without faults so far.
  void Prepare(FaultPhase phase) {
    if (phase == FaultPhase::kPut || phase == FaultPhase::kCleaning) {
      Answered("shrinking the cache", ShrinkCache(*db_));
    }
    if (phase == FaultPhase::kCheckpoint || phase == FaultPhase::kClose) {
      for (int i = 0; i < 8; ++i) Transact(SomeSteps(rng_));
    }
  }

  void Do(FaultPhase phase) {
    switch (phase) {
      case FaultPhase::kCreate:
        for (int i = 0; i < 3; ++i) Transact(SomeSteps(rng_));
        return;
      case FaultPhase::kOpen:
        ReadAll();
        return;
      case FaultPhase::kPut:
        for (int i = 0; i < 16; ++i) {
          Transact(SomeSteps(rng_), rng_.Below(5) == 0 ? End::kRollback : End::kCommit);
        }
        return;
      case FaultPhase::kSplit:
        return SplitAndMerge();
      case FaultPhase::kCommit:
        for (int i = 0; i < 20; ++i) Transact({SomePut(rng_)});
        return;
      case FaultPhase::kCheckpoint:
        for (int i = 0; i < 3; ++i) {
          Checkpoint();
          Transact(SomeSteps(rng_));
        }
        return;
      case FaultPhase::kCleaning:
        for (int i = 0; i < 30; ++i) Transact({SomePut(rng_), SomePut(rng_), SomePut(rng_)});
        return;
      case FaultPhase::kDrop:
        for (int i = 0; i < 2; ++i) {
          Drop();
          Transact({SomePut(rng_, kDropped), SomePut(rng_)});
        }
        return;
      case FaultPhase::kRecovery:
        Transact(SomeSteps(rng_));
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
                        .tree = kKept,
                        .key = fmt::format("split{:05}", i * kRecords + j),
                        .value = puts ? SomeValue(rng_, 500, 700) : std::string()});
      }
      return list;
    };
    for (uint64_t i = 0; i < kTransactions; ++i) {
      Transact(steps(FaultStep::Kind::kPut, i), i == 2 ? End::kRollback : End::kCommit);
    }
    for (uint64_t i = 0; i < kTransactions; ++i) Transact(steps(FaultStep::Kind::kDelete, i));
  }

  void ReadAll() {
    const absl::StatusOr<FaultRecords> found = ReadRecords(*db_);
    if (!Answered("reading", found.status())) return;
    outcome_.read_back = true;
    if (!oracle_.Accepts(*found)) {
      Mistake("read while open: " + oracle_.Explain(*found));
    }
  }

  // What must go on, or must not, when the device works again.
  void Afterwards() {
    ReadAll();
    Transact({SomePut(rng_)});
    source_.Disarm(machine_);
    ReadAll();
    Transact({SomePut(rng_)});
    Checkpoint();
    ReadAll();
  }

  void Close() {
    const bool refused = MustRefuse();
    const absl::Status closed = db_->Close();
    AnsweredDurably("closing", refused, closed);
    outcome_.read_only = IsReadOnly();
    if (MustGoOn() && IsReadOnly()) Mistake("it is read-only for one failed write");
    const LeakedFrames leaked = db_->context().pool.CountLeaks();
    if (leaked.latched > 0 || leaked.lost > 0) {
      Mistake(fmt::format("{} pages are still latched and {} frames lost when it is closed",
                          leaked.latched, leaked.lost));
    }
    db_.reset();
  }

  const std::string layout_;
  const uint64_t seed_;
  FaultSource& source_;
  const FaultPoint point_;
  CrashMachine& machine_;
  FaultOracle& oracle_;
  Rng rng_;
  std::unique_ptr<DatabaseImpl> db_;
  FaultOutcome outcome_;
  bool unknown_ = false;  // a commit's outcome
};

/// Never fails: what beginnings are made with.
class NoFaults final : public FaultSource {
 public:
  std::string name() const override { return "none"; }
  void Arm(CrashMachine&, const FaultPoint&) override {}
  void Disarm(CrashMachine&) override {}
  uint64_t calls(const CrashMachine&) const override { return 0; }
  uint64_t injected(const CrashMachine&) const override { return 0; }
  bool IsDocumented(const absl::Status&) const override { return false; }
};

// Applies seeded transactions; the last one stays unfinished if wanted.
absl::Status Fill(DatabaseImpl& db, Rng& rng, int transactions, FaultOracle& oracle) {
  for (int i = 0; i < transactions; ++i) {
    const std::vector<FaultStep> steps = SomeSteps(rng);
    const std::unique_ptr<TransactionImpl> txn = db.Begin();
    for (const FaultStep& step : steps) {
      LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, db.OpenTree(step.tree, /*create=*/true));
      const absl::Status done = step.kind == FaultStep::Kind::kPut
                                    ? txn->Put(*tree, step.key, step.value)
                                    : txn->Delete(*tree, step.key);
      if (!done.ok() && !absl::IsNotFound(done)) return done;
    }
    LATCHKEY_RETURN_IF_ERROR(txn->Commit());
    oracle.Commit(steps);
    if (i % 20 == 19) LATCHKEY_RETURN_IF_ERROR(db.Checkpoint());
  }
  return absl::OkStatus();
}

std::vector<DiskImage> Contents(const CrashRecorder& disks) {
  std::vector<DiskImage> images;
  for (uint32_t disk = 0; disk < disks.disks(); ++disk) images.push_back(disks.content(disk));
  return images;
}

absl::Status MakeClosed(const std::string& layout, uint64_t seed, FaultBeginning* made) {
  CrashMachine machine(std::vector<DiskImage>(3), seed, /*record=*/false, /*simulated=*/true);
  FaultOracle oracle({});
  const absl::Status ran = machine.RunInside([&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                              Subject(layout).Open(seed, machine, /*create=*/true));
    Rng rng(seed);
    LATCHKEY_RETURN_IF_ERROR(Fill(*db, rng, 60, oracle));
    return db->Close();
  });
  *made = {Contents(*machine.disks), oracle.newest()};
  return ran;
}

// Some commits since the last checkpoint, and a transaction that never ends.
absl::Status MakeCrashed(const std::string& layout, uint64_t seed, const FaultBeginning& closed,
                         FaultBeginning* made) {
  CrashMachine machine(closed.images, seed, /*record=*/false, /*simulated=*/true);
  FaultOracle oracle(closed.records);
  const absl::Status ran = machine.RunInside([&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                              Subject(layout).Open(seed, machine, /*create=*/false));
    Rng rng(MixHash(seed + 1));
    LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, db->OpenTree(kKept, /*create=*/true));
    const std::unique_ptr<TransactionImpl> unfinished = db->Begin();
    for (int i = 0; i < 4; ++i) {
      LATCHKEY_RETURN_IF_ERROR(
          unfinished->Put(*tree, fmt::format("unfinished{}", i), SomeValue(rng, 8, 900)));
    }
    LATCHKEY_RETURN_IF_ERROR(Fill(*db, rng, 30, oracle));
    *made = {Contents(*machine.disks), oracle.newest()};
    machine.disks->PowerOff();
    return absl::OkStatus();
  });
  return ran;
}

}  // namespace

std::span<const FaultPhase> AllFaultPhases() { return kPhases; }

const char* FaultPhaseName(FaultPhase phase) {
  switch (phase) {
    case FaultPhase::kCreate:
      return "create";
    case FaultPhase::kOpen:
      return "open";
    case FaultPhase::kPut:
      return "put";
    case FaultPhase::kSplit:
      return "split";
    case FaultPhase::kCommit:
      return "commit";
    case FaultPhase::kCheckpoint:
      return "checkpoint";
    case FaultPhase::kCleaning:
      return "cleaning";
    case FaultPhase::kDrop:
      return "drop";
    case FaultPhase::kRecovery:
      return "recovery";
    case FaultPhase::kClose:
      return "close";
  }
  return "unknown";
}

const FaultBeginning& FaultBeginnings::Of(FaultPhase phase) const {
  if (phase == FaultPhase::kCreate) return empty;
  return phase == FaultPhase::kRecovery ? crashed : closed;
}

absl::StatusOr<FaultBeginnings> MakeFaultBeginnings(const std::string& layout, uint64_t seed) {
  FaultBeginnings all;
  all.empty.images.resize(3);
  LATCHKEY_RETURN_IF_ERROR(MakeClosed(layout, seed, &all.closed));
  LATCHKEY_RETURN_IF_ERROR(MakeCrashed(layout, seed, all.closed, &all.crashed));
  return all;
}

FaultOutcome RunFaultLife(const std::string& layout, uint64_t seed, FaultPhase phase,
                          FaultSource& source, const FaultPoint& point, CrashMachine& machine,
                          FaultOracle& oracle) {
  return Life(layout, seed, source, point, machine, oracle).Run(phase);
}

absl::StatusOr<FaultRecords> ReopenAfterFaults(const std::string& layout, uint64_t seed,
                                               CrashMachine& machine) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            Subject(layout).Open(seed, machine, /*create=*/false));
  LATCHKEY_RETURN_IF_ERROR(db->Verify());
  absl::StatusOr<FaultRecords> records = ReadRecords(*db);
  LATCHKEY_RETURN_IF_ERROR(db->Close());
  return records;
}

}  // namespace latchkey
