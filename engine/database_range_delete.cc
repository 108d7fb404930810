// Range deletes: from the call to the last freed page, at run time and in recovery.
// engine/range/README.md says how they work.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/range/range_removal.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr auto kNoPage = [](PageId) { return false; };

LoggedRange Logged(const RangeDelete& entered) {
  LoggedRange range{.tree = entered.tree.id, .from = std::nullopt, .to = std::nullopt};
  if (entered.range.from) range.from = *entered.range.from;
  if (entered.range.to) range.to = *entered.range.to;
  return range;
}

absl::Status StillRead() {
  return absl::FailedPreconditionError("a snapshot still needs the records of a deleted range");
}

}  // namespace

absl::Status DatabaseImpl::DeleteRange(TreeImpl& tree, KeyRange range) {
  if (range.from) LATCHKEY_RETURN_IF_ERROR(TransactionImpl::CheckKey(*range.from));
  if (range.to) LATCHKEY_RETURN_IF_ERROR(TransactionImpl::CheckKey(*range.to));
  if (range.from && range.to && *range.to <= *range.from) {
    if (*range.to == *range.from) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "the range ends before it begins: KeyRange::from must not be above KeyRange::to");
  }
  LATCHKEY_RETURN_IF_ERROR(engine_log_ != nullptr ? engine_log_->FailUnlessWritable()
                                                  : store_->WriteStatus());
  auto entered = std::make_shared<RangeDelete>(tree, std::move(range));
  LATCHKEY_RETURN_IF_ERROR(ranges_->Enter(entered));
  Lsn commit{0};
  Committed done;
  const absl::Status committed = CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(AwaitWriters(*entered));
    const TreeHold hold(tree);
    if (tree.is_dropped()) return tree.Dropped();
    return CommitRange(*entered, &commit, &done);
  });
  if (!committed.ok()) {
    ranges_->Leave(*entered);
    return committed;
  }
  absl::Status acknowledged;
  if (engine_log_ != nullptr) acknowledged = engine_log_->WaitOrPromiseDurable(commit);
  versions_->CollectAfter(done);
  if (acknowledged.ok()) TryFinishRanges();
  return acknowledged;
}

absl::Status DatabaseImpl::AwaitWriters(RangeDelete& entered) {
  const Nanos deadline = versions_->WaitDeadline();
  constexpr Nanos kLongestPause = kNanosPerMilli;
  for (Nanos pause = 20 * kNanosPerMicro; !ranges_->WritersAreGone(entered);
       pause = std::min(2 * pause, kLongestPause)) {
    if (entered.tree.is_dropped()) return entered.tree.Dropped();
    if (runtime_.Now() >= deadline) {
      return MakeStatus(
          absl::StatusCode::kAborted,
          "a transaction that has written in the tree \"{}\" has not ended for {} ms: "
          "end it, then delete the range again, or raise Options::lock_wait_ms",
          entered.tree.name(), options_.lock_wait_ms);
    }
    runtime_.SleepFor(pause);
  }
  return absl::OkStatus();
}

// One log record is the commit. After an error nothing has happened.
absl::Status DatabaseImpl::CommitRange(RangeDelete& entered, Lsn* commit, Committed* done) {
  const LoggedRange logged = Logged(entered);
  Txn txn;
  LATCHKEY_RETURN_IF_ERROR(snapshots_->Begin(txn));
  {
    const OnException end([&] { snapshots_->End(txn); });
    versions_->EnsureRangeWriter(txn);
  }
  entered.id = txn.id();
  entered.log_txn.set_id(txn.id());
  EngineLog* const log = engine_log_.get();
  if (log != nullptr) {
    const absl::Status reserved = log->ReserveDeleteRange(entered.log_txn, logged);
    if (!reserved.ok()) {
      versions_->Commit(txn);  // it has changed nothing
      log->LogEnd(entered.log_txn);
      return reserved;
    }
  }
  const auto at_commit = [&](CommitTs ts) {
    if (log != nullptr && !log->TryLogDeleteRange(entered.log_txn, logged, commit)) return false;
    RangeDeletes::Hide(entered, ts);
    return true;
  };
  absl::StatusOr<Committed> committed = versions_->TryCommit(
      txn, at_commit, [&] { log->AwaitCommitBuffer(DeleteRangeRecordSize(logged)); });
  LATCHKEY_CHECK(committed.ok());  // only serializable transactions are refused
  *done = *std::move(committed);
  return absl::OkStatus();
}

absl::Status DatabaseImpl::FinishRanges() {
  MutexLock lock(ranges_mutex_);
  while (const std::shared_ptr<RangeDelete> oldest = ranges_->Oldest()) {
    snapshots_->RefreshBoundsNow();
    if (snapshots_->oldest_snapshot() < oldest->commit_ts.load()) {
      return StillRead();
    }
    LATCHKEY_RETURN_IF_ERROR(FinishOldestRange(*oldest));
  }
  return absl::OkStatus();
}

absl::Status DatabaseImpl::FinishOldestRange(RangeDelete& oldest) {
  {
    const TreeHold hold(oldest.tree);
    RangeRemoval removal({.pool = *pool_,
                          .overflow = *overflow_,
                          .log = engine_log_.get(),
                          .leaves_may_name_chains = oldest.tree.btree.may_name_chains()},
                         oldest.range, oldest.id, oldest.log_txn, oldest.progress,
                         /*must_not_fail=*/false, kNoPage, kNoPage);
    const bool is_dropped = oldest.tree.is_dropped();
    // A drop that is under way may still fail, and the tree would stay.
    if (is_dropped && catalog_->FindTree(oldest.tree.id) != nullptr) return oldest.tree.Dropped();
    LATCHKEY_RETURN_IF_ERROR(removal.Run(is_dropped ? nullptr : &oldest.tree.btree));
  }
  if (engine_log_ != nullptr) engine_log_->LogEnd(oldest.log_txn);
  ranges_->Leave(oldest);
  return absl::OkStatus();
}

void DatabaseImpl::TryFinishRanges() {
  const absl::Status finished = CatchOutOfMemory([this] { return FinishRanges(); });
  if (finished.ok() || absl::IsFailedPrecondition(finished)) return;
  CatchOutOfMemory([&] {
    LogTo(
        log_sink_, LogLevel::kWarning,
        "the pages of a deleted range could not be freed yet: " + std::string(finished.message()));
    return absl::OkStatus();
  }).IgnoreError();
}

// The next open finishes them.
void DatabaseImpl::AbandonRanges() {
  if (ranges_ == nullptr) return;
  while (const std::shared_ptr<RangeDelete> oldest = ranges_->Oldest()) {
    if (engine_log_ != nullptr) {
      engine_log_->ReleaseSpace(oldest->log_txn);
      engine_log_->Abandon(oldest->log_txn);
    }
    ranges_->Leave(*oldest);
  }
}

absl::Status DatabaseImpl::FinishRangeDelete(const LogAnalysis& analysis,
                                             const LogAnalysis::RangeDelete& range_delete) {
  LogTxn txn;
  engine_log_->Adopt(txn, range_delete.id, range_delete.first, range_delete.last);
  const KeyRange range{.from = range_delete.from, .to = range_delete.to};
  // A drop that began has freed some pages of the tree. It frees the others, too.
  const std::vector<LogAnalysis::Drop> drops = analysis.UnfinishedDrops();
  const bool is_dropped = std::any_of(
      drops.begin(), drops.end(), [&](const auto& drop) { return drop.tree == range_delete.tree; });
  TreeImpl* const tree = is_dropped ? nullptr : catalog_->FindTree(range_delete.tree);
  const RangeRemoval::Parts parts{
      .pool = *pool_,
      .overflow = *overflow_,
      .log = engine_log_.get(),
      .leaves_may_name_chains = tree == nullptr || tree->btree.may_name_chains()};
  absl::Status status;
  const auto remove = [&](RangeProgress progress, BTree* from,
                          absl::FunctionRef<bool(PageId)> page_is_gone) {
    const auto chain_is_gone = [&](PageId page) {
      return analysis.IsFreedAfter(page, range_delete.first);
    };
    return RangeRemoval(parts, range, range_delete.id, txn, progress, /*must_not_fail=*/true,
                        page_is_gone, chain_is_gone)
        .Run(from);
  };
  // Subtrees first, each with the record that detached it: its pages freed since then are gone.
  for (const auto& [root, detached_at] : range_delete.detached) {
    if (!status.ok()) break;
    status = remove(
        {.detached = {root}, .freed = {}, .freed_chains = {}}, nullptr,
        [&, since = detached_at](PageId page) { return analysis.IsFreedAfter(page, since); });
  }
  if (status.ok() && tree != nullptr) status = remove({}, &tree->btree, kNoPage);
  if (status.ok()) status = engine_log_->ReserveUndo(txn);  // for the end record
  if (status.ok()) {
    engine_log_->LogEnd(txn);
  } else {
    engine_log_->Abandon(txn);
  }
  return status;
}

}  // namespace latchkey
