// What redo refuses: logs that the pages prove to be damaged.
#include "engine/log/redo.h"

#include <catch2/catch.hpp>
#include <string>

#include "engine/btree/node.h"
#include "engine/log/testing/logged_trees.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {
namespace {

constexpr uint32_t kPageSize = LoggedTrees::kPageSize;

void Analyze(Log& log, LogAnalysis& analysis) {
  LogRecord record;
  REQUIRE(log.ForEach(Lsn{0},
                      [&](const LogRecordView& view) {
                        const absl::Status decoded = DecodeLogRecord(view.bytes, &record);
                        analysis.Add(view.lsn, record);
                        return decoded;
                      })
              .ok());
}

/// Redoes `log` on `store` as if it ended at `log_end`.
absl::Status RedoOn(PageStore& store, Log& log, Lsn log_end) {
  const std::unique_ptr<BufferPool> pool = MakeTestPool(store, 256);
  LogAnalysis analysis;
  Analyze(log, analysis);
  return Redo(*pool, analysis, log_end).Run(log, Lsn{0});
}

void AppendImage(Log& log, PageId page) {
  AlignedBuffer bytes(kPageSize);
  NodeEditor leaf(bytes.data(), kPageSize);
  leaf.Init(0, Fences{});
  const PageImage image = ImageOf(page, bytes.span());
  const size_t size = ImagesRecordSize({&image, 1}, 0);
  REQUIRE(log.Reserve(log.RecordSpace(size)).ok());
  log.Append(size, [&](Lsn, std::byte* to) {
    EncodeImages({.type = LogRecordType::kImages}, {&image, 1}, {}, to);
  });
}

// A record sealed anew over damage, with a page id near 2^32, made redo note every id below it as
// known and free: for minutes, and in gigabytes.
TEST_CASE("A log that names a page which can never have been there is damaged") {
  const uint64_t far = GENERATE(uint64_t{1} << 20, (uint64_t{1} << 32) - 2);
  MemoryLog log(ThreadRuntime());
  MapPageStore store(ThreadRuntime(), kPageSize);
  AppendImage(log, PageId{3});
  AppendImage(log, PageId{far});
  const absl::Status refused = RedoOn(store, log, log.end());
  CHECK(absl::IsDataLoss(refused));
  CHECK(std::string(refused.message()).find(std::to_string(far)) != std::string::npos);
  CHECK(store.page_id_limit() == 4);
}

TEST_CASE("A log may name pages whose allocation a crash has taken back, and leave gaps") {
  MemoryLog log(ThreadRuntime());
  MapPageStore store(ThreadRuntime(), kPageSize);
  for (const uint64_t page : {100, 7, 2000}) AppendImage(log, PageId{page});
  CHECK(RedoOn(store, log, log.end()).ok());
  for (const uint64_t page : {100, 7, 2000}) CHECK(store.IsAllocated(PageId{page}));
  CHECK_FALSE(store.IsAllocated(PageId{1000}));
}

TEST_CASE(
    "A page that was changed behind the end of the log proves that the log has lost its end") {
  LoggedTrees db;
  TreeImpl& tree = db.NewTree();
  TransactionImpl txn(db.context);
  const auto put = [&](const std::string& value) {
    REQUIRE(txn.Begin().ok());
    REQUIRE(txn.Put(tree, "key", value).ok());
    REQUIRE(txn.Commit().ok());
  };
  put("first");
  const Lsn lost_from = db.log.next();
  put("second");
  REQUIRE(db.pool->WriteAllDirty().ok());
  CHECK(RedoOn(db.store, db.log, db.log.next()).ok());
  const absl::Status refused = RedoOn(db.store, db.log, lost_from);
  CHECK(absl::IsDataLoss(refused));
  const std::string message(refused.message());
  CHECK(message.find("ends at " + std::to_string(Raw(lost_from))) != std::string::npos);
  CHECK(message.find("salvage") != std::string::npos);
}

}  // namespace
}  // namespace latchkey
