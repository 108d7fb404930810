// Creating, opening, closing and refusing to open.
#include <catch2/catch.hpp>
#include <cstring>

#include "layout/checkpoint/superblock.h"
#include "layout/geometry.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/hash.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey::segment_store_open_test {
namespace {

void WritePage(SegmentStore& store, PageId id, uint64_t version) {
  auto writer = *store.NewWriter(1);
  TestPage page;
  page.Fill(id, version);
  const PageWrite write{id, page.data()};
  size_t accepted = 0;
  REQUIRE(writer->Submit({&write, 1}, &accepted).ok());
  REQUIRE(writer->Wait(0).ok());
}

// A device with a cleanly closed store of one page.
std::shared_ptr<BlockDevice> ClosedStore() {
  auto device = NewTestDevice();
  auto opened = OpenTestStore(device, TestOptions());
  REQUIRE(opened.ok());
  WritePage(*opened->store, *opened->store->AllocatePage(), 1);
  REQUIRE(opened->store->Checkpoint({}, /*clean=*/true).ok());
  return device;
}

std::vector<std::byte> HeaderOf(BlockDevice& device) {
  AlignedBuffer buffer(kHeaderAreaBytes);
  REQUIRE(device.Read(0, buffer.span(), IoClass::kMeta).ok());
  return {buffer.data(), buffer.data() + buffer.size()};
}

// Opening must fail with this code and these words, and change nothing.
void CheckRefused(std::shared_ptr<BlockDevice> device, const SegmentStoreOptions& options,
                  absl::StatusCode code, const std::string& words) {
  const auto before = HeaderOf(*device);
  const uint64_t writes = device->stats().of(IoClass::kMeta).bytes;
  const auto opened = OpenTestStore(device, options);
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.status().code() == code);
  CHECK_THAT(std::string(opened.status().message()), Catch::Contains(words));
  CHECK(HeaderOf(*device) == before);
  CHECK(device->stats().of(IoClass::kMeta).bytes > writes);  // it was read
}

void Damage(BlockDevice& device, uint64_t offset) {
  AlignedBuffer block(4096);
  REQUIRE(device.Read(offset, block.span(), IoClass::kMeta).ok());
  block.data()[100] ^= std::byte{1};
  REQUIRE(device.Write(offset, block.span(), IoClass::kMeta).ok());
}

TEST_CASE("Options out of range are refused with what is allowed") {
  const auto refuse = [](auto change, const std::string& words) {
    SegmentStoreOptions options = TestOptions();
    change(options);
    const auto opened = OpenTestStore(NewTestDevice(), options);
    REQUIRE(absl::IsInvalidArgument(opened.status()));
    CHECK_THAT(std::string(opened.status().message()), Catch::Contains(words));
  };
  refuse([](auto& o) { o.space_utilization = 0.49; }, "outside 0.5-0.98");
  refuse([](auto& o) { o.space_utilization = 0.99; }, "outside 0.5-0.98");
  refuse([](auto& o) { o.page_size = 5000; }, "page size 5000");
  refuse([](auto& o) { o.segment_size = 32 << 10; }, "65536-67108864");
  refuse([](auto& o) { o.segment_size = 70'000; }, "give e.g. 69632 or 73728");
  refuse([](auto& o) { o.page_size = 16384; }, "at least 131072 bytes");
}

TEST_CASE("A store that was not closed cleanly is refused with the remedy") {
  auto device = NewTestDevice();
  {
    auto opened = OpenTestStore(device, TestOptions());
    REQUIRE(opened.ok());
    WritePage(*opened->store, *opened->store->AllocatePage(), 1);
    REQUIRE(opened->store->Checkpoint({}, /*clean=*/false).ok());
  }
  CheckRefused(device, TestOptions(), absl::StatusCode::kFailedPrecondition,
               "was not closed cleanly");
}

TEST_CASE("The first change of a cleanly closed store makes it unclean on the device") {
  auto device = ClosedStore();
  {
    auto opened = OpenTestStore(device, TestOptions());
    REQUIRE(opened.ok());
    WritePage(*opened->store, PageId{0}, 2);
  }
  CheckRefused(device, TestOptions(), absl::StatusCode::kFailedPrecondition,
               "was not closed cleanly");
}

TEST_CASE("A store that was opened and only read stays clean and unchanged") {
  auto device = ClosedStore();
  const auto before = HeaderOf(*device);
  for (int i = 0; i < 2; ++i) {
    auto opened = OpenTestStore(device, TestOptions());
    REQUIRE(opened.ok());
    TestPage page;
    REQUIRE(opened->store->ReadPage(PageId{0}, page.data()).ok());
    CHECK(page.Holds(PageId{0}, 1));
    REQUIRE(opened->store->Checkpoint({}, /*clean=*/true).ok());
  }
  CHECK(HeaderOf(*device) == before);
}

TEST_CASE("Foreign, truncated and mismatched files are refused and not touched") {
  const auto open = TestOptions();
  SECTION("foreign") {
    auto device = NewTestDevice();
    REQUIRE(device->Resize(4 << 20).ok());
    AlignedBuffer block(4096);
    std::memcpy(block.data(), "SQLite format 3", 15);
    for (const uint64_t offset : {0, 4096}) {
      REQUIRE(device->Write(offset, block.span(), IoClass::kMeta).ok());
    }
    CheckRefused(device, open, absl::StatusCode::kFailedPrecondition, "not a Latchkey data file");
  }
  SECTION("zeros") {
    auto device = NewTestDevice();
    REQUIRE(device->Resize(4 << 20).ok());
    CheckRefused(device, open, absl::StatusCode::kDataLoss, "not a Latchkey data file");
  }
  SECTION("another page size") {
    auto options = open;
    options.page_size = 8192;
    CheckRefused(ClosedStore(), options, absl::StatusCode::kInvalidArgument,
                 "has pages of 4096 bytes, 8192 were asked for");
  }
  SECTION("another segment size") {
    auto options = open;
    options.segment_size = 128 << 10;
    CheckRefused(ClosedStore(), options, absl::StatusCode::kInvalidArgument,
                 "has segments of 65536 bytes");
  }
  SECTION("page compression in a file without") {
    CheckRefused(ClosedStore(), TestOptions(Compressed("lfs")), absl::StatusCode::kInvalidArgument,
                 "page compression");
  }
  SECTION("truncated") {
    auto device = ClosedStore();
    REQUIRE(device->Resize(device->geometry().size_bytes - 4096).ok());
    CheckRefused(device, open, absl::StatusCode::kDataLoss, "truncated");
  }
  SECTION("an open store wanted, nothing there") {
    auto options = open;
    options.mode = SegmentStoreOptions::Mode::kOpen;
    CHECK(absl::IsFailedPrecondition(OpenTestStore(NewTestDevice(), options).status()));
  }
  SECTION("a new store wanted, something there") {
    auto options = open;
    options.mode = SegmentStoreOptions::Mode::kCreate;
    CHECK(absl::IsFailedPrecondition(OpenTestStore(ClosedStore(), options).status()));
  }
  SECTION("a newer format") {
    auto device = ClosedStore();
    auto superblock = *ReadNewestSuperblock(*device);
    SuperblockLayout block = EncodeSuperblock(superblock);
    block.format_version = 3;
    block.checksum = 0;
    block.checksum = Hash64(&block, sizeof(block));
    AlignedBuffer buffer(sizeof(block));
    std::memcpy(buffer.data(), &block, sizeof(block));
    for (const uint64_t generation : {0, 1}) {
      for (const int copy : {0, 1}) {
        REQUIRE(
            device->Write(SuperblockOffset(generation, copy), buffer.span(), IoClass::kMeta).ok());
      }
    }
    CheckRefused(device, open, absl::StatusCode::kFailedPrecondition, "format version 3");
  }
}

TEST_CASE("One damaged superblock copy is survived, both copies of a generation are not") {
  auto device = ClosedStore();
  const uint64_t generation = ReadNewestSuperblock(*device)->generation;
  Damage(*device, SuperblockOffset(generation, 0));
  CHECK(OpenTestStore(device, TestOptions()).ok());
  Damage(*device, SuperblockOffset(generation, 1));
  CheckRefused(device, TestOptions(), absl::StatusCode::kDataLoss, "restore a backup");
}

TEST_CASE("A damaged checkpoint is refused") {
  auto device = ClosedStore();
  const Superblock superblock = *ReadNewestSuperblock(*device);
  Damage(*device, kHeaderAreaBytes + superblock.checkpoint_segment * superblock.segment_size);
  CheckRefused(device, TestOptions(), absl::StatusCode::kDataLoss, "checkpoint");
}

TEST_CASE("Any layout opens what another has written, at another space utilisation") {
  auto device = NewTestDevice();
  constexpr uint64_t kPages = 2000;
  using Names = std::vector<std::string>;
  const Names layouts = GENERATE(
      Names{"overwrite", "lfs", "hylog", "wolf", "overwrite"},
      Names{Compressed("lfs"), "overwrite", Compressed("hylog"), "lfs", Compressed("wolf")});
  const double utilizations[] = {0.8, 0.5, 0.95, 0.7, 0.9};
  for (size_t round = 0; round < 5; ++round) {
    SegmentStoreOptions options = TestOptions(layouts[round]);
    options.space_utilization = utilizations[round];
    auto opened = OpenTestStore(device, options);
    REQUIRE(opened.ok());
    SegmentStore& store = *opened->store;
    TestPage page;
    for (uint64_t i = 0; i < kPages; ++i) {
      if (round == 0) {
        REQUIRE(*store.AllocatePage() == PageId{i});
      } else {
        REQUIRE(store.ReadPage(PageId{i}, page.data()).ok());
        REQUIRE(page.Holds(PageId{i}, round));
      }
      WritePage(store, PageId{i}, round + 1);
    }
    REQUIRE(store.Checkpoint({}, /*clean=*/true).ok());
  }
}

TEST_CASE("Freed ids are reused after reopening, and an id's earlier life is not mistaken for it") {
  auto device = ClosedStore();
  auto opened = OpenTestStore(device, TestOptions());
  REQUIRE(opened.ok());
  opened->store->FreePage(PageId{0});
  REQUIRE(opened->store->Checkpoint({}, /*clean=*/true).ok());
  opened->store.reset();
  opened = OpenTestStore(device, TestOptions());
  REQUIRE(opened.ok());
  TestPage page;
  CHECK(absl::IsInvalidArgument(opened->store->ReadPage(PageId{0}, page.data())));
  CHECK(*opened->store->AllocatePage() == PageId{0});
  CHECK(absl::IsNotFound(opened->store->ReadPage(PageId{0}, page.data())));
}

TEST_CASE("A page id can be adopted, whether it was handed out before or not") {
  auto opened = OpenTestStore(NewTestDevice(), TestOptions());
  REQUIRE(opened.ok());
  SegmentStore& store = *opened->store;
  REQUIRE(*store.AllocatePage() == PageId{0});
  WritePage(store, PageId{0}, 1);
  CHECK_FALSE(store.IsAllocated(PageId{3}));
  REQUIRE(store.AdoptPage(PageId{3}).ok());
  REQUIRE(store.AdoptPage(PageId{0}).ok());  // keeps its content
  REQUIRE(store.AdoptPage(PageId{1}).ok());  // became free when 3 was adopted
  CHECK(store.IsAllocated(PageId{3}));
  TestPage page;
  CHECK(store.ReadPage(PageId{0}, page.data()).ok());
  CHECK(absl::IsNotFound(store.ReadPage(PageId{3}, page.data())));
  CHECK(*store.AllocatePage() == PageId{2});
  CHECK(*store.AllocatePage() == PageId{4});
  store.FreePage(PageId{1});
  CHECK_FALSE(store.IsAllocated(PageId{1}));
  store.FreePage(PageId{1});  // free already
  CHECK(*store.AllocatePage() == PageId{1});
  CHECK(*store.AllocatePage() == PageId{5});
  CHECK(store.stats().live_pages == 6);
}

TEST_CASE("The segment size can be measured at creation") {
  SegmentStoreOptions options = TestOptions();
  options.segment_size = 0;
  options.assumed_costs.reset();
  auto opened = OpenTestStore(NewTestDevice(), options);
  REQUIRE(opened.ok());
  CHECK(opened->store->segment_size() >= 128 << 10);
  CHECK(opened->store->segment_size() <= 4 << 20);
  CHECK(opened->store->measured_costs().page_write_ns > 0);
}

TEST_CASE("A client root larger than its place is refused") {
  auto opened = OpenTestStore(NewTestDevice(), TestOptions());
  REQUIRE(opened.ok());
  const std::vector<std::byte> root(2049);
  CHECK(absl::IsInvalidArgument(opened->store->Checkpoint(root, /*clean=*/false)));
}

}  // namespace
}  // namespace latchkey::segment_store_open_test
