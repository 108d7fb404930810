// The engine's side of the write-ahead log at run time: what is logged when, which transactions
// have logged, whose pages are on their way to the store, and when a commit is durable.
//
// With Durability::kNone there is no EngineLog: whoever would log holds a null pointer.
//
// Invariants
//  1. A record is appended while every page that it concerns is latched exclusively, and gives them
//     its LSN. The order of the records of a page is the order of its changes.
//  2. The table of active transactions changes in the same instant as the log: what Snapshot sees
//     fits its LSN.
//  3. A page reaches PageStore::FreePage only when the record of its free is durable.
//  4. Every change is logged with the space for its compensation reserved: no rollback runs out.
//  5. Commit records are in the order of commit timestamps.
//  6. Where the store wants images the log holds one of each page before its first change behind a
//     checkpoint's redo LSN, or the store has been told not to rely on that: images_from_ becomes
//     next() in the instant that a checkpoint begins at, and a page with a smaller LSN is due an
//     image, in the same instant of the log as the record of its next change.
//
// Lock order: page latches or the latch that orders commits, then the log's latch, then the spin
// latches here. Under page latches LogX may wait for the device, when both halves of the log's
// buffer are full; under the latch that orders commits nothing does (TryLogCommit). Nothing here
// waits for a page, and whoever writes the log wants no latch but the log's.
//
// Thread-safety: all members from every actor at once, each LogTxn and LogSpace by its own actor.
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
/// afterwards. Its address stays the same while it is active.
class LogTxn {
 public:
  LogTxn() = default;
  LogTxn(const LogTxn&) = delete;
  LogTxn& operator=(const LogTxn&) = delete;

  /// Whether it has logged anything that has not ended.
  bool active() const { return first_ != Lsn{0}; }
  TxnId id() const { return id_; }
  Lsn first() const { return first_; }
  Lsn last() const { return last_; }
  /// Before the first record: the id that its records carry. Again with the same id: nothing, for a
  /// checkpoint may be reading it.
  void set_id(TxnId id) {
    if (id_ != id) id_ = id;
  }

 private:
  friend class EngineLog;

  TxnId id_{0};
  Lsn first_{0}, last_{0};
  uint64_t budget_ = 0;  // reserved for records to come
  uint64_t undo_ = 0;    // reserved for undoing what has been logged
  uint64_t growth_ = 0;  // reserved for the splits that undoing may take, until undoing begins
  uint64_t splits_ = 0;  // was growth_: what images of pages that undoing changes leave free
  LogTxn* newer_ = nullptr;
  LogTxn* older_ = nullptr;
};

/// What a checkpoint notes, all as of one LSN.
struct CheckpointSnapshot {
  Lsn as_of{0};
  /// Redo has to begin here at the latest for what is not in the store yet besides dirty pages:
  /// frees and drops under way. At most as_of.
  Lsn redo_from{0};
  std::vector<ActiveTransaction> transactions;  ///< by first LSN
  std::vector<OverflowChain> chains;            ///< superseded by committed transactions, not freed
};

struct EngineLogOptions {
  /// Commits return when they are durable; else they are durable after `group_delay` at most.
  bool wait_for_commits = true;
  Nanos group_delay = 10 * kNanosPerMilli;
  uint32_t page_size = 4096;
  /// What the store of the pages says of writing (PageStore::WriteStatus): once it is read-only
  /// nothing more is logged or acknowledged. nullptr: never.
  std::function<absl::Status()> page_status = nullptr;
  /// PageStore::RelyOnImages of a store that wants images; nullptr: none are logged.
  std::function<void(bool)> rely_on_images = nullptr;
  /// Whether the log holds images of all pages that redo may change.
  bool redo_has_images = true;
};

/// An overflow chain that waits to be freed.
struct PendingChain {
  OverflowChain chain;
  TxnId by{0};  ///< while it is active the chain is not pending
};

class EngineLog final : public TreeLog, public WriteAheadLog, public FreedPages {
 public:
  using SupersededChain = std::map<uint64_t, PendingChain>::node_type;

  /// Over a log that is being written (Log::StartWriting). `return_page(id)` hands a page to the
  /// store (BufferPool::ReturnPageId).
  static std::unique_ptr<EngineLog> Start(Runtime& runtime, Log& log,
                                          std::function<void(PageId)> return_page,
                                          const EngineLogOptions& options);
  /// Stops the flusher; flushes nothing. REQUIRES: no LogTxn and no LogSpace in use.
  ~EngineLog() override;

  Log& log() { return log_; }
  /// Whether a page's first change since the newest checkpoint began logs an image of it.
  bool logs_images() const { return image_space_ != 0; }

  // ---- Transactions. `txn.id()` is set before the first call.

  /// Makes room for one change of a transaction, its compensation, and the end. ResourceExhausted:
  /// the log is full; Unavailable: poisoned. Few instructions when the transaction has enough.
  /// REQUIRES: no latches held.
  absl::Status ReserveChange(LogTxn& txn) {
    if (__builtin_expect(txn.budget_ >= change_space_ && !failed_.load(std::memory_order_relaxed),
                         1)) {
      return absl::OkStatus();
    }
    return ReserveMore(txn, change_space_);
  }
  /// As ReserveChange, for a page of a value: allocation, image, and the free of both.
  absl::Status ReserveValuePage(LogTxn& txn);

  /// kChange. Sets the page's LSN. REQUIRES: `page` latched exclusively, not changed yet (views in
  /// `change` may point into it); ReserveChange.
  Lsn LogChange(LogTxn& txn, const RecordChange& change, std::byte* page);
  /// kCompensation: a step of a rollback, here or in recovery: `change.now` is what the record was
  /// before the transaction's changes of it from `change.undone_from` on. `change.before`: what the
  /// transaction's own value was if that is an overflow chain, else kAbsent. REQUIRES: as
  /// LogChange.
  Lsn LogCompensation(LogTxn& txn, const RecordChange& change, std::byte* page);
  /// Before a change of `page` that no record tells of (its mark of the last writer): its image, of
  /// no transaction, if one is due. REQUIRES: as LogChange.
  void LogMark(ExclusiveGuard& page);
  /// A new page of a value, filled and latched: kAllocation, then its image. REQUIRES:
  /// ReserveValuePage.
  void LogValuePage(LogTxn& txn, ExclusiveGuard& page);
  /// The memory for NoteSuperseded, which is too late to ask for any.
  static SupersededChain PrepareSuperseded(OverflowChain chain);
  /// `chain` was replaced or deleted by a write of `txn`: once that has committed it waits for its
  /// readers, until LogFree names it.
  void NoteSuperseded(const LogTxn& txn, SupersededChain prepared);
  /// The write was undone.
  void ForgetSuperseded(OverflowChain chain);

  /// kCommit; nothing when nothing was logged. *lsn: what WaitDurable wants. To be called where the
  /// order of commits is fixed, and before anybody sees the commit. Never waits: false, with
  /// nothing changed, when the log's buffer is full; call AwaitCommitBuffer, with no latches, and
  /// try again.
  [[nodiscard]] bool TryLogCommit(LogTxn& txn, Lsn* lsn);
  void AwaitCommitBuffer() { log_.AwaitBuffer(kEndRecordSize); }
  /// Gives back what is left of the transaction's reservations. To be called after its end.
  void ReleaseSpace(LogTxn& txn) {
    if (const uint64_t left = txn.budget_ + txn.undo_ + txn.growth_; left != 0) log_.Release(left);
    txn.budget_ = txn.undo_ = txn.growth_ = txn.splits_ = 0;
  }
  /// Before a rollback, also one to a savepoint: what is set aside for its splits goes to where
  /// they reserve from.
  void BeginUndo(LogTxn& txn) {
    txn.splits_ += txn.growth_;
    if (txn.growth_ != 0) log_.Release(std::exchange(txn.growth_, 0));
  }
  /// `txn` could not be rolled back completely: it stays active, so that the next open undoes it.
  /// The object is free for another transaction.
  void Abandon(LogTxn& txn);
  /// kEnd: everything is restored. Nothing when nothing was logged.
  void LogEnd(LogTxn& txn);
  /// After the end of a transaction whose commit was logged at `lsn`: waits if commits do, else
  /// sees to it that it becomes durable in time. Unavailable: the log failed, whether the commit
  /// survives is known at the next open.
  absl::Status WaitDurable(Lsn lsn);
  /// When commits do not wait: what has been logged so far becomes durable within group_delay, if
  /// the log has room for it; for changes outside transactions. Else nothing.
  void PromiseDurable();
  /// Unavailable once the log is poisoned or the pages cannot be written any more: nothing is
  /// acknowledged until the database is opened again.
  absl::Status CheckWritable() const;

  // ---- Outside transactions

  /// Reserves for one LogSystemChange. REQUIRES: no latches held.
  absl::Status ReserveSystemChange(LogSpace* space);
  /// kChange of transaction 0: redo-only. Sets the page's LSN. REQUIRES: as LogChange.
  Lsn LogSystemChange(LogSpace& space, const RecordChange& change, std::byte* page);

  /// kFree: `pages`, the last of `chain` if that is one. `txn`: of a transaction that frees pages
  /// of its own (then the space was reserved with them), or of a drop; nullptr: outside. Space:
  /// that of `space` first (Reserve). The pages then go to BufferPool::FreePageById.
  void LogFree(LogTxn* txn, LogSpace& space, PageId chain, std::span<const PageId> pages);
  /// LogImages on behalf of a transaction that gives back pages of its own.
  void LogImages(LogTxn* txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> freed);

  /// kDropTree: begins a drop, which LogEnd ends. In between the tree's pages go, children before
  /// parents, so that recovery finds what is left from the root. `drop.id()` is set.
  absl::Status LogDropTree(LogTxn& drop, TreeId tree, PageId root, std::string_view name);

  // TreeLog.
  absl::Status Reserve(size_t pages, bool must_not_fail, LogSpace* space) override;
  void LogImages(LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> freed) override {
    LogImages(nullptr, space, changed, freed);
  }

  // FreedPages: pages go to the store once everything logged before Defer is durable.
  bool Defer(PageId page) override;
  bool ReturnAll() override;

  // WriteAheadLog.
  Lsn durable() const override { return log_.durable(); }
  absl::Status EnsureDurable(Lsn lsn) override;
  bool scarce() const override { return log_.scarce(); }

  // ---- For recovery and checkpoints

  /// Hands those pages to the store whose frees are durable. Cheap when there are none; leaves them
  /// to whoever is doing so already.
  void DrainFrees();
  /// Makes everything logged so far durable, and hands all pages freed so far to the store. A
  /// checkpoint calls it after its snapshot and the writing of dirty pages, before
  /// PageStore::Checkpoint.
  absl::Status FlushAll();
  /// Frees that have not reached the store yet.
  size_t deferred_frees() const { return deferred_count_.load(std::memory_order_relaxed); }

  /// The state of one instant of the log, at which a checkpoint begins.
  CheckpointSnapshot Snapshot();
  /// Snapshot as kCheckpoint records. Returns it; the records lie at or above its `as_of`.
  absl::StatusOr<CheckpointSnapshot> LogCheckpoint(absl::FunctionRef<TxnId()> next_txn);

  /// The checkpoint that began at `as_of` is durable: the store may rely on images again.
  void EndCheckpoint(Lsn as_of);

  /// Recovery: a transaction that logged before the crash continues, to be undone (its records get
  /// LogCompensation, LogFree, LogEnd). `txn` is fresh. Reserves nothing.
  void Adopt(LogTxn& txn, TxnId id, Lsn first, Lsn last);
  /// Recovery, for an adopted transaction: room for one compensation of at most a leaf's record.
  absl::Status ReserveUndo(LogTxn& txn);
  /// Recovery: a committed transaction superseded `chain`, and nothing has freed it.
  void AddPendingChain(OverflowChain chain);

 private:
  struct DeferredFree {
    Lsn lsn;  // durable() above it: the free may go to the store
    PageId page;
  };

  EngineLog(Runtime& runtime, Log& log, std::function<void(PageId)> return_page,
            const EngineLogOptions& options);

  absl::Status ReserveMore(LogTxn& txn, uint64_t need);
  /// Adds what it reserves to *account: nothing, and OK, when a rollback asks after the log failed.
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
  /// *image_space is set aside for the image that may be due; what is left of it on return.
  Lsn AppendChange(LogTxn* txn, LogRecordType type, const ChangeEncoding& change, PageId id,
                   std::byte* page, uint64_t* image_space);
  /// Whether the next change of `page` is to log an image of it. Final under the log's latch only.
  bool IsImageDue(const std::byte* page) const;
  /// image_space_ if `page` is due an image and there is room for it now and for `others` bytes,
  /// else 0.
  uint64_t TakeImageSpace(const std::byte* page, uint64_t others);
  /// Appends `record`, of a change of `page`, behind the image if that is due. *space is set aside
  /// for it: image_space_ or 0; what is left of that on return.
  Lsn AppendBehindImage(PageId id, std::byte* page, const Log::NewRecord& record, uint64_t* space);
  void EncodeFirstImage(const PageImage& image, std::byte* page, Lsn lsn, std::byte* to);
  /// A page is changed for which there was no room for the image that is due. REQUIRES: the log's
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
  const uint64_t image_space_;   // of the image before a change; 0: none are logged
  const uint64_t change_space_;  // of the largest change, its image, its compensation and the end
  const uint64_t end_space_;     // of the end and its group
  const uint64_t free_share_;    // what each page of a value sets aside for its free
  const uint64_t page_space_;    // of a page of a value, the free of it and the end
  const uint64_t reserve_step_;  // few calls for many changes, little held by many transactions
  const absl::Status outcome_unknown_;  // made before memory runs out
  mutable std::atomic<bool> failed_{false};

  SpinLatch abandoned_latch_;
  std::vector<std::unique_ptr<LogTxn>> abandoned_;

  // Guarded by the log's latch: changed inside Append, read inside Frozen.
  LogTxn* oldest_txn_ = nullptr;
  LogTxn* newest_txn_ = nullptr;
  // Pages with a smaller LSN are due an image; 0: none are.
  std::atomic<uint64_t> images_from_{0};
  // What images_from_ was when a page was last changed without the image that was due.
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
  std::atomic<uint64_t> promised_{0};      // below it: as commits
  std::atomic<uint32_t> flush_wanted_{0};  // 0: idle, 1: wanted, 2: stop
  std::atomic<Nanos> wanted_since_{0};     // of the oldest request; written before flush_wanted_
  std::unique_ptr<Actor> flusher_;
};

}  // namespace latchkey
