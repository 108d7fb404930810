#include "engine/txn/committer.h"

#include <utility>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<Committed> Committer::TryCommit(Txn& txn,
                                               absl::FunctionRef<bool(CommitTs)> at_commit,
                                               absl::FunctionRef<void()> before_retry) {
  LATCHKEY_CHECK(txn.active());
  WaitGraph::Returned(txn);
  const uint32_t queue = runtime_.ActorIndex() % FinishedQueues::kQueues;
  if (txn.record_ == nullptr) {
    // It saw the state at its snapshot, so that is its place in the serial order.
    budget_.ReleaseReads(txn);
    EndReader(txn, queue);
    return Committed{};
  }
  LATCHKEY_ASSIGN_OR_RETURN(const CommitTs ts, order_.Append(txn, at_commit, before_retry));
  Committed done{ts, txn.record_->entries, std::move(txn.savepoints_)};
  EndWriter(txn, ts, queue);
  return done;
}

void Committer::EndReader(Txn& txn, uint32_t queue) {
  // The transaction that held garbage back finds out at once that it may be dropped.
  const bool was_oldest =
      txn.has_snapshot_ && txn.snapshot_.read_ts <= snapshots_.oldest_snapshot();
  snapshots_.End(txn);
  counters_.of(queue).commits.fetch_add(1, std::memory_order_relaxed);
  const bool holds_back =
      !finished_.empty(queue) || !settling_.empty(queue) || !settled_.empty() || spiller_.HasAny();
  if (was_oldest && holds_back) snapshots_.RefreshBounds();
}

void Committer::EndWriter(Txn& txn, CommitTs ts, uint32_t queue) {
  WriteRecord& record = *txn.record_;
  if (record.spilled) spiller_.Commit(record, ts);
  budget_.ReleaseReads(txn);
  snapshots_.End(txn);
  waits_.WakeWaiters(record);
  counters_.Report(record);
  counters_.of(queue).commits.fetch_add(1, std::memory_order_relaxed);
  finished_.Push(queue, &record);
  snapshots_.MaybeRefreshBounds();
}

}  // namespace latchkey
