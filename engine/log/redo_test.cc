// Logs that redo refuses: the pages prove them to be damaged.
#include "engine/log/redo.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/btree/node.h"
#include "engine/log/testing/logged_trees.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey::redo_test {
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

TEST_CASE("A change is refused on a page that lacks the change before it") {
  LoggedTrees db;
  TreeImpl& tree = db.NewTree();
  TransactionImpl txn(db.context);
  const auto put = [&](const std::string& key) {
    REQUIRE(txn.Begin().ok());
    REQUIRE(txn.Put(tree, key, "value").ok());
    REQUIRE(txn.Commit().ok());
  };
  put("first");
  REQUIRE(db.pool->WriteAllDirty().ok());
  put("not written, and before what is redone");
  const Lsn from = db.log.next();
  put("redone");
  REQUIRE(db.engine_log->FlushAll().ok());
  const std::unique_ptr<BufferPool> pool = MakeTestPool(db.store, 256);
  LogAnalysis analysis(from);
  Analyze(db.log, analysis);
  const absl::Status refused = Redo(*pool, analysis, db.log.next()).Run(db.log, from);
  CHECK(absl::IsDataLoss(refused));
  CHECK(std::string(refused.message()).find("lacks changes before") != std::string::npos);
}

// Trees of which a checkpoint has written everything; what follows is logged with images.
struct ImagedTrees : LoggedTrees {
  ImagedTrees() : LoggedTrees({.page_size = kPageSize, .rely_on_images = [](bool) {}}) {}

  void Put(const std::string& key, const std::string& value) {
    TransactionImpl txn(context);
    REQUIRE(txn.Begin().ok());
    REQUIRE(txn.Put(tree, key, value).ok());
    REQUIRE(txn.Commit().ok());
  }
  PageId LeafOf(const std::string& key) {
    OptimisticGuard guard;
    REQUIRE(tree.btree.FindLeaf(pool->Here(), key, &guard).ok());
    return guard.page();
  }
  /// What a pool over the store finds in `page`.
  std::vector<std::byte> OnDevice(PageId page) {
    std::vector<std::byte> bytes(kPageSize);
    REQUIRE(store.ReadPage(page, bytes.data()).ok());
    return bytes;
  }
  absl::Status RedoFrom(Lsn from, uint64_t* repaired) {
    const std::unique_ptr<BufferPool> fresh = MakeTestPool(store, 256);
    LogAnalysis analysis(from);
    Analyze(log, analysis);
    all_have_images = analysis.all_have_images();
    Redo redo(*fresh, analysis, log.next());
    absl::Status done = redo.Run(log, from);
    *repaired = redo.repaired();
    if (done.ok()) done = fresh->WriteAllDirty();
    return done;
  }

  TreeImpl& tree = NewTree();
  bool all_have_images = false;
};

TEST_CASE("A torn page comes back from the image before its first change behind the checkpoint") {
  ImagedTrees db;
  db.Put("key", "before the checkpoint");
  const Lsn checkpoint = db.engine_log->Snapshot().as_of;
  REQUIRE(db.pool->WriteAllDirty().ok());
  db.Put("key", "first");
  db.Put("other", "second");
  REQUIRE(db.pool->WriteAllDirty().ok());
  const PageId leaf = db.LeafOf("key");
  const std::vector<std::byte> sound = db.OnDevice(leaf);
  db.store.Damage(leaf);
  uint64_t repaired = 0;
  const absl::Status redone = db.RedoFrom(checkpoint, &repaired);
  INFO(redone.message());
  REQUIRE(redone.ok());
  CHECK(repaired == 1);
  CHECK(db.all_have_images);
  const std::vector<std::byte> again = db.OnDevice(leaf);
  const LatchedNodeView view(again.data(), kPageSize);
  CHECK(view.Value(view.LowerBound("key").slot) == "first");
  CHECK(view.Value(view.LowerBound("other").slot) == "second");
  CHECK(RacyLoad<uint64_t>(again.data() + offsetof(PageHeader, lsn)) ==
        RacyLoad<uint64_t>(sound.data() + offsetof(PageHeader, lsn)));
}

TEST_CASE("A torn page takes an image from behind changes that it cannot take") {
  ImagedTrees db;
  db.Put("key", "first");
  const Lsn from = db.log.next();  // behind the image
  db.Put("key", "second");
  db.engine_log->Snapshot();
  db.Put("key", "third");
  REQUIRE(db.pool->WriteAllDirty().ok());
  const PageId leaf = db.LeafOf("key");
  db.store.Damage(leaf);
  uint64_t repaired = 0;
  REQUIRE(db.RedoFrom(from, &repaired).ok());
  CHECK(repaired == 1);
  CHECK_FALSE(db.all_have_images);
  const std::vector<std::byte> again = db.OnDevice(leaf);
  const LatchedNodeView view(again.data(), kPageSize);
  CHECK(view.Value(view.LowerBound("key").slot) == "third");
}

TEST_CASE("A torn page without an image is refused, with what its proof said") {
  ImagedTrees db;
  db.Put("key", "first");
  const Lsn from = db.log.next();
  db.Put("key", "second");
  REQUIRE(db.pool->WriteAllDirty().ok());
  db.store.Damage(db.LeafOf("key"));
  uint64_t repaired = 0;
  const absl::Status refused = db.RedoFrom(from, &repaired);
  CHECK(absl::IsDataLoss(refused));
  CHECK(std::string(refused.message()).find("damaged the page") != std::string::npos);
  CHECK(repaired == 0);
}

}  // namespace
}  // namespace latchkey::redo_test
