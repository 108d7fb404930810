// Garbage: reading it is safe, and Check finds planted faults.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "engine/btree/node.h"
#include "engine/btree/testing/node_test_util.h"

namespace latchkey::node_check_test {
namespace {

using namespace node_testing;  // NOLINT(build/namespaces)

const Fences kFences = {.lower = "key/1", .upper = "key/2"};

PageBuffer MakeLeaf(uint32_t page_size, Rng& rng) {
  PageBuffer buffer(page_size);
  NodeEditor node = buffer.editor();
  node.Init(0, kFences);
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key/1" + RandomBytes(rng, rng.Below(12), 4);
    const SlotPosition position = node.LowerBound(key);
    if (position.exact) {
      node.Remove(position.slot);
    } else {
      node.Insert(position.slot, key, RandomBytes(rng, rng.Below(30)), 0);
    }
  }
  return buffer;
}

PageBuffer MakeInner(uint32_t page_size, Rng& rng) {
  PageBuffer buffer(page_size);
  NodeEditor node = buffer.editor();
  node.Init(1, kFences);
  node.SetRightmost(PageId{1});
  for (uint64_t i = 2; i < 150; ++i) {
    const std::string key = "key/12" + RandomBytes(rng, 1 + rng.Below(12), 4);
    const SlotPosition position = node.LowerBound(key);
    if (position.exact) continue;
    node.InsertSeparator(position.slot, key, node.Child(position.slot), PageId{i});
  }
  return buffer;
}

/// Calls every function that a reader without a latch may call. Only memory safety is at stake.
void ReadEverything(const NodeView& node, Rng& rng) {
  std::string text;
  node.AppendPrefix(&text);
  char bytes[64];
  uint64_t sum = node.FreeBytes() + node.UsedBytes() + node.level() + Raw(node.last_writer()) +
                 node.page_flags() + static_cast<uint64_t>(node.type());
  sum += node.HasRoomForAnySeparator();
  NodeView::Prefetch(node.page());
  for (int i = 0; i < 8; ++i) {
    const std::string key = i == 0   ? std::string()
                            : i == 1 ? std::string(kMaxNodeKeySize, '\xff')
                                     : "key/1" + RandomBytes(rng, rng.Below(20), 4);
    const SlotPosition position = node.LowerBound(key);
    sum += node.ChildSlotFor(key) + node.HasRoomFor(key, 10);
    for (const auto slot : {position.slot, static_cast<uint32_t>(rng.Below(200)), node.count(),
                            static_cast<uint32_t>(rng.Next())}) {
      text.clear();
      sum += node.AppendKey(slot, &text) + node.CopyValue(slot, &text);
      sum += node.CopyValueExactly(slot, bytes, rng.Below(sizeof(bytes)));
      sum += static_cast<uint64_t>(node.CompareKey(slot, key) + node.flags(slot));
      sum += node.value_size(slot) + Raw(node.Child(slot));
      node.PrefetchRecord(slot);
    }
  }
  REQUIRE(node.count() <= node.page_size() / 8);
  REQUIRE((sum | 1) != 0);
}

/// Destroys bytes, mostly where it hurts: in the header and the slots.
void Mutate(PageBuffer& buffer, Rng& rng) {
  const uint64_t changes = 1 + rng.Below(8);
  for (uint64_t i = 0; i < changes; ++i) {
    const uint64_t range = rng.Below(4);
    const uint64_t at = range == 0   ? 32 + rng.Below(32)
                        : range == 1 ? 64 + rng.Below(400)
                                     : rng.Below(buffer.size());
    buffer.bytes()[at] = static_cast<std::byte>(rng.Below(3) == 0 ? 255 : rng.Below(256));
  }
}

TEST_CASE("reading and checking random bytes is safe") {
  Rng rng(1);
  for (uint32_t page_size = kMinPageSize; page_size <= kMaxPageSize; page_size *= 2) {
    PageBuffer buffer(page_size);
    for (int round = 0; round < 60; ++round) {
      for (uint32_t i = 0; i < page_size; i += 8) {
        const uint64_t word = rng.Next();
        std::memcpy(buffer.bytes() + i, &word, sizeof(word));
      }
      if (round % 2 == 0) buffer.bytes()[node_format::kLevel] = std::byte{0};
      ReadEverything(buffer.editor(), rng);
      CHECK_FALSE(buffer.editor().Check(kFences).ok());
    }
  }
}

TEST_CASE("reading and checking damaged pages is safe") {
  constexpr int kRounds = kThreadSanitizer ? 50 : 1500;  // one thread has no races to find
  Rng rng(2);
  for (const uint32_t page_size : {kMinPageSize, kMaxPageSize}) {
    for (int round = 0; round < kRounds; ++round) {
      PageBuffer buffer = round % 2 == 0 ? MakeLeaf(page_size, rng) : MakeInner(page_size, rng);
      Mutate(buffer, rng);
      ReadEverything(buffer.editor(), rng);
      const NodeEditor node = buffer.editor();
      if (!node.Check(kFences).ok()) continue;
      // A page that Check accepts can be searched and compacted, and has the same records.
      if (node.is_leaf()) RequireSame(node, Contents(node), kFences);
      buffer.editor().Compact();
      RequireValid(node, kFences);
    }
  }
}

TEST_CASE("slot numbers that no page has read as nothing") {
  Rng rng(3);
  PageBuffer leaf = MakeLeaf(kMinPageSize, rng);
  std::string text;
  for (const uint32_t slot : {kMinPageSize, 100'000u, UINT32_MAX}) {
    CHECK_FALSE(leaf.editor().CopyValue(slot, &text));
    CHECK_FALSE(leaf.editor().AppendKey(slot, &text));
    CHECK(leaf.editor().value_size(slot) == 0);
    CHECK(leaf.editor().Value(slot).empty());
    CHECK(leaf.editor().Child(slot) == kInvalidPageId);
  }
}

/// Flips bytes of a valid page and expects Check to say so.
class Fault {
 public:
  explicit Fault(PageBuffer buffer) : buffer_(std::move(buffer)) {
    RequireValid(buffer_.editor(), kFences);
  }
  template <typename T>
  Fault& Set(uint32_t offset, T value) {
    std::memcpy(buffer_.bytes() + offset, &value, sizeof(value));
    return *this;
  }
  template <typename T>
  T Get(uint32_t offset) {
    T value;
    std::memcpy(&value, buffer_.bytes() + offset, sizeof(value));
    return value;
  }
  std::string Message() { return std::string(buffer_.editor().Check(kFences).message()); }

 private:
  PageBuffer buffer_;
};

TEST_CASE("Check finds planted faults") {
  using Catch::Matchers::Contains;
  namespace f = node_format;
  Rng rng(4);
  Fault leaf(MakeLeaf(kMinPageSize, rng));
  Fault inner(MakeInner(kMinPageSize, rng));
  const auto slot_word = [&](uint32_t i) {
    return leaf.Get<uint64_t>(f::kSlots + i * f::kSlotSize);
  };

  SECTION("wrong page type") {
    CHECK_THAT(leaf.Set<uint8_t>(28, 2).Message(), Contains("page type 2"));
  }
  SECTION("more slots than the page holds") {
    CHECK_THAT(leaf.Set<uint16_t>(f::kCount, 65535).Message(), Contains("exceed the page size"));
  }
  SECTION("a lost slot") {
    const auto count = leaf.Get<uint16_t>(f::kCount);
    leaf.Set<uint16_t>(f::kLastInsertSlot, f::kNoInsert);
    CHECK_THAT(leaf.Set<uint16_t>(f::kCount, count - 1).Message(), Contains("add up"));
  }
  SECTION("wrong space accounting") {
    const auto fragmented = leaf.Get<uint16_t>(f::kFragmented);
    CHECK_THAT(leaf.Set<uint16_t>(f::kFragmented, fragmented + 1).Message(), Contains("add up"));
  }
  SECTION("swapped slots") {
    const uint64_t first = slot_word(0);
    leaf.Set(f::kSlots, slot_word(1)).Set(f::kSlots + f::kSlotSize, first);
    CHECK_THAT(leaf.Message(), Contains("not in order"));
  }
  SECTION("two slots with one record") {
    const auto offset = leaf.Get<uint16_t>(f::kSlots + 4);
    leaf.Set(f::kSlots + f::kSlotSize + 4, offset);
    CHECK_FALSE(leaf.Message().empty());
  }
  SECTION("a record outside of the heap") {
    CHECK_THAT(leaf.Set<uint16_t>(f::kSlots + 4, 64).Message(), Contains("outside of the heap"));
  }
  SECTION("a head that is not padded") {
    PageBuffer buffer(kMinPageSize);
    buffer.editor().Init(0, kFences);
    REQUIRE(buffer.editor().Insert(0, "key/1", "", 0));
    CHECK_THAT(Fault(buffer).Set<uint8_t>(f::kSlots, 1).Message(), Contains("padded"));
  }
  SECTION("an unknown flag") {
    const auto size_and_flags = leaf.Get<uint16_t>(f::kSlots + 6);
    leaf.Set<uint16_t>(f::kSlots + 6, size_and_flags | 0x8000);
    CHECK_THAT(leaf.Message(), Contains("flags"));
  }
  SECTION("another prefix") {
    CHECK_THAT(leaf.Set<uint8_t>(kMinPageSize - 1, 'x').Message(), Contains("prefix"));
  }
  SECTION("keys outside of the fences") {
    PageBuffer buffer = MakeInner(kMinPageSize, rng);
    CHECK_THAT(std::string(buffer.editor().Check({.lower = "key/13", .upper = "key/14"}).message()),
               Contains("fence") || Contains("prefix"));
  }
  SECTION("a child that is no page") {
    const auto offset = inner.Get<uint16_t>(f::kSlots + 4);
    CHECK_THAT(inner.Set<uint64_t>(offset, kMaxPageIds).Message(), Contains("child 0"));
  }
  SECTION("no rightmost child") {
    CHECK_THAT(inner.Set<uint64_t>(f::kRightmostChild, UINT64_MAX).Message(),
               Contains("rightmost child"));
  }
}

}  // namespace
}  // namespace latchkey::node_check_test
