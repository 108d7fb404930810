// The engine's side of the write-ahead log at run time: appending records, the transactions that
// have logged, the freed pages that are not in the store yet, and the moment when a commit is
// durable.
//
// With Durability::kNone there is no EngineLog: callers that would log hold a null pointer.
//
// Invariants
//  1. A record is appended while every page that it concerns is latched exclusively, and gives them
//     its LSN. The order of the records of a page is the order of its changes.
//  2. The table of active transactions changes in the same instant as the log. So the state that
//     Snapshot sees fits its LSN.
//  3. A page reaches PageStore::FreePage only after the record of its free is durable.
//  4. Every change is logged with the space for its compensation reserved: no rollback runs out.
//  5. Commit records are in the order of commit timestamps.
//  6. If the store wants images, then either the log holds an image of each page from before its
//     first change behind a checkpoint's redo LSN, or the store has been told not to rely on that.
//     In the instant at which a checkpoint begins, images_from_ becomes next(). A page with a
//     smaller LSN then gets an image in the same instant of the log as its next change's record.
//
// Lock order: page latches or the latch that orders commits, then the log's latch, then the spin
// latches here. Under page latches LogX may wait for the device if both halves of the log's buffer
// are full; under the latch that orders commits no call waits (TryLogCommit). No call here waits
// for a page, and the writer of the log needs no latch but the log's.
//
// Thread-safety: every actor may call every member at once, each LogTxn and LogSpace from its own
// actor.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/tree_log.h"
#include "engine/log/log_record.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/log.h"

namespace latchkey {

/// One transaction's part of the log, from its first record to kCommit or kEnd; reusable
/// afterwards. Must not move while it is active.
class LogTxn {
 public:
  LogTxn() = default;
  LogTxn(const LogTxn&) = delete;
  LogTxn& operator=(const LogTxn&) = delete;

  /// Whether it has logged anything and has not ended.
  bool active() const { return first_ != Lsn{0}; }
  TxnId id() const { return id_; }
  Lsn first() const { return first_; }
  Lsn last() const { return last_; }
  /// Sets the id that its records carry, before the first record. No effect if the id is the same:
  /// a checkpoint may be reading it.
  void set_id(TxnId id) {
    if (id_ != id) id_ = id;
  }

 private:
  friend class EngineLog;

  TxnId id_{0};
  Lsn first_{0}, last_{0};
  uint64_t budget_ = 0;  // reserved for records to come
  uint64_t undo_ = 0;    // reserved for undoing what has been logged
  uint64_t growth_ = 0;  // reserved for the splits that its rollback may cause, until that begins
  uint64_t splits_ = 0;  // then growth_: bytes that page images must leave free for those splits
  LogTxn* newer_ = nullptr;
  LogTxn* older_ = nullptr;
};

/// The state that a checkpoint notes, all as of one LSN.
struct CheckpointSnapshot {
  Lsn as_of{0};
  /// Redo must begin here or earlier, for frees and drops that have not reached the store yet.
  /// Dirty pages are not counted. At most as_of.
  Lsn redo_from{0};
  std::vector<ActiveTransaction> transactions;  ///< by first LSN
  std::vector<OverflowChain> chains;            ///< superseded by committed transactions, not freed
};

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
};

/// An overflow chain that waits to be freed.
struct PendingChain {
  OverflowChain chain;
  TxnId by{0};  ///< the chain becomes pending when this one is not active any more
};

class EngineLog final : public TreeLog, public WriteAheadLog, public FreedPages {
 public:
  using SupersededChain = std::map<uint64_t, PendingChain>::node_type;

  /// Starts over a log that is being written (Log::StartWriting). `return_page(id)` hands a page to
  /// the store (BufferPool::ReturnPageId).
  static std::unique_ptr<EngineLog> Start(Runtime& runtime, Log& log,
                                          std::function<void(PageId)> return_page,
                                          const EngineLogOptions& options);
  /// Stops the flusher and flushes nothing. REQUIRES: no LogTxn and no LogSpace in use.
  ~EngineLog() override;

  Log& log() { return log_; }
  /// Whether a page's first change after the newest checkpoint began logs an image of it.
  bool logs_images() const { return image_space_ != 0; }

  // ---- Transactions. REQUIRES: `txn.id()` is set before the first call.

  /// Reserves room for one change of a transaction, its compensation, and the end.
  /// ResourceExhausted: the log is full. Unavailable: it is poisoned. Takes few instructions if the
  /// transaction has enough room. REQUIRES: no latches held.
  absl::Status ReserveChange(LogTxn& txn) {
    if (__builtin_expect(txn.budget_ >= change_space_ && !failed_.load(std::memory_order_relaxed),
                         1)) {
      return absl::OkStatus();
    }
    return ReserveMore(txn, change_space_);
  }
  /// As ReserveChange, for one page of a value: allocation, image, and the free of both.
  absl::Status ReserveValuePage(LogTxn& txn);

  /// kChange. Sets the page's LSN. REQUIRES: `page` latched exclusively, not changed yet (views in
  /// `change` may point into it); ReserveChange.
  Lsn LogChange(LogTxn& txn, const RecordChange& change, std::byte* page);
  /// Logs a kCompensation: one step of a rollback, here or in recovery. `change.now`: the record
  /// before the transaction's changes of it from `change.undone_from` on. `change.before`: the
  /// transaction's own value if that is an overflow chain, else kAbsent. REQUIRES: as LogChange.
  Lsn LogCompensation(LogTxn& txn, const RecordChange& change, std::byte* page);
  /// Call it before a change of `page` that no record describes (its mark). Logs an image of no
  /// transaction, if one is due. REQUIRES: as LogChange.
  void LogMark(ExclusiveGuard& page);
  /// Logs a new page of a value, which is filled and latched: kAllocation, then its image.
  /// REQUIRES: ReserveValuePage.
  void LogValuePage(LogTxn& txn, ExclusiveGuard& page);
  /// Allocates the memory for NoteSuperseded, which itself must not fail.
  static SupersededChain PrepareSuperseded(OverflowChain chain);
  /// Notes that a write of `txn` has replaced or deleted `chain`. Once `txn` has committed, the
  /// chain waits for its readers until LogFree names it.
  void NoteSuperseded(const LogTxn& txn, SupersededChain prepared);
  /// Takes NoteSuperseded back: the write was undone.
  void ForgetSuperseded(OverflowChain chain);

  /// Logs kCommit; no effect if the transaction has logged nothing. *lsn: for WaitDurable. Call it
  /// where the order of commits is fixed, before another transaction sees the commit. Never waits.
  /// False, with nothing changed: the log's buffer is full; call AwaitCommitBuffer without latches,
  /// then try again.
  [[nodiscard]] bool TryLogCommit(LogTxn& txn, Lsn* lsn);
  void AwaitCommitBuffer() { log_.AwaitBuffer(kEndRecordSize); }
  /// Gives back the rest of the transaction's reservations. Call it after the transaction's end.
  void ReleaseSpace(LogTxn& txn) {
    if (const uint64_t left = txn.budget_ + txn.undo_ + txn.growth_; left != 0) log_.Release(left);
    txn.budget_ = txn.undo_ = txn.growth_ = txn.splits_ = 0;
  }
  /// Call it before a rollback, also to a savepoint. Moves the space for its splits to the account
  /// from which splits reserve.
  void BeginUndo(LogTxn& txn) {
    txn.splits_ += txn.growth_;
    if (txn.growth_ != 0) log_.Release(std::exchange(txn.growth_, 0));
  }
  /// For a transaction that could not be rolled back completely: it stays active, so that the next
  /// open undoes it. The object can serve another transaction.
  void Abandon(LogTxn& txn);
  /// Logs kEnd: everything is restored. No effect if the transaction has logged nothing.
  void LogEnd(LogTxn& txn);
  /// Call it after the end of a transaction whose commit was logged at `lsn`. Waits if commits
  /// wait; otherwise makes sure that the commit becomes durable in time. Unavailable: the log
  /// failed; the next open shows whether the commit survives.
  absl::Status WaitDurable(Lsn lsn);
  /// For changes outside transactions. If commits do not wait: everything logged so far becomes
  /// durable within group_delay, if the log has room. Otherwise no effect.
  void PromiseDurable();
  /// Unavailable once the log is poisoned or pages cannot be written any more: nothing is
  /// acknowledged until the database is opened again.
  absl::Status CheckWritable() const;

  // ---- Outside transactions

  /// Reserves room for one LogSystemChange. REQUIRES: no latches held.
  absl::Status ReserveSystemChange(LogSpace* space);
  /// Logs a kChange of transaction 0: redo-only. Sets the page's LSN. REQUIRES: as LogChange.
  Lsn LogSystemChange(LogSpace& space, const RecordChange& change, std::byte* page);

  /// Logs a kFree of `pages`; if `chain` is set, they are the rest of that chain. `txn`: a
  /// transaction that frees its own pages (it reserved the space with them), or a drop; nullptr =
  /// outside transactions. Uses the space of `space` first (Reserve). Then the caller gives the
  /// pages to BufferPool::FreePageById.
  void LogFree(LogTxn* txn, LogSpace& space, PageId chain, std::span<const PageId> pages);
  /// LogImages for a transaction that gives back its own pages.
  void LogImages(LogTxn* txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> freed);

  /// Logs a kDropTree, which begins a drop; LogEnd ends it. In between the tree's pages are freed,
  /// children before parents, so that recovery finds the rest from the root. REQUIRES: `drop.id()`
  /// is set.
  absl::Status LogDropTree(LogTxn& drop, TreeId tree, PageId root, std::string_view name);

  // TreeLog.
  absl::Status Reserve(size_t pages, bool must_not_fail, LogSpace* space) override;
  void LogImages(LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> freed) override {
    LogImages(nullptr, space, changed, freed);
  }

  // FreedPages: a page goes to the store once everything logged before its Defer is durable.
  bool Defer(PageId page) override;
  bool ReturnAll() override;

  // WriteAheadLog.
  Lsn durable() const override { return log_.durable(); }
  absl::Status EnsureDurable(Lsn lsn) override;
  bool scarce() const override { return log_.scarce(); }

  // ---- For recovery and checkpoints

  /// Hands the pages whose frees are durable to the store. Cheap if there are none. No effect if
  /// another actor is doing so.
  void DrainFrees();
  /// Makes everything logged so far durable, and hands all pages freed so far to the store. A
  /// checkpoint calls it after its snapshot and the writing of dirty pages, before
  /// PageStore::Checkpoint.
  absl::Status FlushAll();
  /// Number of frees that have not reached the store yet.
  size_t deferred_frees() const { return deferred_count_.load(std::memory_order_relaxed); }

  /// The state of one instant of the log, at which a checkpoint begins.
  CheckpointSnapshot Snapshot();
  /// Logs a Snapshot as kCheckpoint records and returns it. The records lie at or above its
  /// `as_of`.
  absl::StatusOr<CheckpointSnapshot> LogCheckpoint(absl::FunctionRef<TxnId()> next_txn);

  /// The checkpoint that began at `as_of` is durable: the store may rely on images again.
  void EndCheckpoint(Lsn as_of);

  /// For recovery: continues a transaction that logged before the crash, to undo it (with
  /// LogCompensation, LogFree, LogEnd). `txn` is fresh. Reserves nothing.
  void Adopt(LogTxn& txn, TxnId id, Lsn first, Lsn last);
  /// For recovery, for an adopted transaction: room for one compensation of at most a leaf's
  /// record.
  absl::Status ReserveUndo(LogTxn& txn);
  /// For recovery: a committed transaction superseded `chain`, and no record has freed it.
  void AddPendingChain(OverflowChain chain);

 private:
  struct DeferredFree {
    Lsn lsn;  // durable() above it: the free may go to the store
    PageId page;
  };

  EngineLog(Runtime& runtime, Log& log, std::function<void(PageId)> return_page,
            const EngineLogOptions& options);

  absl::Status ReserveMore(LogTxn& txn, uint64_t need);
  /// Adds the bytes that it reserves to *account. If a rollback asks after the log failed: nothing,
  /// and OK.
  absl::Status ReserveBytes(uint64_t bytes, bool must_not_fail, uint64_t* account);
  absl::Status FlushFailed(absl::Status why);
  bool Spend(uint64_t& account, uint64_t bytes) const;
  bool SpendFree(LogTxn* txn, LogSpace& space, size_t record_size) const;
  Lsn KeepOffDevice(std::byte* page) const;
  void Finish(LogSpace& space) override;
  LogRecordHeader Enter(LogTxn* txn, LogRecordType type, Lsn lsn);
  void Leave(LogTxn& txn);
  void MarkSpace(LogSpace& space, Lsn lsn);
  Lsn AppendEncoded(LogTxn* txn, LogRecordType type, const ChangeEncoding& change, std::byte* page);
  /// *image_space: bytes set aside for an image that may be due; on return the rest of them.
  Lsn AppendChange(LogTxn* txn, LogRecordType type, const ChangeEncoding& change, PageId id,
                   std::byte* page, uint64_t* image_space);
  /// Whether the next change of `page` must log an image of it. Final only under the log's latch.
  bool IsImageDue(const std::byte* page) const;
  /// image_space_ if `page` is due an image and there is room for it and for `others` bytes; else
  /// 0.
  uint64_t TakeImageSpace(const std::byte* page, uint64_t others);
  /// Appends `record`, of a change of `page`, behind the page's image if one is due. *space: bytes
  /// set aside for the image, image_space_ or 0; on return the rest of them.
  Lsn AppendBehindImage(PageId id, std::byte* page, const Log::NewRecord& record, uint64_t* space);
  void EncodeFirstImage(const PageImage& image, std::byte* page, Lsn lsn, std::byte* to);
  /// Notes a page change for which the log had no room for the image due. REQUIRES: the log's
  /// latch.
  void GoOnWithoutImage();
  void LeaveUnlogged(LogTxn& txn);
  absl::Status Poisoned(absl::Status why);
  bool is_writable() const { return !failed_.load(std::memory_order_relaxed) && !log_.poisoned(); }
  absl::Status TryWaitDurable(Lsn lsn);
  void HandOver();
  void RequestFlush();
  void RunFlusher();
  void FlushWhenWanted();

  Runtime& runtime_;
  Log& log_;
  const std::function<void(PageId)> return_page_;
  const EngineLogOptions options_;
  const uint64_t image_space_;   // of the image before a change; 0 = no images are logged
  const uint64_t change_space_;  // of the largest change, its image, its compensation and the end
  const uint64_t end_space_;     // of the end and its group
  const uint64_t free_share_;    // reserved by each page of a value for its free
  const uint64_t page_space_;    // of a page of a value, its free and the end
  const uint64_t reserve_step_;  // few calls for many changes, little held by many transactions
  const absl::Status outcome_unknown_;  // allocated while there is memory
  mutable std::atomic<bool> failed_{false};

  SpinLatch abandoned_latch_;
  std::vector<std::unique_ptr<LogTxn>> abandoned_;

  // Guarded by the log's latch: changed inside Append, read inside Frozen.
  LogTxn* oldest_txn_ = nullptr;
  LogTxn* newest_txn_ = nullptr;
  // Pages with a smaller LSN are due an image; 0 = none are.
  std::atomic<uint64_t> images_from_{0};
  // Value of images_from_ at the newest page change that lacked the image due.
  uint64_t went_without_image_ = 0;

  SpinLatch space_latch_;  // LogSpaces with records: oldest first
  LogSpace* oldest_space_ = nullptr;
  LogSpace* newest_space_ = nullptr;

  SpinLatch pending_latch_;
  std::map<uint64_t, PendingChain> pending_;  // by first page

  Mutex hand_over_mutex_;  // held while frees go to the store
  SpinLatch free_latch_;
  std::deque<DeferredFree> deferred_;
  std::atomic<size_t> deferred_count_{0};

  // The flusher of group commit: group_flusher.cc.
  static constexpr uint32_t kFlusherIdle = 0, kFlusherWanted = 1, kFlusherStop = 2;
  std::atomic<uint64_t> last_commit_{0};   // written inside Append
  std::atomic<uint64_t> promised_{0};      // records below it must become durable like commits
  std::atomic<uint32_t> flush_wanted_{0};  // 0: idle, 1: wanted, 2: stop
  std::atomic<Nanos> wanted_since_{0};     // of the oldest request; written before flush_wanted_
  std::unique_ptr<Actor> flusher_;
};

}  // namespace latchkey
