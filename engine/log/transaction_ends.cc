#include "engine/log/transaction_ends.h"

#include <optional>

#include "engine/log/log_record.h"

namespace latchkey {

bool TransactionEnds::TryLogCommit(LogTxn& txn, Lsn* lsn) {
  if (!txn.active()) return true;
  if (!accounts_.SpendCommit(txn)) {
    active_.LeaveUnlogged(txn);
    *lsn = log_.next();  // never durable: a wait for it reports the failure
    return true;
  }
  const std::optional<Lsn> logged = log_.TryAppendPaid(kEndRecordSize, [&](Lsn at, std::byte* to) {
    EncodeEnd(active_.Enter(&txn, LogRecordType::kCommit, at), to);
    active_.Leave(txn);
    flusher_.NoteCommit(at);
  });
  if (!logged) {
    accounts_.TakeBackCommit(txn);
    return false;
  }
  *lsn = *logged;
  return true;
}

bool TransactionEnds::TryLogDeleteRange(LogTxn& txn, const LoggedRange& range, Lsn* lsn) {
  const size_t size = DeleteRangeRecordSize(range);
  if (!accounts_.SpendCommitOf(txn, size)) {
    *lsn = log_.next();  // never durable: a wait for it reports the failure
    return true;
  }
  const std::optional<Lsn> logged = log_.TryAppendPaid(size, [&](Lsn at, std::byte* to) {
    EncodeDeleteRange(active_.Enter(&txn, LogRecordType::kDeleteRange, at), range, to);
    flusher_.NoteCommit(at);
  });
  if (!logged) {
    accounts_.TakeBackCommitOf(txn, size);
    return false;
  }
  *lsn = *logged;
  return true;
}

bool TransactionEnds::TryLogBlindPut(LogTxn& txn, const RecordChange& put, Lsn* lsn) {
  const ChangeEncoding encoding(LogRecordType::kBlindPut, put);
  if (!accounts_.SpendCommitOf(txn, encoding.size())) return false;  // the log has failed
  // The transaction ends with its first record, so no checkpoint needs to know of it.
  const std::optional<Lsn> logged = log_.TryAppendPaid(encoding.size(), [&](Lsn at, std::byte* to) {
    encoding.Encode({.type = LogRecordType::kBlindPut, .txn = txn.id(), .previous = Lsn{0}},
                    put.page_lsn, to);
    flusher_.NoteCommit(at);
  });
  if (!logged) {
    accounts_.TakeBackCommitOf(txn, encoding.size());
    return false;
  }
  *lsn = *logged;
  return true;
}

void TransactionEnds::AppendEnd(LogTxn& txn) {
  log_.Append(kEndRecordSize, [&](Lsn lsn, std::byte* to) {
    EncodeEnd(active_.Enter(&txn, LogRecordType::kEnd, lsn), to);
    active_.Leave(txn);
  });
}

void TransactionEnds::LogEnd(LogTxn& txn) {
  if (txn.active()) {
    if (accounts_.SpendEnd(txn)) {
      AppendEnd(txn);
    } else {
      active_.LeaveUnlogged(txn);  // the log has failed
    }
  }
  accounts_.Release(txn);
}

void TransactionEnds::Abandon(LogTxn& txn) {
  if (!txn.active() || active_.Abandon(txn)) return;
  // No checkpoint may forget the transaction. With no further checkpoint, the next open finds it.
  health_.SetFailed();
  active_.LeaveUnlogged(txn);
}

}  // namespace latchkey
