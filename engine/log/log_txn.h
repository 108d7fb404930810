// LogTxn: one transaction's part of the log.
//
// Thread-safety: its transaction's actor changes it. What a checkpoint reads of it (id, first and
// last record, neighbours) changes under the log's latch only.
#pragma once

#include <cstdint>

#include "storage/base/ids.h"

namespace latchkey {

/// Active from a transaction's first record to its kCommit or kEnd; reusable afterwards. Must not
/// move while it is active.
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
  friend class ActiveTransactions;
  friend class LogAccounts;

  TxnId id_{0};
  Lsn first_{0}, last_{0};
  uint64_t budget_ = 0;  // reserved for records to come
  uint64_t undo_ = 0;    // reserved for undoing what has been logged
  uint64_t growth_ = 0;  // reserved for the splits that its rollback may cause, until that begins
  uint64_t splits_ = 0;  // then growth_: bytes that page images must leave free for those splits
  LogTxn* newer_ = nullptr;
  LogTxn* older_ = nullptr;
};

}  // namespace latchkey
