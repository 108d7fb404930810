#include "bufferpool/replacement/frame_heap.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "storage/base/rng.h"

namespace latchkey::frame_heap_test {
namespace {

using Heap = FrameHeap<uint64_t>;
using Order = std::set<std::pair<uint64_t, FrameSlot>>;

void CheckOrder(const Heap& heap, const Order& expected) {
  std::vector<FrameSlot> first(expected.size() + 1);
  REQUIRE(heap.CopyFirst(first) == expected.size());
  size_t i = 0;
  for (const auto& [key, slot] : expected) {
    REQUIRE(first[i++] == slot);
    REQUIRE(heap.KeyOf(slot) == key);
  }
}

// Removes the first slot that is not refused, from the heap and from the model.
void RemoveFirst(Heap& heap, Order& order, std::map<FrameSlot, uint64_t>& key_of, Rng& rng) {
  std::set<FrameSlot> refused;
  for (const auto& [key, slot] : order) {
    if (rng.Below(3) == 0) refused.insert(slot);
  }
  FrameSlot expected = kNoFrameSlot;
  std::vector<FrameSlot> offers;
  for (const auto& [key, slot] : order) {
    offers.push_back(slot);
    if (refused.count(slot) == 0) {
      expected = slot;
      break;
    }
  }
  std::vector<FrameSlot> offered;
  REQUIRE(heap.RemoveFirst([&](FrameSlot slot) {
    offered.push_back(slot);
    REQUIRE(heap.KeyOf(slot) == key_of.at(slot));
    return refused.count(slot) == 0;
  }) == expected);
  REQUIRE(offered == offers);
  if (expected == kNoFrameSlot) return;
  order.erase({key_of.at(expected), expected});
  key_of.erase(expected);
}

TEST_CASE("A frame heap keeps its frames in the order of their keys") {
  const uint64_t seed = GENERATE(1, 2, 3, 4, 5);
  const uint32_t slots = GENERATE(1, 2, 6, 50);
  CAPTURE(seed, slots);
  Rng rng(seed);
  Heap heap(slots);
  Order order;
  std::map<FrameSlot, uint64_t> key_of;
  for (int step = 0; step < 3000; ++step) {
    const auto slot = static_cast<FrameSlot>(rng.Below(slots));
    const uint64_t key = rng.Below(2 * slots);
    REQUIRE(heap.Contains(slot) == (key_of.count(slot) == 1));
    if (rng.Below(6) == 0) {
      RemoveFirst(heap, order, key_of, rng);
    } else if (key_of.count(slot) == 0) {
      heap.Insert(slot, key);
      key_of[slot] = key;
      order.insert({key, slot});
    } else {
      order.erase({key_of[slot], slot});
      if (rng.Below(2) == 0) {
        heap.Remove(slot);
        key_of.erase(slot);
      } else {
        heap.Update(slot, key);
        key_of[slot] = key;
        order.insert({key, slot});
      }
    }
    REQUIRE(heap.size() == order.size());
    CheckOrder(heap, order);
  }
}

TEST_CASE("A frame heap keeps its frames when it grows") {
  Heap heap(2);
  heap.Insert(0, 7);
  heap.Insert(1, 3);
  heap.Grow(4);
  heap.Insert(3, 5);
  CheckOrder(heap, {{3, 1}, {5, 3}, {7, 0}});
}

}  // namespace
}  // namespace latchkey::frame_heap_test
