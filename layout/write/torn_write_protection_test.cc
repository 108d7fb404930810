// Which writes over a page's present slot go to the doublewrite area first.
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "layout/checkpoint/superblock.h"
#include "layout/segment_store.h"
#include "layout/separate/separator.h"
#include "layout/testing/layouts_under_test.h"
#include "layout/testing/store_on_memory.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey::torn_write_protection_test {
namespace {

using Protection = SegmentStoreOptions::TornWriteProtection;

// One page of a store, written again and again.
class OnePage {
 public:
  OnePage(const std::string& layout, Protection protection, bool with_journal = true) {
    SegmentStoreOptions options = TestOptions(layout);
    options.torn_write_protection = protection;
    auto opened = OpenTestStore(device_, options, with_journal ? NewTestDevice() : nullptr);
    REQUIRE(opened.ok());
    store_ = std::move(opened->store);
    writer_ = *store_->NewWriter(4);
    id_ = *store_->AllocatePage();
    Write();
  }

  SegmentStore& store() { return *store_; }
  void Write() {
    page_.Fill(id_, ++version_);
    const PageWrite write{.id = id_, .data = page_.data()};
    size_t accepted = 0;
    REQUIRE(writer_->Submit({&write, 1}, &accepted).ok());
    REQUIRE(store_->Flush().ok());
    REQUIRE(store_->ReadPage(id_, page_.data()).ok());
    REQUIRE(page_.Holds(id_, version_));
  }
  /// Whether writing the page changes a doublewrite area.
  bool WritesTwice() {
    const std::vector<std::byte> before = Areas();
    Write();
    return Areas() != before;
  }

 private:
  std::vector<std::byte> Areas() {
    AlignedBuffer header(1 << 20);
    REQUIRE(device_->Read(0, header.span(), IoClass::kMeta).ok());
    for (const uint64_t generation : {0, 1}) {
      for (const int copy : {0, 1}) {
        std::memset(header.data() + SuperblockOffset(generation, copy), 0, kSuperblockSize);
      }
    }
    return {header.data(), header.data() + header.size()};
  }

  const std::shared_ptr<BlockDevice> device_ = NewTestDevice();
  std::unique_ptr<SegmentStore> store_;
  std::unique_ptr<PageWriter> writer_;
  PageId id_{0};
  uint64_t version_ = 0;
  TestPage page_;
};

TEST_CASE("Only layouts that write in place want images, and only where they are asked for") {
  for (const std::string& layout : LayoutsUnderTest()) {
    CAPTURE(layout);
    const bool in_place = Layouts().Named(layout).Make(ThreadRuntime())->writes_in_place();
    CHECK(OnePage(layout, Protection::kImages).store().wants_images() == in_place);
    CHECK_FALSE(OnePage(layout, Protection::kImages, false).store().wants_images());
    CHECK_FALSE(OnePage(layout, Protection::kDoublewrite).store().wants_images());
    CHECK_FALSE(OnePage(layout, Protection::kNone).store().wants_images());
  }
}

TEST_CASE("A store writes in place once while it may rely on images, and twice while it may not") {
  OnePage page("overwrite", Protection::kImages);
  CHECK(page.WritesTwice());
  page.store().RelyOnImages(true);
  CHECK_FALSE(page.WritesTwice());
  CHECK_FALSE(page.WritesTwice());
  page.store().RelyOnImages(false);
  CHECK(page.WritesTwice());
}

TEST_CASE("A store that wants no images protects its pages by itself, whatever the log holds") {
  OnePage twice("overwrite", Protection::kDoublewrite);
  twice.store().RelyOnImages(true);
  CHECK(twice.WritesTwice());
  OnePage once("overwrite", Protection::kNone);
  once.store().RelyOnImages(false);
  CHECK_FALSE(once.WritesTwice());
}

}  // namespace
}  // namespace latchkey::torn_write_protection_test
