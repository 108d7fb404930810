// The pages of a bulk load while the log is full.
#include "engine/bulk/bulk_pages.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "engine/log/log_record.h"
#include "engine/log/testing/logged_trees.h"

namespace latchkey::bulk_pages_test {
namespace {

// A load that has used a few of the ids that it holds.
struct Load {
  Load() : pages(*db.pool, db.engine_log.get(), txn) {
    txn.set_id(TxnId{1});
    for (int i = 0; i < kPages; ++i) REQUIRE(pages.Add([](std::byte*) {}).ok());
  }

  // The log takes `records` more records of frees.
  void FillLog(uint64_t records) {
    db.log.limit = 0;
    db.log.urgent = records;
  }
  void EmptyLog() { db.log.limit = UINT64_MAX; }
  std::map<PageId, int> TimesFreed() {
    std::map<PageId, int> times;
    LogRecord record;
    for (const MemoryLog::Record& logged : db.log.Records()) {
      REQUIRE(DecodeLogRecord(logged.bytes, &record).ok());
      if (record.header.type != LogRecordType::kFree) continue;
      for (const PageId page : record.pages) ++times[page];
    }
    return times;
  }

  static constexpr int kPages = 65;  // the first 64, and one of the next 128
  LoggedTrees db;
  LogTxn txn;
  BulkPages pages;
};

// The ids that were freed before the log was full may belong to others when the rest is freed.
TEST_CASE("Ids that a load does not need are freed once, though the log is full in between") {
  Load load;
  load.FillLog(1);
  CHECK(absl::IsResourceExhausted(load.pages.Flush()));
  CHECK(load.TimesFreed().size() == 64);
  load.EmptyLog();
  REQUIRE(load.pages.FreeAll().ok());
  const std::map<PageId, int> times = load.TimesFreed();
  CHECK(times.size() == 64 + 128);
  for (const auto& [page, freed] : times) CHECK(freed == 1);
  load.db.engine_log->LogEnd(load.txn);
}

// If the load ended in the log, no open would ever free the pages that are left.
TEST_CASE("A load that is given up says if some of its pages are still there") {
  Load load;
  const uint64_t records = GENERATE(0, 1, 3);  // the fourth record would name pages in use
  load.FillLog(records);
  CHECK(absl::IsResourceExhausted(load.pages.FreeAll()));
  CHECK(load.TimesFreed().size() < 64 + 128);
  load.EmptyLog();
  CHECK(load.pages.FreeAll().ok());
  const std::map<PageId, int> times = load.TimesFreed();
  CHECK(times.size() == 64 + 128);
  for (const auto& [page, freed] : times) CHECK(freed == 1);
  load.db.engine_log->LogEnd(load.txn);
}

}  // namespace
}  // namespace latchkey::bulk_pages_test
