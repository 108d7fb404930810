// LogAccounts: the log space that transactions and structure changes have reserved, and its use.
//
// A transaction (LogTxn) has three accounts: `budget` for records to come, `undo` for undoing what
// it has logged, and `growth` for the splits that its rollback may cause. A LogSpace has one.
//
// Invariants
//  1. Every change is logged with the space for its compensation reserved: no rollback runs out.
//  2. The sum of all accounts is what the log counts as reserved. So a record is paid for before it
//     is appended, and appending never lacks space.
//  3. An account lacks bytes only if the log has failed. Its owner then appends nothing.
//
// Thread-safety: every actor may call every member at once, each LogTxn and LogSpace from its own
// actor. Functions that reserve may wait: REQUIRES no latches held.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/tree_log.h"
#include "engine/log/log_health.h"
#include "engine/log/log_record.h"
#include "engine/log/log_txn.h"
#include "storage/base/check.h"
#include "storage/wal/log.h"

namespace latchkey {

class LogAccounts {
 public:
  /// `logs_images`: each change may need an image of its page.
  LogAccounts(Log& log, LogHealth& health, uint32_t page_size, bool logs_images);

  /// Log space of the image before a change; 0 = no images are logged.
  uint64_t image_space() const { return image_space_; }

  // ---- Reserving. ResourceExhausted: the log is full. Unavailable: it is poisoned.

  /// Whether there is room for one more change, its compensation, and the end.
  bool HasChange(const LogTxn& txn) const { return txn.budget_ >= change_space_; }
  absl::Status ReserveChange(LogTxn& txn) { return ReserveMore(txn, change_space_); }
  /// For one page of a value: allocation, image, and the free of both.
  absl::Status ReserveValuePage(LogTxn& txn) { return ReserveMore(txn, page_space_); }
  /// For a record of `size` bytes, and the end.
  absl::Status ReserveRecord(LogTxn& txn, size_t size) {
    return ReserveMore(txn, log_.RecordSpace(size) + end_space_);
  }
  /// For a kDeleteRange of `size` bytes with its group, and the end.
  absl::Status ReserveDeleteRange(LogTxn& txn, size_t size) {
    return ReserveMore(txn, log_.RecordSpace(size) + 2 * end_space_);
  }
  /// For one compensation of at most a leaf's record, in recovery.
  absl::Status ReserveUndo(LogTxn& txn);
  /// For one record of `pages` whole images and as many freed ids. `must_not_fail`: if a rollback
  /// asks after the log failed, reserves nothing and returns OK.
  absl::Status ReserveImages(LogSpace& space, size_t pages, bool must_not_fail);
  /// Whether ReserveImages would get that room now, without waiting for it.
  bool HasRoom(size_t pages);
  /// For one change outside transactions.
  absl::Status ReserveSystemChange(LogSpace& space) {
    return ReserveBytes(change_space_, /*must_not_fail=*/false, &space.bytes_);
  }

  // ---- Spending, as the log takes bytes from its reservations. False: the log has failed, and
  // nothing was reserved.

  /// For a record of `size` bytes that logs `change`, and an image: from the budget. Moves what
  /// undoing the change takes to the accounts of the rollback.
  bool SpendChange(LogTxn& txn, const RecordChange& change, size_t size) {
    const size_t before = change.before_bytes.size(), now = change.now_bytes.size();
    const uint64_t undo =
        log_.RecordSpace(kLogCompensationOverhead + change.key.size() +
                         std::max(before, kOverflowReferenceSize) + kOverflowReferenceSize);
    const uint64_t growth = kSplitBytesPerByte * (std::max(before, now) - now);
    if (!Spend(txn.budget_, log_.RecordSpace(size) + image_space_ + undo + growth)) return false;
    txn.undo_ += undo;
    txn.growth_ += growth;
    return true;
  }
  /// For a compensation of `size` bytes.
  bool SpendUndo(LogTxn& txn, size_t size) const {
    return Spend(txn.undo_, log_.RecordSpace(size));
  }
  /// For a change of `size` bytes outside transactions, and an image.
  bool SpendSystemChange(LogSpace& space, size_t size) const {
    return Spend(space.bytes_, log_.RecordSpace(size) + image_space_);
  }
  /// For the records of one page of a value. Moves the space for its free to the undo account.
  bool SpendValuePage(LogTxn& txn, uint64_t bytes) const;
  /// For a record of `size` bytes in the budget.
  bool SpendRecord(LogTxn& txn, size_t size) const {
    return Spend(txn.budget_, log_.RecordSpace(size));
  }
  /// For a record of `size` bytes that frees pages: from `space`, or else from what `txn` reserved
  /// together with the pages. `txn` may be nullptr.
  bool SpendFree(LogTxn* txn, LogSpace& space, size_t size) const;
  /// For a record of `size` bytes that commits (kDeleteRange, kBlindPut), and its group.
  bool SpendCommitOf(LogTxn& txn, size_t size) const {
    return Spend(txn.budget_, log_.RecordSpace(size) + log_.PaidGroupSpace());
  }
  void TakeBackCommitOf(LogTxn& txn, size_t size) const {
    txn.budget_ += log_.RecordSpace(size) + log_.PaidGroupSpace();
  }
  /// For a commit and its group.
  bool SpendCommit(LogTxn& txn) const { return Spend(txn.budget_, end_space_); }
  void TakeBackCommit(LogTxn& txn) const { txn.budget_ += end_space_; }
  /// For a kEnd.
  bool SpendEnd(LogTxn& txn) const;
  /// Gives back what an image that was not due had taken.
  void ReturnImage(LogTxn& txn, uint64_t bytes) const { txn.budget_ += bytes; }
  void ReturnImage(LogSpace& space, uint64_t bytes) const { space.bytes_ += bytes; }

  // ---- Ends

  /// Gives back the rest of the reservations.
  void Release(LogTxn& txn) {
    if (const uint64_t left = txn.budget_ + txn.undo_ + txn.growth_; left != 0) log_.Release(left);
    txn.budget_ = txn.undo_ = txn.growth_ = txn.splits_ = 0;
  }
  void Release(LogSpace& space) {
    if (space.bytes_ != 0) log_.Release(std::exchange(space.bytes_, 0));
  }
  /// A rollback begins: moves the space for its splits to the account from which splits reserve.
  void BeginUndo(LogTxn& txn) {
    txn.splits_ += txn.growth_;
    if (txn.growth_ != 0) log_.Release(std::exchange(txn.growth_, 0));
  }
  /// The same for a transaction that logged before a crash: its splits may need more than any log
  /// has room for.
  void BeginUnknownUndo(LogTxn& txn) { txn.splits_ = kUnknownSplits; }
  /// Bytes that page images must leave free for the splits of this rollback.
  uint64_t splits(const LogTxn& txn) const { return txn.splits_; }

 private:
  // A rollback that makes values longer may have to split leaves that other transactions have
  // filled meanwhile. One split makes room for half a page, and its record holds two pages at most,
  // half a page if no images are wanted.
  static constexpr uint64_t kSplitBytesPerByte = 4;
  static constexpr uint64_t kUnknownSplits = uint64_t{1} << 62;

  static uint64_t ChangeSpace(const Log& log, uint32_t page_size);

  absl::Status ReserveMore(LogTxn& txn, uint64_t need);
  absl::Status ReserveBytes(uint64_t bytes, bool must_not_fail, uint64_t* account);
  bool Spend(uint64_t& account, uint64_t bytes) const {
    if (__builtin_expect(account >= bytes, 1)) {
      account -= bytes;
      return true;
    }
    LATCHKEY_CHECK(!health_.is_writable());
    return false;
  }

  Log& log_;
  LogHealth& health_;
  const uint32_t page_size_;
  const uint64_t image_space_;
  const uint64_t end_space_;     // of the end and its group
  const uint64_t change_space_;  // of the largest change, its image, its compensation and the end
  const uint64_t free_share_;    // reserved by each page of a value for its free
  const uint64_t page_space_;    // of a page of a value, its free and the end
  const uint64_t reserve_step_;  // few calls for many changes, little held by many transactions
};

}  // namespace latchkey
