// Which pages of a writer count as unwritten, and when a doublewrite batch is written.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "layout/separate/separator.h"
#include "layout/testing/failing_writes.h"
#include "layout/testing/store_on_memory.h"
#include "layout/write/store_buffers.h"

namespace latchkey::unwritten_pages_test {
namespace {

using Protection = SegmentStoreOptions::TornWriteProtection;

// A store whose pages have been written once, and a writer.
class WrittenPages {
 public:
  WrittenPages(const std::string& layout, Protection protection, size_t count,
               std::optional<PageCosts> costs = std::nullopt) {
    SegmentStoreOptions options = TestOptions(layout);
    options.torn_write_protection = protection;
    if (costs) options.assumed_costs = costs;
    auto opened = OpenTestStore(NewTestDevice(), options, NewTestDevice());
    REQUIRE(opened.ok());
    store_ = std::move(opened->store);
    writer_ = NewWriter();
    for (size_t i = 0; i < count; ++i) ids_.push_back(*store_->AllocatePage());
    for (size_t i = 0; i < count; ++i) Write(i, *writer_);
    REQUIRE(store_->Flush().ok());
  }

  std::unique_ptr<PageWriter> NewWriter() { return *store_->NewWriter(64); }
  PageWriter& writer() { return *writer_; }
  PageStore& store() { return *store_; }
  void Write(size_t i, PageWriter& writer) {
    page_.Fill(ids_[i], ++version_);
    const PageWrite write{.id = ids_[i], .data = page_.data()};
    size_t accepted = 0;
    REQUIRE(writer.Submit({&write, 1}, &accepted).ok());
  }
  /// Whether page `i`, the last one that was written, reads as it was written.
  bool HoldsNewest(size_t i) {
    REQUIRE(store_->ReadPage(ids_[i], page_.data()).ok());
    return page_.Holds(ids_[i], version_);
  }
  uint64_t SegmentBytes() const {
    const DeviceStats stats = store_->device().stats();
    return stats.of(IoClass::kSegmentWrite).bytes + stats.of(IoClass::kSegmentPartWrite).bytes;
  }
  uint64_t DeviceWrites() const {
    const DeviceStats stats = store_->device().stats();
    return stats.of(IoClass::kPageWrite).requests + stats.of(IoClass::kSegmentWrite).requests +
           stats.of(IoClass::kSegmentPartWrite).requests + stats.of(IoClass::kMeta).requests;
  }

 private:
  std::unique_ptr<SegmentStore> store_;
  std::unique_ptr<PageWriter> writer_;
  std::vector<PageId> ids_;
  uint64_t version_ = 0;
  TestPage page_;
};

TEST_CASE("An accepted page is unwritten until it is on the device, under every layout") {
  const std::string layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  const Protection protection = GENERATE(Protection::kDoublewrite, Protection::kNone);
  CAPTURE(layout);
  WrittenPages pages(layout, protection, 18, kFlatCosts);  // a segment has 16
  CHECK(pages.writer().unwritten() == 0);
  const auto other = pages.NewWriter();
  for (size_t i = 0; i < 12; ++i) {
    pages.Write(i, i % 3 == 0 ? *other : pages.writer());
    CHECK(pages.writer().unwritten() + other->unwritten() <= i + 1);
  }
  const bool in_place = layout == "overwrite" || layout == "hylog";
  const bool gathers = !in_place || protection == Protection::kDoublewrite;
  if (gathers) {  // nothing has started these writes
    CHECK(pages.writer().unwritten() == 8);
    CHECK(other->unwritten() == 4);
  }
  const uint64_t before = pages.DeviceWrites();
  REQUIRE(pages.writer().WaitWritten(3).ok());
  CHECK(pages.writer().unwritten() <= 3);
  if (gathers) CHECK(pages.DeviceWrites() > before);
  REQUIRE(pages.writer().WaitWritten(0).ok());
  REQUIRE(other->WaitWritten(0).ok());
  CHECK(pages.writer().unwritten() == 0);
  CHECK(other->unwritten() == 0);
}

TEST_CASE("Waiting writes no part of a segment where whole segments cost less, a flush does") {
  constexpr size_t kPages = 40;  // two segments and a half
  WrittenPages pages("lfs", Protection::kNone, kPages);
  const uint64_t before = pages.DeviceWrites();
  for (size_t i = 0; i < kPages; ++i) {
    pages.Write(i, pages.writer());
    REQUIRE(pages.writer().WaitWritten(0).ok());
    CHECK(pages.writer().unwritten() == (i < 8 ? (i + 1) % 8 : (i - 7) % 16));
    CHECK(pages.HoldsNewest(i));
  }
  CHECK(pages.DeviceWrites() - before == 3);  // the load left half of a segment
  REQUIRE(pages.store().Flush().ok());
  CHECK((pages.writer().unwritten() == 0 && pages.writer().gathering() == 0));
  CHECK(pages.HoldsNewest(kPages - 1));
}

TEST_CASE("A page that is overtaken before it is written does not stay unwritten") {
  const std::string layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  const bool gathers = GENERATE(false, true);
  CAPTURE(layout, gathers);
  const auto costs = gathers ? std::nullopt : std::optional(kFlatCosts);
  WrittenPages pages(layout, Protection::kDoublewrite, 4, costs);
  for (int i = 0; i < 5; ++i) pages.Write(0, pages.writer());
  REQUIRE(pages.writer().WaitWritten(0).ok());
  if (!gathers) CHECK(pages.writer().unwritten() == 0);
  REQUIRE(pages.store().Flush().ok());
  CHECK((pages.writer().unwritten() == 0 && pages.writer().gathering() == 0));
}

// Each page took a block of its own, though it was compressed, when a page cleaner kept one page at a
// time unwritten.
TEST_CASE("Waiting for a page that shares its block leaves the block to the next pages") {
  if (CodecsUnderTest().empty()) return;
  constexpr size_t kPages = 40;
  WrittenPages pages(Compressed("lfs"), Protection::kNone, kPages, kFlatCosts);
  const uint64_t before = pages.SegmentBytes();
  for (size_t i = 0; i < kPages; ++i) {
    pages.Write(i, pages.writer());
    REQUIRE(pages.writer().WaitWritten(0).ok());
    CHECK(pages.writer().unwritten() == pages.writer().gathering());
    CHECK(pages.HoldsNewest(i));
  }
  // On average a page of the test takes 4.4 eighths.
  CHECK(pages.SegmentBytes() - before < kPages * kDefaultPageSize * 3 / 4);
  REQUIRE(pages.store().Flush().ok());
  CHECK((pages.writer().unwritten() == 0 && pages.writer().gathering() == 0));
  CHECK(pages.HoldsNewest(kPages - 1));
}

TEST_CASE("Waiting for no more than the unwritten pages cuts no batch short") {
  WrittenPages pages("lfs", Protection::kNone, 8);
  for (size_t i = 0; i < 6; ++i) pages.Write(i, pages.writer());
  const uint64_t before = pages.DeviceWrites();
  REQUIRE(pages.writer().WaitWritten(6).ok());
  CHECK(pages.DeviceWrites() == before);
  CHECK(pages.writer().unwritten() == 6);
}

TEST_CASE("Waiting for pages that stay unwritten ends with the error of the read-only store") {
  const std::string layout = GENERATE("overwrite", "lfs");
  CAPTURE(layout);
  auto failing = std::make_shared<FailingWrites>(NewTestDevice());
  SegmentStoreOptions options = TestOptions(layout);
  options.assumed_costs = kFlatCosts;
  auto opened = OpenTestStore(failing, options, NewTestDevice());
  REQUIRE(opened.ok());
  SegmentStore& store = *opened->store;
  const auto writer = *store.NewWriter(8);
  TestPage page;
  const PageId id = *store.AllocatePage();
  page.Fill(id, 1);
  const PageWrite write{.id = id, .data = page.data()};
  size_t accepted = 0;
  REQUIRE(writer->Submit({&write, 1}, &accepted).ok());
  failing->fail_writes = true;
  for (int i = 0; i < 3; ++i) CHECK_FALSE(writer->WaitWritten(0).ok());
  CHECK(writer->unwritten() == 1);
}

TEST_CASE("A full doublewrite batch goes out by itself, and a started one waits for more pages") {
  constexpr size_t kBatch = StoreBuffers::kFullDoublewrite - 1;
  WrittenPages pages("overwrite", Protection::kDoublewrite, 3 * kBatch + 1);
  const uint64_t syncs = pages.store().stats().protection_syncs;
  const uint64_t written = pages.store().stats().protected_page_writes;
  for (size_t i = 0; i < 3 * kBatch + 1; ++i) pages.Write(i, pages.writer());
  while (pages.writer().unwritten() > 1) ThreadRuntime().SleepFor(kNanosPerMilli);
  CHECK(pages.store().stats().protection_syncs - syncs == 3);
  CHECK(pages.store().stats().protected_page_writes - written == 3 * kBatch);
  REQUIRE(pages.store().Flush().ok());
  CHECK(pages.writer().unwritten() == 0);
  CHECK(pages.store().stats().protection_syncs - syncs == 4);
}

TEST_CASE("A page that is written again and again keeps its slot while batches go out") {
  constexpr size_t kWrites = 2000;
  WrittenPages pages("overwrite", Protection::kDoublewrite, 4);
  for (size_t i = 0; i < kWrites; ++i) pages.Write(0, pages.writer());
  REQUIRE(pages.store().Flush().ok());
  CHECK(pages.writer().unwritten() == 0);
  CHECK(pages.HoldsNewest(0));
  CHECK(pages.store().stats().in_place_page_writes >= kWrites);
}

}  // namespace
}  // namespace latchkey::unwritten_pages_test
