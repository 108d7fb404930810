// Damage on the device and failing writes: a read returns right data or an error, never wrong data.
#include <catch2/catch.hpp>
#include <cstring>

#include "layout/geometry.h"
#include "layout/testing/failing_writes.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey::segment_store_fault_test {
namespace {

constexpr uint64_t kPages = 300;

struct Store {
  explicit Store(const SegmentStoreOptions& options, std::shared_ptr<BlockDevice> on)
      : device(std::move(on)) {
    auto opened = OpenTestStore(device, options);
    REQUIRE(opened.ok());
    store = std::move(opened->store);
    writer = *store->NewWriter(8);
    for (uint64_t i = 0; i < kPages; ++i) {
      REQUIRE(*store->AllocatePage() == PageId{i});
      REQUIRE(Write(i, 1).ok());
    }
    REQUIRE(store->Flush().ok());
  }
  ~Store() { writer.reset(); }
  absl::Status Write(uint64_t i, uint64_t version) {
    page.Fill(PageId{i}, version);
    const PageWrite write{PageId{i}, page.data()};
    size_t accepted = 0;
    return writer->Submit({&write, 1}, &accepted);
  }
  // The page's place on the device, found by its header as salvage finds it.
  uint64_t OffsetOf(uint64_t i) {
    AlignedBuffer block(kDefaultPageSize);
    uint64_t found = 0;
    for (uint64_t offset = kHeaderAreaBytes; offset < device->geometry().size_bytes;
         offset += kDefaultPageSize) {
      REQUIRE(device->Read(offset, block.span(), IoClass::kMeta).ok());
      const PageHeader header = PageHeaderOf(block.span());
      if (header.checksum != 0 && header.page_id == i) found = offset;
    }
    REQUIRE(found != 0);
    return found;
  }
  std::vector<std::byte> Get(uint64_t offset) {
    AlignedBuffer block(kDefaultPageSize);
    REQUIRE(device->Read(offset, block.span(), IoClass::kMeta).ok());
    return {block.data(), block.data() + block.size()};
  }
  void Put(uint64_t offset, const std::vector<std::byte>& bytes) {
    AlignedBuffer block(bytes.size());
    std::memcpy(block.data(), bytes.data(), bytes.size());
    REQUIRE(device->Write(offset, block.span(), IoClass::kMeta).ok());
  }
  void CheckLost(uint64_t i, const std::string& words) {
    const absl::Status status = store->ReadPage(PageId{i}, page.data());
    CHECK(absl::IsDataLoss(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains(words));
    std::vector<PageRead> reads = {{PageId{i}, page.data(), {}}, {PageId{i}, page.data(), {}}};
    store->ReadPages(reads);
    CHECK(absl::IsDataLoss(reads[0].status));
  }

  std::shared_ptr<BlockDevice> device;
  std::unique_ptr<SegmentStore> store;
  std::unique_ptr<PageWriter> writer;
  TestPage page;
};

TEST_CASE("Bit rot, misdirected and lost writes are found when the page is read") {
  const std::string layout = GENERATE(std::string("overwrite"), std::string("lfs"));
  CAPTURE(layout);
  Store s(TestOptions(layout), NewTestDevice());
  SECTION("bit rot") {
    auto bytes = s.Get(s.OffsetOf(7));
    bytes[2000] ^= std::byte{16};
    s.Put(s.OffsetOf(7), bytes);
    s.CheckLost(7, "checksum mismatch");
  }
  SECTION("misdirected") {
    s.Put(s.OffsetOf(7), s.Get(s.OffsetOf(8)));
    s.CheckLost(7, "found page 8 in its place");
    CHECK(s.store->ReadPage(PageId{8}, s.page.data()).ok());
  }
  SECTION("lost") {
    const auto old = s.Get(s.OffsetOf(7));
    REQUIRE(s.Write(7, 2).ok());
    REQUIRE(s.store->Flush().ok());
    const uint64_t now = s.OffsetOf(7);
    s.Put(now, old);
    s.CheckLost(7, "expected write 2");
  }
}

TEST_CASE("The segment cleaner leaves a damaged page where it is and works on") {
  SegmentStoreOptions options = TestOptions("lfs", "greedy");
  Store s(options, NewTestDevice());
  auto bytes = s.Get(s.OffsetOf(7));
  bytes[2000] ^= std::byte{16};
  s.Put(s.OffsetOf(7), bytes);
  Rng rng(1);
  for (int n = 0; n < 5000; ++n) REQUIRE(s.Write(8 + rng.Below(kPages - 8), 2).ok());
  s.CheckLost(7, "checksum mismatch");
  for (uint64_t i = 8; i < kPages; ++i) {
    CHECK(s.store->ReadPage(PageId{i}, s.page.data()).ok());
  }
}

TEST_CASE("A device that takes no write turns the store read-only, and pages come from copies") {
  const std::string layout = GENERATE(std::string("overwrite"), std::string("lfs"));
  CAPTURE(layout);
  auto device = std::make_shared<FailingWrites>(NewTestDevice());
  Store s(TestOptions(layout), device);
  device->fail_writes = true;
  REQUIRE(s.Write(7, 2).ok());
  CHECK_FALSE(s.store->Flush().ok());
  if (layout == "overwrite") CHECK(absl::IsUnavailable(s.writer->Wait(0)));
  const absl::Status refused = s.Write(8, 2);
  CHECK(absl::IsUnavailable(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("read-only"));
  REQUIRE(s.store->ReadPage(PageId{7}, s.page.data()).ok());
  CHECK(s.page.Holds(PageId{7}, 2));
  REQUIRE(s.store->ReadPage(PageId{9}, s.page.data()).ok());
  CHECK(s.page.Holds(PageId{9}, 1));
  device->fail_writes = false;  // the store stays read-only all the same
  CHECK_FALSE(s.store->Checkpoint({}, /*clean=*/true).ok());
  CHECK_FALSE(s.store->AllocatePage().ok());
}

TEST_CASE("A failed sync is final") {
  auto device = std::make_shared<FailingWrites>(NewTestDevice());
  Store s(TestOptions("overwrite"), device);
  const WriteTicket durable = s.store->durable_ticket();
  REQUIRE(s.Write(7, 2).ok());
  device->fail_syncs = true;
  CHECK_FALSE(s.store->Flush().ok());
  device->fail_syncs = false;
  CHECK_FALSE(s.store->Flush().ok());
  CHECK(s.store->durable_ticket() == durable);
}

TEST_CASE("A journal that cannot be written turns the store read-only, and a reopen recovers") {
  auto data = NewTestDevice();
  auto journal = std::make_shared<FailingWrites>(NewTestDevice());
  auto opened = OpenTestStore(data, TestOptions(), journal);
  REQUIRE(opened.ok());
  TestPage page;
  const auto write = [&](uint64_t i, uint64_t version) {
    auto writer = *opened->store->NewWriter(1);
    page.Fill(PageId{i}, version);
    const PageWrite request{PageId{i}, page.data()};
    size_t accepted = 0;
    return writer->Submit({&request, 1}, &accepted);
  };
  REQUIRE(opened->store->AllocatePage().ok());
  REQUIRE(write(0, 1).ok());
  REQUIRE(opened->store->Flush().ok());
  const WriteTicket durable = opened->store->durable_ticket();
  journal->fail_syncs = true;
  REQUIRE(write(0, 2).ok());
  CHECK_FALSE(opened->store->Flush().ok());
  journal->fail_syncs = false;
  CHECK_FALSE(opened->store->Flush().ok());
  CHECK_THAT(std::string(write(0, 3).message()), Catch::Contains("read-only"));
  CHECK_FALSE(opened->store->Checkpoint({}, /*clean=*/true).ok());
  CHECK(opened->store->durable_ticket() == durable);
  opened->store.reset();
  opened = OpenTestStore(data, TestOptions(), journal);
  REQUIRE(opened.ok());
  REQUIRE(opened->store->ReadPage(PageId{0}, page.data()).ok());
  CHECK((page.Holds(PageId{0}, 1) || page.Holds(PageId{0}, 2)));
}

}  // namespace
}  // namespace latchkey::segment_store_fault_test
