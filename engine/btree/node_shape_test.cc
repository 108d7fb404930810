// The shape that is proved of every tree page from the device before the page is changed. In the
// fuzz targets, pages that passed their checksum and made no sense ended the process.
#include <catch2/catch.hpp>
#include <cstring>

#include "engine/btree/tree.h"
#include "engine/log/testing/logged_trees.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey::node_shape_test {
namespace {

constexpr uint32_t kPage = 4096;

AlignedBuffer SomeLeaf() {
  AlignedBuffer page(kPage);
  NodeEditor leaf(page.data(), kPage);
  leaf.Init(0, Fences{.lower = "key/", .upper = "key0"});
  for (int i = 0; i < 60; ++i) {
    const std::string key = "key/" + std::to_string(i * 7919 % 1000);
    const SlotPosition position = leaf.LowerBound(key);
    if (!position.exact) leaf.Insert(position.slot, key, std::string(i % 30, 'v'), 0);
  }
  return page;
}

absl::Status Shape(const AlignedBuffer& page) {
  return CheckPageShape(PageId{7}, {page.data(), kPage});
}

TEST_CASE("A sound tree page has a sound shape, whatever its fences, and others are not judged") {
  AlignedBuffer page = SomeLeaf();
  CHECK(Shape(page).ok());
  AlignedBuffer overflow(kPage);
  overflow.data()[offsetof(PageHeader, page_type)] =
      std::byte{static_cast<uint8_t>(PageType::kOverflow)};
  CHECK(Shape(overflow).ok());
}

TEST_CASE("Impossible counts, records outside of the page and keys out of order are damage") {
  const auto refused = [](uint32_t offset, uint16_t value) {
    AlignedBuffer page = SomeLeaf();
    std::memcpy(page.data() + offset, &value, sizeof(value));
    const absl::Status shape = Shape(page);
    INFO("bytes at " << offset << " = " << value);
    CHECK(absl::IsDataLoss(shape));
    CHECK(std::string(shape.message()).find("page 7") == 0);
  };
  refused(node_format::kCount, 5000);
  refused(node_format::kPrefixLength, 2000);
  refused(node_format::kFencePrefixLength, 9);
  refused(node_format::kHeapSize, 4000);
  refused(node_format::kFragmented, 77);
  refused(node_format::kSlots + 4, 4095);  // the record of the first slot
  refused(node_format::kSlots + 10, 0);    // the upper half of the second slot's head
  refused(node_format::kLevel, 3);         // a leaf's type at an inner page's level
}

TEST_CASE("A page whose shape is damaged is never seen through the pool") {
  MapPageStore store(ThreadRuntime(), kPage);
  const auto id = store.AllocatePage();
  REQUIRE(id.ok());
  AlignedBuffer page = SomeLeaf();
  const uint16_t impossible = 5000;
  std::memcpy(page.data() + node_format::kCount, &impossible, sizeof(impossible));
  const auto writer = store.NewWriter(1);
  const PageWrite write{.id = *id, .data = page.data()};
  size_t accepted = 0;
  REQUIRE((*writer)->Submit({&write, 1}, &accepted).ok());

  const auto pool = MakeTestPool(store, 64);
  pool->SetPageCheck(&CheckPageShape);
  ExclusiveGuard guard;
  CHECK(absl::IsDataLoss(pool->FixExclusive(pool->Here(), *id, &guard)));
  pool->Prefetch(pool->Here(), {&*id, 1});
  CHECK_FALSE(pool->IsResident(*id));
}

TEST_CASE("A descent that comes to a page of another type ends in damage") {
  MapPageStore store(ThreadRuntime(), kPage);
  const auto pool = MakeTestPool(store, 64);
  const auto root = BTree::Create(*pool);
  REQUIRE(root.ok());
  {
    ExclusiveGuard guard;
    REQUIRE(pool->FixExclusive(pool->Here(), *root, &guard).ok());
    guard.Mutable()[offsetof(PageHeader, page_type)] =
        std::byte{static_cast<uint8_t>(PageType::kOverflow)};
  }
  BTree tree(*pool, *root);
  OptimisticGuard leaf;
  CHECK(absl::IsDataLoss(tree.FindLeaf(pool->Here(), "key", &leaf)));
  CHECK(absl::IsDataLoss(tree.Split(pool->Here(), {.key = "key", .value_size = 10})));
}

}  // namespace
}  // namespace latchkey::node_shape_test
