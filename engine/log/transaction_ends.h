// TransactionEnds: appends kCommit and kEnd, and takes transactions that ended out of the table.
//
// Invariant: commit records are in the order of commit timestamps, because a commit is logged where
// that order is fixed. There no call may wait, so TryLogCommit does not.
//
// Thread-safety: every actor may call every member at once, each LogTxn from its own actor.
#pragma once

#include "engine/log/active_transactions.h"
#include "engine/log/group_flusher.h"
#include "engine/log/log_accounts.h"
#include "engine/log/log_health.h"
#include "engine/log/log_record.h"
#include "engine/log/log_txn.h"
#include "storage/base/ids.h"
#include "storage/wal/log.h"

namespace latchkey {

class TransactionEnds {
 public:
  TransactionEnds(Log& log, LogHealth& health, LogAccounts& accounts, ActiveTransactions& active,
                  GroupFlusher& flusher)
      : log_(log), health_(health), accounts_(accounts), active_(active), flusher_(flusher) {}

  /// As the functions of EngineLog.
  [[nodiscard]] bool TryLogCommit(LogTxn& txn, Lsn* lsn);
  [[nodiscard]] bool TryLogDeleteRange(LogTxn& txn, const LoggedRange& range, Lsn* lsn);
  [[nodiscard]] bool TryLogBlindPut(LogTxn& txn, const RecordChange& put, Lsn* lsn);
  void LogEnd(LogTxn& txn);
  void Abandon(LogTxn& txn);

 private:
  void AppendEnd(LogTxn& txn);

  Log& log_;
  LogHealth& health_;
  LogAccounts& accounts_;
  ActiveTransactions& active_;
  GroupFlusher& flusher_;
};

}  // namespace latchkey
