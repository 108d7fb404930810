// EngineLog: the engine's side of the write-ahead log at run time. It appends records, and knows
// the transactions that have logged, the freed pages that are not in the store yet, and the moment
// when a commit is durable.
//
// With Durability::kNone there is no EngineLog: callers that would log hold a null pointer.
//
// EngineLog puts the parts together. Each part has one task, and its header says its invariants:
//
//   log_accounts          space that transactions and changes have reserved
//   active_transactions   transactions that have logged and have not ended
//   change_records        kChange, kCompensation
//   page_records          images, splits, allocations, frees, drops
//   first_images          the image of a page before its first change since a checkpoint
//   transaction_ends      kCommit, kEnd
//   commit_durability     when a commit is durable;  group_flusher: within a delay
//   deferred_frees        freed pages on their way to the store;  frees_under_way: before that
//   pending_chains        overflow chains that wait to be freed
//   checkpoint_records    the state of one instant of the log
//   log_health            whether anything can still be logged
//
// Invariants of them together
//  1. A record is appended while every page that it concerns is latched exclusively, and gives them
//     its LSN. The order of the records of a page is the order of its changes.
//  2. State that a checkpoint notes changes in the same instant as the log.
//  3. Its space is reserved before any latch is taken, with the space to undo it.
//
// Lock order: page latches or the latch that orders commits, then the log's latch, then the spin
// latches of the parts. Under page latches LogX may wait for the device if both halves of the log's
// buffer are full; under the latch that orders commits no call waits (TryLogCommit). No call here
// waits for a page, and the writer of the log needs no latch but the log's.
//
// Thread-safety: every actor may call every member at once, each LogTxn and LogSpace from its own
// actor.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/tree_log.h"
#include "engine/log/active_transactions.h"
#include "engine/log/change_records.h"
#include "engine/log/checkpoint_records.h"
#include "engine/log/commit_durability.h"
#include "engine/log/deferred_frees.h"
#include "engine/log/first_images.h"
#include "engine/log/frees_under_way.h"
#include "engine/log/group_flusher.h"
#include "engine/log/log_accounts.h"
#include "engine/log/log_health.h"
#include "engine/log/log_record.h"
#include "engine/log/log_txn.h"
#include "engine/log/page_records.h"
#include "engine/log/pending_chains.h"
#include "engine/log/transaction_ends.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/log.h"

namespace latchkey {

struct EngineLogOptions {
  /// True: Commit returns when the commit is durable. False: it is durable at most `group_delay`
  /// later.
  bool wait_for_commits = true;
  Nanos group_delay = 10 * kNanosPerMilli;
  uint32_t page_size = 4096;
  /// PageStore::WriteStatus of the pages' store: once it is read-only, nothing more is logged or
  /// acknowledged. nullptr = it never is.
  std::function<absl::Status()> page_status = nullptr;
  /// PageStore::RelyOnImages of a store that wants images; nullptr = no images are logged.
  std::function<void(bool)> rely_on_images = nullptr;
  /// Whether the log holds images of all pages that redo may change.
  bool redo_has_images = true;
  WaitLedger* waits = nullptr;  ///< where waits of commits for a sync are noted
};

class EngineLog final : public TreeLog, public WriteAheadLog, public FreedPages {
 public:
  using SupersededChain = PendingChains::Node;

  /// Starts over a log that is being written (Log::StartWriting). `return_page(id)` hands a page to
  /// the store (BufferPool::ReturnPageId).
  static std::unique_ptr<EngineLog> Start(Runtime& runtime, Log& log,
                                          std::function<void(PageId)> return_page,
                                          const EngineLogOptions& options);
  /// Stops the flusher and flushes nothing. REQUIRES: no LogTxn and no LogSpace in use.
  ~EngineLog() override;

  Log& log() { return log_; }
  /// Whether a page's first change after the newest checkpoint began logs an image of it.
  bool logs_images() const { return images_.are_logged(); }

  // ---- Transactions. REQUIRES: `txn.id()` is set before the first call.

  /// Reserves room for one change of a transaction, its compensation, and the end.
  /// ResourceExhausted: the log is full. Unavailable: it is poisoned. Takes few instructions if the
  /// transaction has enough room. REQUIRES: no latches held.
  absl::Status ReserveChange(LogTxn& txn) {
    if (__builtin_expect(accounts_.HasChange(txn) && !health_.failed(), 1)) return absl::OkStatus();
    return accounts_.ReserveChange(txn);
  }
  /// As ReserveChange, for one page of a value: allocation, image, and the free of both.
  absl::Status ReserveValuePage(LogTxn& txn) { return accounts_.ReserveValuePage(txn); }

  /// Logs a kChange. Sets the page's LSN. REQUIRES: `page` latched exclusively, not changed yet
  /// (views in `change` may point into it); ReserveChange.
  Lsn LogChange(LogTxn& txn, const RecordChange& change, std::byte* page) {
    return changes_.LogChange(txn, change, page);
  }
  /// Logs a kCompensation: one step of a rollback, here or in recovery. `change.now`: the record
  /// before the transaction's changes of it from `change.undone_from` on. `change.before`: the
  /// transaction's own value if that is an overflow chain, else kAbsent. REQUIRES: as LogChange.
  Lsn LogCompensation(LogTxn& txn, const RecordChange& change, std::byte* page) {
    return changes_.LogCompensation(txn, change, page);
  }
  /// Call it before a change of `page` that no record describes (its mark). Logs an image of no
  /// transaction, if one is due. REQUIRES: as LogChange.
  void LogMark(ExclusiveGuard& page) { images_.LogMark(page); }
  /// Logs a new page of a value, which is filled and latched: kAllocation, then its image.
  /// REQUIRES: ReserveValuePage.
  void LogValuePage(LogTxn& txn, ExclusiveGuard& page) { pages_.LogValuePage(txn, page); }
  /// Allocates the memory for NoteSuperseded, which itself must not fail.
  static SupersededChain PrepareSuperseded(OverflowChain chain) {
    return PendingChains::Prepare(chain);
  }
  /// Notes that a write of `txn` has replaced or deleted `chain`. Once `txn` has committed, the
  /// chain waits for its readers until LogFree names it.
  void NoteSuperseded(const LogTxn& txn, SupersededChain prepared) {
    chains_.Add(txn.id(), std::move(prepared));
  }
  /// Takes NoteSuperseded back: the write was undone.
  void ForgetSuperseded(OverflowChain chain) { chains_.Forget(chain); }

  /// Logs kCommit; no effect if the transaction has logged nothing. *lsn: for WaitOrPromiseDurable.
  /// Call it where the order of commits is fixed, before another transaction sees the commit. Never
  /// waits. False, with nothing changed: the log's buffer is full; call AwaitCommitBuffer without
  /// latches, then try again.
  [[nodiscard]] bool TryLogCommit(LogTxn& txn, Lsn* lsn) { return ends_.TryLogCommit(txn, lsn); }
  /// As TryLogCommit: logs a kBlindPut, the only record of its transaction, whose leaf has the LSN
  /// `put.page_lsn`. False, with nothing changed: also if the log has failed. REQUIRES:
  /// ReserveChange; the transaction has logged nothing; the leaf is latched; !logs_images().
  [[nodiscard]] bool TryLogBlindPut(LogTxn& txn, const RecordChange& put, Lsn* lsn) {
    return ends_.TryLogBlindPut(txn, put, lsn);
  }
  void AwaitCommitBuffer(size_t size = kEndRecordSize) { log_.AwaitBuffer(size); }
  /// Gives back the rest of the transaction's reservations. Call it after the transaction's end.
  void ReleaseSpace(LogTxn& txn) { accounts_.Release(txn); }
  /// Call it before a rollback, also to a savepoint. Moves the space for its splits to the account
  /// from which splits reserve.
  void BeginUndo(LogTxn& txn) { accounts_.BeginUndo(txn); }
  /// For a transaction that could not be rolled back completely: it stays active, so that the next
  /// open undoes it. The object can serve another transaction.
  void Abandon(LogTxn& txn) { ends_.Abandon(txn); }
  /// Logs kEnd: everything is restored. No effect if the transaction has logged nothing.
  void LogEnd(LogTxn& txn) { ends_.LogEnd(txn); }
  /// Call it after the end of a transaction whose commit was logged at `commit`. `durability`:
  /// nullopt = as the database's commits. kCommit: returns when the commit is durable. kGroup: returns
  /// at once, and the commit becomes durable within group_delay. kNone: returns at once.
  /// Unavailable: the log failed; the next open shows whether the commit survives.
  absl::Status WaitOrPromiseDurable(Lsn commit,
                                    std::optional<Durability> durability = std::nullopt) {
    return durability_.WaitOrPromiseDurable(commit, durability);
  }
  /// For changes outside transactions. If commits do not wait: everything logged so far becomes
  /// durable within group_delay, if the log has room. Otherwise no effect.
  void PromiseDurable() { durability_.PromiseDurable(); }
  /// Unavailable once the log is poisoned or pages cannot be written any more: nothing is
  /// acknowledged until the database is opened again. Changes nothing.
  absl::Status CheckWritable() const { return health_.CheckWritable(); }
  /// As CheckWritable. If pages cannot be written any more, fails the log too, so that nothing is
  /// logged that pages cannot follow. Call it before a change or a commit that must not be lost.
  absl::Status FailUnlessWritable() { return health_.FailUnlessWritable(); }

  // ---- Outside transactions

  /// Reserves room for one LogSystemChange. REQUIRES: no latches held.
  absl::Status ReserveSystemChange(LogSpace* space);
  /// Logs a kChange of transaction 0: redo-only. Sets the page's LSN. REQUIRES: as LogChange.
  Lsn LogSystemChange(LogSpace& space, const RecordChange& change, std::byte* page) {
    return changes_.LogSystemChange(space, change, page);
  }

  /// Logs a kFree of `pages`; if `chain` is set, they are the rest of that chain. `txn`: a
  /// transaction that frees its own pages (it reserved the space with them), or a drop; nullptr =
  /// outside transactions. Uses the space of `space` first (Reserve). Then the caller gives the
  /// pages to BufferPool::FreePageById.
  void LogFree(LogTxn* txn, LogSpace& space, PageId chain, std::span<const PageId> pages) {
    pages_.LogFree(txn, space, chain, pages);
  }
  /// LogImages for a transaction that gives back its own pages.
  void LogImages(LogTxn* txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> freed) {
    pages_.LogImages(txn, space, changed, freed);
  }

  /// LogImages whose record also ends `txn`: what it has allocated belongs to the changed pages from
  /// then on. Call ReleaseSpace afterwards.
  void LogLastImages(LogTxn& txn, LogSpace& space, std::span<ExclusiveGuard* const> changed) {
    pages_.LogLastImages(txn, space, changed);
  }
  /// Logs a kAllocation of pages that `txn` writes without logging them, so that they are freed if
  /// it does not end. Returns the record's LSN: it must be durable before one of the pages reaches
  /// the store. REQUIRES: `txn.id()` is set; no latches held. ResourceExhausted: the log is full.
  absl::StatusOr<Lsn> LogUnloggedPages(LogTxn& txn, std::span<const PageId> pages) {
    return pages_.LogUnloggedPages(txn, pages);
  }

  /// Logs a kDropTree, which begins a drop; LogEnd ends it. In between the tree's pages are freed,
  /// children before parents, so that recovery finds the rest from the root. REQUIRES: `drop.id()`
  /// is set.
  absl::Status LogDropTree(LogTxn& drop, TreeId tree, PageId root, std::string_view name) {
    return pages_.LogDropTree(drop, tree, root, name);
  }

  // ---- Range deletes (engine/range)

  /// Reserves room for TryLogDeleteRange and LogEnd. REQUIRES: `txn.id()` is set; no latches held.
  absl::Status ReserveDeleteRange(LogTxn& txn, const LoggedRange& range) {
    return accounts_.ReserveDeleteRange(txn, DeleteRangeRecordSize(range));
  }
  /// As TryLogCommit, for a range delete: logs kDeleteRange, which commits it. The transaction stays
  /// active until LogEnd. REQUIRES: ReserveDeleteRange.
  [[nodiscard]] bool TryLogDeleteRange(LogTxn& txn, const LoggedRange& range, Lsn* lsn) {
    return ends_.TryLogDeleteRange(txn, range, lsn);
  }
  /// LogImages of a range delete that takes subtrees out of the tree: their roots.
  void LogDetach(LogTxn& txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> detached) {
    pages_.LogDetach(txn, space, changed, detached);
  }
  /// Logs a kFreeSorted of pages of detached subtrees, children before or with their parents. Then
  /// the caller gives the pages to BufferPool::FreePageById. REQUIRES: `pages` ascend strictly.
  void LogFreeSorted(LogTxn& txn, LogSpace& space, std::span<const PageId> pages) {
    pages_.LogFreeSorted(txn, space, pages);
  }

  // TreeLog.
  absl::Status Reserve(size_t pages, bool must_not_fail, LogSpace* space) override;
  bool HasRoom(size_t pages) override { return accounts_.HasRoom(pages); }
  void LogImages(LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> freed) override {
    pages_.LogImages(nullptr, space, changed, freed);
  }
  void LogSplit(LogSpace& space, ExclusiveGuard& parent, ExclusiveGuard& page,
                ExclusiveGuard& right, std::string_view separator) override {
    pages_.LogSplit(space, parent, page, right, separator);
  }

  // FreedPages: a page goes to the store once everything logged before its Defer is durable.
  bool Defer(PageId page) override { return frees_.Defer(page); }
  bool ReturnAll() override { return deferred_frees() > 0 && FlushAll().ok(); }

  // WriteAheadLog.
  Lsn durable() const override { return log_.durable(); }
  absl::Status EnsureDurable(Lsn lsn) override { return durability_.EnsureDurable(lsn); }
  bool scarce() const override { return log_.scarce(); }

  // ---- For recovery and checkpoints

  /// Hands the pages whose frees are durable to the store. Cheap if there are none. No effect if
  /// another actor is doing so.
  void DrainFrees() { frees_.Drain(); }
  /// Makes everything logged so far durable, and hands all pages freed so far to the store. A
  /// checkpoint calls it after its snapshot and the writing of dirty pages, before
  /// PageStore::Checkpoint.
  absl::Status FlushAll() { return frees_.FlushAll(); }
  /// Number of frees that have not reached the store yet.
  size_t deferred_frees() const { return frees_.count(); }

  /// The state of one instant of the log, at which a checkpoint begins.
  CheckpointSnapshot Snapshot() { return checkpoints_.Snapshot(); }
  /// Logs a Snapshot as kCheckpoint records and returns it. The records lie at or above its
  /// `as_of`.
  absl::StatusOr<CheckpointSnapshot> LogCheckpoint(absl::FunctionRef<TxnId()> next_txn) {
    return checkpoints_.LogCheckpoint(next_txn);
  }

  /// The checkpoint that began at `as_of` is durable: the store may rely on images again.
  void EndCheckpoint(Lsn as_of) { images_.EndCheckpoint(as_of); }

  /// For recovery: continues a transaction that logged before the crash, to undo it (with
  /// LogCompensation, LogFree, LogEnd). `txn` is fresh. Reserves nothing.
  void Adopt(LogTxn& txn, TxnId id, Lsn first, Lsn last);
  /// For recovery, for an adopted transaction: room for one compensation of at most a leaf's
  /// record.
  absl::Status ReserveUndo(LogTxn& txn) { return accounts_.ReserveUndo(txn); }
  /// For recovery: a committed transaction superseded `chain`, and no record has freed it.
  void AddPendingChain(OverflowChain chain) { chains_.AddCommitted(chain); }

 private:
  EngineLog(Runtime& runtime, Log& log, std::function<void(PageId)> return_page,
            const EngineLogOptions& options);

  void Finish(LogSpace& space) override;

  Log& log_;
  LogHealth health_;
  LogAccounts accounts_;
  ActiveTransactions active_;
  PendingChains chains_;
  FreesUnderWay frees_under_way_;
  DeferredFrees frees_;
  FirstImages images_;
  ChangeRecords changes_;
  PageRecords pages_;
  CheckpointRecords checkpoints_;
  GroupFlusher flusher_;
  CommitDurability durability_;
  TransactionEnds ends_;
};

}  // namespace latchkey
