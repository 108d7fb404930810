#include "engine/log/active_transactions.h"

#include <new>

namespace latchkey {

std::vector<ActiveTransaction> ActiveTransactions::List() const {
  std::vector<ActiveTransaction> all;
  for (const LogTxn* txn = oldest_; txn != nullptr; txn = txn->newer_) {
    all.push_back({txn->id_, txn->first_, txn->last_});
  }
  return all;
}

void ActiveTransactions::LeaveUnlogged(LogTxn& txn) {
  log_.Frozen([&](Lsn) { Leave(txn); });
}

void ActiveTransactions::Adopt(LogTxn& txn, TxnId id, Lsn first, Lsn last) {
  LATCHKEY_CHECK(!txn.active());
  txn.id_ = id;
  txn.first_ = first;
  txn.last_ = last;
  log_.Frozen([&](Lsn) {
    LogTxn* older = newest_;
    while (older != nullptr && Raw(older->first_) > Raw(first)) older = older->older_;
    txn.older_ = older;
    txn.newer_ = older != nullptr ? older->newer_ : oldest_;
    (older != nullptr ? older->newer_ : oldest_) = &txn;
    (txn.newer_ != nullptr ? txn.newer_->older_ : newest_) = &txn;
  });
}

// nullptr: no memory.
LogTxn* ActiveTransactions::MakeHeir() {
  try {
    auto made = std::make_unique<LogTxn>();
    LogTxn* const heir = made.get();
    SpinLatchGuard guard(abandoned_latch_, runtime_);
    abandoned_.push_back(std::move(made));
    return heir;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool ActiveTransactions::Abandon(LogTxn& txn) {
  LogTxn* const heir = MakeHeir();
  if (heir == nullptr) return false;
  log_.Frozen([&](Lsn) {
    heir->id_ = txn.id_;
    heir->first_ = std::exchange(txn.first_, Lsn{0});
    heir->last_ = std::exchange(txn.last_, Lsn{0});
    heir->older_ = std::exchange(txn.older_, nullptr);
    heir->newer_ = std::exchange(txn.newer_, nullptr);
    (heir->older_ != nullptr ? heir->older_->newer_ : oldest_) = heir;
    (heir->newer_ != nullptr ? heir->newer_->older_ : newest_) = heir;
  });
  return true;
}

}  // namespace latchkey
