// ActiveTransactions: the transactions that have logged and have not ended, by their first record.
// A checkpoint notes them; the oldest one's first record is the undo low-water mark.
//
// Invariant: the table changes in the same instant as the log. So the state that a checkpoint sees
// fits its LSN. For this, Enter and Leave run inside Log::Append, and List inside Log::Frozen.
//
// Thread-safety: the log's latch guards the table.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/log/log_record.h"
#include "engine/log/log_txn.h"
#include "storage/base/check.h"
#include "storage/base/ids.h"
#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"
#include "storage/wal/log.h"

namespace latchkey {

class ActiveTransactions {
 public:
  ActiveTransactions(Runtime& runtime, Log& log) : runtime_(runtime), log_(log) {}

  // ---- Inside Log::Append or Log::Frozen.

  /// A record of `txn` gets `lsn`. Returns the record's header. nullptr: outside transactions.
  LogRecordHeader Enter(LogTxn* txn, LogRecordType type, Lsn lsn) {
    if (txn == nullptr) return {.type = type};
    if (!txn->active()) Add(*txn, lsn);
    return {.type = type, .txn = txn->id_, .previous = std::exchange(txn->last_, lsn)};
  }
  /// `txn` has ended.
  void Leave(LogTxn& txn) {
    (txn.older_ != nullptr ? txn.older_->newer_ : oldest_) = txn.newer_;
    (txn.newer_ != nullptr ? txn.newer_->older_ : newest_) = txn.older_;
    txn.older_ = txn.newer_ = nullptr;
    txn.first_ = txn.last_ = Lsn{0};
  }
  /// All of them, by first record.
  std::vector<ActiveTransaction> List() const;

  // ---- Outside: these take the log's latch.

  /// `txn` ends without a record, because the log has failed.
  void LeaveUnlogged(LogTxn& txn);
  /// Continues a transaction that logged before a crash. `txn` is fresh.
  void Adopt(LogTxn& txn, TxnId id, Lsn first, Lsn last);
  /// Keeps the transaction active with no actor, so that the next open undoes it. `txn` can serve
  /// another transaction. False, with nothing changed: no memory for that.
  [[nodiscard]] bool Abandon(LogTxn& txn) LATCHKEY_EXCLUDES(abandoned_latch_);

 private:
  void Add(LogTxn& txn, Lsn first) {
    LATCHKEY_CHECK(txn.id_ != TxnId{0});
    txn.first_ = first;
    txn.older_ = newest_;
    txn.newer_ = nullptr;
    (newest_ != nullptr ? newest_->newer_ : oldest_) = &txn;
    newest_ = &txn;
  }
  LogTxn* MakeHeir();

  Runtime& runtime_;
  Log& log_;
  LogTxn* oldest_ = nullptr;  // guarded by the log's latch, as newest_
  LogTxn* newest_ = nullptr;
  SpinLatch abandoned_latch_;
  std::vector<std::unique_ptr<LogTxn>> abandoned_ LATCHKEY_GUARDED_BY(abandoned_latch_);
};

}  // namespace latchkey
