// Every write that can make a later version of a page the newest one notes the log reach, and an
// open after a crash finds the greatest note.
#include <catch2/catch.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "layout/segment_store.h"
#include "layout/testing/store_on_memory.h"

namespace latchkey::log_reach_test {
namespace {

constexpr uint32_t kBatchPages = 8;

SegmentStoreOptions ReachOptions() {
  SegmentStoreOptions options = TestOptions("overwrite");
  options.doublewrite_pages = kBatchPages;
  return options;
}

std::shared_ptr<BlockDevice> CopyOf(BlockDevice& device) {
  auto copy = NewTestDevice();
  const uint64_t size = device.geometry().size_bytes;
  REQUIRE(copy->Resize(size).ok());
  AlignedBuffer bytes(size);
  REQUIRE(device.Read(0, bytes.span(), IoClass::kMeta).ok());
  REQUIRE(copy->Write(0, bytes.span(), IoClass::kMeta).ok());
  return copy;
}

/// A store under a log whose position the test sets.
class ReachTest {
 public:
  ReachTest() : ReachTest(NewTestDevice(), NewTestDevice()) {}
  ReachTest(std::shared_ptr<BlockDevice> data, std::shared_ptr<BlockDevice> journal)
      : data_(std::move(data)), journal_(std::move(journal)) {
    auto opened = OpenTestStore(data_, ReachOptions(), journal_);
    REQUIRE(opened.ok());
    store_ = std::move(opened->store);
    found_ = store_->log_reach();
    writer_ = *store_->NewWriter(kBatchPages);
  }
  ~ReachTest() { store_->Detach(); }

  /// The store as an open after a crash now finds it.
  ReachTest AfterCrash() { return {CopyOf(*data_), CopyOf(*journal_)}; }

  Lsn found() const { return found_; }
  SegmentStore& store() { return *store_; }
  void SetPosition(uint64_t lsn) {
    if (!log_.position) store_->Attach(log_);
    log_.position = Lsn{lsn};
  }
  void Allocate() {
    for (uint32_t i = 0; i < kBatchPages; ++i) pages_.push_back(*store_->AllocatePage());
  }
  void WritePages() {
    for (const PageId id : pages_) {
      page_.Fill(id, ++version_);
      const PageWrite write{.id = id, .data = page_.data()};
      size_t accepted = 0;
      REQUIRE(writer_->Submit({&write, 1}, &accepted).ok());
    }
    REQUIRE(writer_->WaitWritten(0).ok());
  }

 private:
  struct LogAtPosition final : PageStoreClient {
    std::optional<Lsn> DurableLog() override { return position; }
    std::optional<Lsn> position;
  };

  const std::shared_ptr<BlockDevice> data_, journal_;
  LogAtPosition log_;
  Lsn found_{0};
  std::unique_ptr<SegmentStore> store_;
  std::unique_ptr<PageWriter> writer_;
  std::vector<PageId> pages_;
  TestPage page_;
  uint64_t version_ = 0;
};

TEST_CASE("Superblocks, journal rounds and doublewrite batches note how far the log has reached") {
  ReachTest test;
  CHECK(test.found() == Lsn{0});
  test.SetPosition(1000);
  test.Allocate();  // marks the file unclean
  CHECK(test.AfterCrash().found() == Lsn{1000});
  test.SetPosition(2000);
  test.WritePages();
  CHECK(test.AfterCrash().found() == Lsn{1000});  // no durable word names the pages yet
  REQUIRE(test.store().Flush().ok());
  CHECK(test.AfterCrash().found() == Lsn{2000});
  test.SetPosition(3000);
  test.WritePages();  // over their places: a full batch
  CHECK(test.AfterCrash().found() == Lsn{3000});
  test.SetPosition(4000);
  REQUIRE(test.store().Checkpoint({}, /*clean=*/false).ok());
  CHECK(test.AfterCrash().found() == Lsn{4000});
}

TEST_CASE("A clean close keeps how far the log has reached, and opens without a log keep it") {
  ReachTest test;
  test.SetPosition(1000);
  test.Allocate();
  test.WritePages();
  const std::byte root[] = {std::byte{1}};
  REQUIRE(test.store().Checkpoint(root, /*clean=*/true).ok());
  ReachTest again = test.AfterCrash();
  CHECK(again.found() == Lsn{1000});
  again.Allocate();
  CHECK(again.AfterCrash().found() == Lsn{1000});
}

TEST_CASE("What was noted of a log that was begun anew since does not count") {
  ReachTest test;
  test.SetPosition(9000);
  test.Allocate();
  test.WritePages();
  REQUIRE(test.store().Flush().ok());
  test.WritePages();
  ReachTest again = test.AfterCrash();
  CHECK(again.found() == Lsn{9000});
  again.SetPosition(50);
  const std::byte root[] = {std::byte{1}};
  REQUIRE(again.store().Checkpoint(root, /*clean=*/false).ok());
  CHECK(again.AfterCrash().found() == Lsn{50});
}

}  // namespace
}  // namespace latchkey::log_reach_test
