#include "engine/txn/commit_order.h"

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Most commits that are left to check in the critical section, and most attempts to reach that few.
constexpr uint64_t kCommitsInside = 4;
constexpr int kRoundsOutside = 8;

absl::Status ReadsHaveChanged() {
  return absl::AbortedError(
      "not serializable: another transaction has committed a change of something that this one "
      "has read; roll back and run it again");
}

}  // namespace

absl::StatusOr<CommitTs> CommitOrder::Append(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                             absl::FunctionRef<void()> before_retry) {
  // A transaction without a snapshot has read nothing. It became a writer for its log alone, by a
  // call that failed.
  if (txn.reads() == nullptr || !txn.has_snapshot_ || LATCHKEY_CANARY("reads-not-validated")) {
    return Stamp(txn, at_commit, before_retry);
  }
  return ValidateAndStamp(txn, at_commit, before_retry);
}

void CommitOrder::Link(WriteRecord& record) {
  record.previous_commit = latest_commit_;
  latest_commit_ = &record;
}

CommitTs CommitOrder::Stamp(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                            absl::FunctionRef<void()> before_retry) {
  WriteRecord& record = *txn.record_;
  for (;; before_retry()) {
    const CommitTs ts = snapshots_.StampCommit(record.outcome, [&](CommitTs next) {
      if (!at_commit(next)) return false;
      Link(record);
      return true;
    });
    if (ts != 0) return ts;
  }
}

absl::StatusOr<CommitTs> CommitOrder::ValidateAndStamp(Txn& txn,
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
      Link(record);
      return true;
    });
    if (ts != 0) return ts;
    if (lacks_something) before_retry();
  }
  counters_.Here().refused.fetch_add(1, std::memory_order_relaxed);
  return ReadsHaveChanged();
}

bool CommitOrder::AreCurrent(const ReadSet& reads, WriteRecord* newest, CommitTs upto,
                             CommitTs from) {
  WriteRecord* record = newest;
  if (LATCHKEY_CANARY("validation-misses-the-first-commit")) ++from;
  for (CommitTs ts = upto; ts > from; --ts, record = record->previous_commit) {
    LATCHKEY_DCHECK(record->outcome.load(std::memory_order_relaxed) == ts);
    // Its keys are not all known, or so many that one may be among those read.
    if (record->spilled || record->changes_range) return false;
    for (const VersionEntry* entry = record->newest; entry != nullptr;
         entry = entry->next_of_writer) {
      if (!entry->lock_only && reads.Covers(entry->tree, entry->key(), entry->hash)) return false;
    }
  }
  return true;
}

}  // namespace latchkey
