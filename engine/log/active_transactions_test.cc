#include "engine/log/active_transactions.h"

#include <catch2/catch.hpp>
#include <vector>

#include "engine/log/testing/memory_log.h"

namespace latchkey::active_transactions_test {
namespace {

struct Table {
  MemoryLog log{ThreadRuntime()};
  ActiveTransactions active{ThreadRuntime(), log};

  LogRecordHeader Enter(LogTxn& txn, uint64_t lsn) {
    return active.Enter(&txn, LogRecordType::kChange, Lsn{lsn});
  }
  std::vector<uint64_t> Ids() const {
    std::vector<uint64_t> ids;
    for (const ActiveTransaction& txn : active.List()) ids.push_back(Raw(txn.id));
    return ids;
  }
};

TEST_CASE("Transactions are listed by their first records, until they leave") {
  Table table;
  LogTxn first, second, third;
  first.set_id(TxnId{7});
  second.set_id(TxnId{5});
  third.set_id(TxnId{9});
  table.Enter(first, 100);
  table.Enter(second, 200);
  table.Enter(third, 300);
  table.Enter(first, 400);
  CHECK(table.Ids() == std::vector<uint64_t>{7, 5, 9});
  CHECK(table.active.List()[0].first == Lsn{100});
  CHECK(table.active.List()[0].last == Lsn{400});
  table.active.Leave(second);
  CHECK(table.Ids() == std::vector<uint64_t>{7, 9});
  table.active.Leave(first);
  CHECK(table.active.List()[0].first == Lsn{300});  // the undo low-water mark moves on
  table.active.Leave(third);
  CHECK(table.Ids().empty());
}

TEST_CASE("Each record names the transaction's record before it") {
  Table table;
  LogTxn txn;
  txn.set_id(TxnId{3});
  CHECK(table.Enter(txn, 100).previous == Lsn{0});
  CHECK(table.Enter(txn, 250).previous == Lsn{100});
  CHECK(table.Enter(txn, 300).previous == Lsn{250});
  CHECK(table.active.Enter(nullptr, LogRecordType::kImages, Lsn{350}).txn == TxnId{0});
}

TEST_CASE("A transaction from before a crash is listed where it began") {
  Table table;
  LogTxn running, adopted;
  running.set_id(TxnId{8});
  table.Enter(running, 500);
  table.active.Adopt(adopted, TxnId{2}, Lsn{100}, Lsn{400});
  CHECK(table.Ids() == std::vector<uint64_t>{2, 8});
  CHECK(table.Enter(adopted, 600).previous == Lsn{400});
}

TEST_CASE("An abandoned transaction stays listed while its object serves another one") {
  Table table;
  LogTxn txn, other;
  txn.set_id(TxnId{4});
  other.set_id(TxnId{6});
  table.Enter(txn, 100);
  table.Enter(other, 200);
  REQUIRE(table.active.Abandon(txn));
  CHECK(!txn.active());
  txn.set_id(TxnId{11});
  table.Enter(txn, 300);
  CHECK(table.Ids() == std::vector<uint64_t>{4, 6, 11});
}

}  // namespace
}  // namespace latchkey::active_transactions_test
