// The commit of a transaction: its place in the commit order, and for a serializable one the proof
// that no commit since its snapshot has changed what it read.
#include <algorithm>
#include <utility>

#include "engine/txn/version_store.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Entries that one commit collects: few enough to go unnoticed, or kEntriesPerEntry times the
// number that it wrote itself, so that a backlog behind a long snapshot shrinks.
constexpr uint64_t kEntriesPerCommit = 256;
constexpr uint64_t kEntriesPerEntry = 2;
// One commit in this many also collects from the queue of another actor, which may be gone, and
// checks the bound.
constexpr uint64_t kCommitsPerVisit = 16;
// Commits of an actor that may wait to be collected before the older ones settle. A snapshot as
// short as the transactions around it makes fewer wait.
constexpr uint64_t kMostUnsettled = 16;
// Most commits that are left to check in the critical section, and most attempts to reach that few.
constexpr uint64_t kCommitsInside = 4;
constexpr int kRoundsOutside = 8;

absl::Status ReadsHaveChanged() {
  return absl::AbortedError(
      "not serializable: another transaction has committed a change of something that this one "
      "has read; roll back and run it again");
}

}  // namespace

CommitTs VersionStore::Commit(Txn& txn) {
  const absl::StatusOr<CommitTs> ts = CommitAndCollect(txn, [](CommitTs) {});
  LATCHKEY_CHECK(ts.ok());
  return *ts;
}

absl::StatusOr<CommitTs> VersionStore::CommitAndCollect(
    Txn& txn, absl::FunctionRef<void(CommitTs)> at_commit) {
  const auto last_step = [&](CommitTs ts) {
    at_commit(ts);
    return true;
  };
  LATCHKEY_ASSIGN_OR_RETURN(const Committed done, TryCommit(txn, last_step, [] {}));
  CollectAfter(done);
  return done.ts;
}

absl::StatusOr<Committed> VersionStore::TryCommit(Txn& txn,
                                                  absl::FunctionRef<bool(CommitTs)> at_commit,
                                                  absl::FunctionRef<void()> before_retry) {
  LATCHKEY_CHECK(txn.active());
  WaitGraph::Returned(txn);
  const uint32_t queue = runtime_.ActorIndex() % kStripes;
  if (txn.record_ == nullptr) {
    // It saw the state at its snapshot, so that is its place in the serial order.
    ReleaseReads(txn);
    EndReader(txn, queue);
    return Committed{};
  }
  CommitTs ts = 0;
  // A transaction without a snapshot has read nothing. It became a writer for its log alone, by a
  // call that failed.
  if (txn.reads() == nullptr || !txn.has_snapshot_ || LATCHKEY_CANARY("reads-not-validated")) {
    ts = Stamp(txn, at_commit, before_retry);
  } else {
    LATCHKEY_ASSIGN_OR_RETURN(ts, ValidateAndStamp(txn, at_commit, before_retry));
  }
  Committed done{ts, txn.record_->entries, std::move(txn.savepoints_)};
  EndWriter(txn, ts, queue);
  return done;
}

void VersionStore::LinkCommit(WriteRecord& record) {
  record.previous_commit = latest_commit_;
  latest_commit_ = &record;
}

CommitTs VersionStore::Stamp(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                             absl::FunctionRef<void()> before_retry) {
  WriteRecord& record = *txn.record_;
  for (;; before_retry()) {
    const CommitTs ts = snapshots_.StampCommit(record.outcome, [&](CommitTs next) {
      if (!at_commit(next)) return false;
      LinkCommit(record);
      return true;
    });
    if (ts != 0) return ts;
  }
}

absl::StatusOr<CommitTs> VersionStore::ValidateAndStamp(Txn& txn,
                                                        absl::FunctionRef<bool(CommitTs)> at_commit,
                                                        absl::FunctionRef<void()> before_retry) {
  WriteRecord& record = *txn.record_;
  ReadSet& reads = *txn.reads();
  // While the snapshot is held, no later commit is collected, even if the store is full.
  const SnapshotHold hold(txn);
  if (!hold.held()) return SnapshotTooOld();
  reads.Prepare();
  CommitTs checked = txn.snapshot_.read_ts;
  bool current = true;
  for (int round = 0; current; ++round) {
    WriteRecord* newest = nullptr;
    CommitTs clock = 0;
    snapshots_.BetweenCommits([&](CommitTs now) {
      newest = latest_commit_;
      clock = now;
    });
    current = AreCurrent(reads, newest, clock, checked);
    checked = clock;
    if (!current) break;
    bool lacks_something = false;
    const CommitTs ts = snapshots_.StampCommit(record.outcome, [&](CommitTs next) {
      // Other commits came since. Checked here if they are few, or if this one has lost the race
      // often enough.
      if (next - 1 - checked > kCommitsInside && round < kRoundsOutside) return false;
      current = AreCurrent(reads, latest_commit_, next - 1, checked);
      if (!current) return false;
      lacks_something = !at_commit(next);
      if (lacks_something) return false;
      LinkCommit(record);
      return true;
    });
    if (ts != 0) return ts;
    if (lacks_something) before_retry();
  }
  counters().refused.fetch_add(1, std::memory_order_relaxed);
  return ReadsHaveChanged();
}

bool VersionStore::AreCurrent(const ReadSet& reads, WriteRecord* newest, CommitTs upto,
                              CommitTs from) {
  WriteRecord* record = newest;
  if (LATCHKEY_CANARY("validation-misses-the-first-commit")) ++from;
  for (CommitTs ts = upto; ts > from; --ts, record = record->previous_commit) {
    LATCHKEY_DCHECK(record->outcome.load(std::memory_order_relaxed) == ts);
    if (record->spilled) return false;  // its keys are so many that one may be among those read
    for (const VersionEntry* entry = record->newest; entry != nullptr;
         entry = entry->next_of_writer) {
      if (!entry->lock_only && reads.Covers(entry->tree, entry->key(), entry->hash)) return false;
    }
  }
  return true;
}

void VersionStore::EndReader(Txn& txn, uint32_t queue) {
  // The transaction that held garbage back finds out at once that it may be dropped.
  const bool was_oldest =
      txn.has_snapshot_ && txn.snapshot_.read_ts <= snapshots_.oldest_snapshot();
  snapshots_.End(txn);
  counters_[queue].commits.fetch_add(1, std::memory_order_relaxed);
  const bool holds_back = !finished_.empty(queue) || !settled_.empty() || HasSpilled();
  if (was_oldest && holds_back) snapshots_.RefreshBounds();
}

void VersionStore::EndWriter(Txn& txn, CommitTs ts, uint32_t queue) {
  WriteRecord& record = *txn.record_;
  if (record.spilled) spill_->Commit(record, ts);
  ReleaseReads(txn);
  snapshots_.End(txn);
  wait_graph_.WakeWaiters(record);
  ReportEntries(record);
  counters_[queue].commits.fetch_add(1, std::memory_order_relaxed);
  finished_.Push(queue, &record);
  snapshots_.MaybeRefreshBounds();
}

void VersionStore::CollectAfter(const Committed& commit) {
  FreeSavedChains(commit.savepoints.get());
  const uint32_t queue = runtime_.ActorIndex() % kStripes;
  CollectFrom(queue, std::max(kEntriesPerCommit, kEntriesPerEntry * commit.entries));
  if (finished_.size(queue) > kMostUnsettled) SettleBehind(queue);
  if (!settled_.empty()) SweepSome();
  if (commit.ts % kCommitsPerVisit != 1) return;
  const auto other = static_cast<uint32_t>(commit.ts / kCommitsPerVisit % kStripes);
  CollectFrom(other, kEntriesPerCommit);
  if (finished_.size(other) > kMostUnsettled) SettleBehind(other);
  table_.ResizeFor(CountVersions());
  if (HasSpilled()) DropSpilled();
  Reclaim();
}

}  // namespace latchkey
