#include "engine/log/log_analysis.h"

#include <catch2/catch.hpp>

namespace latchkey::log_analysis_test {
namespace {

constexpr PageId kFirst{57};

LogRecord CheckpointWith(Lsn as_of, const OverflowChain& chain) {
  LogRecord record;
  record.header.type = LogRecordType::kCheckpoint;
  record.checkpoint.as_of = as_of;
  record.chains = {chain};
  return record;
}

LogRecord Free(PageId page) {
  LogRecord record;
  record.header.type = LogRecordType::kFree;
  record.pages = {page};
  return record;
}

// Recovery freed the chain again, found its page gone, and refused to open the database. Found by a
// crash under a long run, whose checkpoint was as of the very record that freed a chain.
TEST_CASE("A chain that the first record of a checkpoint frees is not freed again") {
  const OverflowChain chain{.first_page = kFirst, .size = 9000};
  LogAnalysis analysis;
  analysis.Add(Lsn{1000}, Free(kFirst));
  analysis.Add(Lsn{1100}, CheckpointWith(Lsn{1000}, chain));
  CHECK(analysis.UnneededChains().empty());
}

TEST_CASE("A chain of a checkpoint is freed by recovery unless a record of the checkpoint does") {
  const OverflowChain chain{.first_page = kFirst, .size = 9000};
  LogAnalysis analysis;
  analysis.Add(Lsn{900}, Free(kFirst));  // an earlier life of the page
  analysis.Add(Lsn{1100}, CheckpointWith(Lsn{1000}, chain));
  REQUIRE(analysis.UnneededChains().size() == 1);
  analysis.Add(Lsn{1200}, Free(kFirst));
  CHECK(analysis.UnneededChains().empty());
}

// The same refusal, found by a crash under images against torn writes. Recovery began between the
// moment of an older checkpoint and its record, and a record in between had freed the chain.
TEST_CASE("The chains of a checkpoint from before the first record are not freed again") {
  const OverflowChain chain{.first_page = kFirst, .size = 9000};
  LogAnalysis analysis(/*redo=*/Lsn{2000}, /*first=*/Lsn{1000});
  analysis.Add(Lsn{1100}, CheckpointWith(Lsn{900}, chain));
  CHECK(analysis.UnneededChains().empty());
  analysis.Add(Lsn{2100}, CheckpointWith(Lsn{2000}, chain));
  CHECK(analysis.UnneededChains().size() == 1);
}

TEST_CASE("The checkpoint from which recovery begins counts, also as of the first record") {
  const OverflowChain chain{.first_page = kFirst, .size = 9000};
  LogAnalysis analysis(/*redo=*/Lsn{1000}, /*first=*/Lsn{1000});
  analysis.Add(Lsn{1100}, CheckpointWith(Lsn{1000}, chain));
  CHECK(analysis.UnneededChains().size() == 1);
}

// Redo refuses changes of pages above those that the store and the log name. It refused a log in which
// a load had taken many ids, and whose pages were not on the device, when another page came above them.
TEST_CASE("Pages that a bulk load has taken count as used") {
  LogRecord record;
  record.header.type = LogRecordType::kAllocation;
  record.pages = {PageId{70}, PageId{71}, PageId{72}};
  LogAnalysis analysis;
  analysis.Add(Lsn{1000}, record);
  CHECK(analysis.pages_used() == 3);
}

TEST_CASE("A loser names the records of its allocations, oldest first, until its end") {
  LogRecord allocation, end;
  allocation.header = {.type = LogRecordType::kAllocation, .txn = TxnId{41}, .previous = Lsn{0}};
  allocation.pages = {PageId{70}};
  end.header = {.type = LogRecordType::kEnd, .txn = TxnId{41}, .previous = Lsn{1100}};
  LogAnalysis analysis;
  analysis.Add(Lsn{1000}, allocation);
  allocation.header.previous = Lsn{1000};
  analysis.Add(Lsn{1100}, allocation);
  REQUIRE(analysis.Losers().size() == 1);
  CHECK(analysis.Losers()[0].allocations == std::vector<Lsn>{Lsn{1000}, Lsn{1100}});
  analysis.Add(Lsn{1200}, end);
  CHECK(analysis.Losers().empty());
}

TEST_CASE("A blind put is a whole transaction: it is no loser, and its id is not used again") {
  LogRecord record;
  record.header = {.type = LogRecordType::kBlindPut, .txn = TxnId{41}, .previous = Lsn{0}};
  record.change.page = PageId{5};
  record.change.now = RecordState::kValue;
  LogAnalysis analysis;
  analysis.Add(Lsn{1000}, record);
  CHECK(analysis.Losers().empty());
  CHECK(analysis.next_txn() == TxnId{42});
}

}  // namespace
}  // namespace latchkey::log_analysis_test
