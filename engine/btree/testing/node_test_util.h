// Shared by the tests of the B+tree page: an aligned page, hostile shapes of keys, and the
// comparison of a page with an ordered map.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/btree/node.h"
#include "engine/btree/node_key.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey::node_testing {

/// The largest page of a sweep over page sizes, and what divides the steps of a long one. One thread
/// edits the pages, so ThreadSanitizer has no races to find in a long sweep.
inline constexpr uint32_t kLargestSwept = kSanitizer ? 4 * kMinPageSize : kMaxPageSize;
inline constexpr uint32_t kSweepShorter = kSanitizer ? 3 : 1;

/// The content of a leaf: key -> value and flags.
struct Record {
  std::string value;
  RecordFlags flags = 0;
  bool operator==(const Record&) const = default;
};
using Leaf = std::map<std::string, Record>;

/// The memory of one page, filled with a byte that is not zero.
class PageBuffer {
 public:
  explicit PageBuffer(uint32_t page_size)
      : size_(page_size), words_(page_size / 8, 0xa5a5a5a5a5a5a5a5u) {}

  std::byte* bytes() { return reinterpret_cast<std::byte*>(words_.data()); }
  uint32_t size() const { return size_; }
  NodeEditor editor() { return {bytes(), size_}; }

 private:
  uint32_t size_;
  std::vector<uint64_t> words_;
};

/// Ways to make keys; each finds other weak spots.
enum class KeyShape { kAscending, kDescending, kUniform, kAnyLength, kEqualHeads, kZeros, kLong };

inline const std::vector<KeyShape>& AllKeyShapes() {
  static const std::vector<KeyShape> shapes = {
      KeyShape::kAscending,  KeyShape::kDescending, KeyShape::kUniform, KeyShape::kAnyLength,
      KeyShape::kEqualHeads, KeyShape::kZeros,      KeyShape::kLong};
  return shapes;
}

inline std::string BigEndian(uint64_t number) {
  std::string key(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8)
    key[static_cast<size_t>(i)] = static_cast<char>(number);
  return key;
}

inline std::string RandomBytes(Rng& rng, size_t size, uint64_t alphabet = 256) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(rng.Below(alphabet));
  return bytes;
}

/// The `i`-th key of a shape; may repeat an earlier one.
inline std::string MakeKey(KeyShape shape, uint64_t i, Rng& rng) {
  switch (shape) {
    case KeyShape::kAscending:
      return BigEndian(1'000'000 + i);
    case KeyShape::kDescending:
      return BigEndian(1'000'000 - i);
    case KeyShape::kUniform:
      return BigEndian(rng.Next());
    case KeyShape::kAnyLength:
      return RandomBytes(rng, rng.Below(24));
    case KeyShape::kEqualHeads:
      return "head" + RandomBytes(rng, rng.Below(12), 3);
    case KeyShape::kZeros:
      return RandomBytes(rng, rng.Below(10), 2);
    case KeyShape::kLong:
      return RandomBytes(rng, kMaxNodeKeySize - rng.Below(2) * rng.Below(kMaxNodeKeySize), 2);
  }
  return "";
}

inline std::string MakeValue(Rng& rng, uint32_t page_size, size_t key_size) {
  const size_t largest = MaxInlineValue(page_size, key_size);
  switch (rng.Below(8)) {
    case 0:
      return "";
    case 1:
      return RandomBytes(rng, largest);
    case 2:
      return RandomBytes(rng, rng.Below(largest + 1));
    default:
      return RandomBytes(rng, rng.Below(std::min<size_t>(largest, 100) + 1));
  }
}

inline Leaf Contents(const LatchedNodeView& node) {
  Leaf leaf;
  for (uint32_t i = 0; i < node.count(); ++i) {
    std::string key;
    REQUIRE(node.AppendKey(i, &key));
    leaf[key] = {std::string(node.Value(i)), node.flags(i)};
  }
  REQUIRE(leaf.size() == node.count());
  return leaf;
}

inline void RequireValid(const LatchedNodeView& node, const Fences& fences) {
  const absl::Status status = node.Check(fences);
  INFO(status.ToString());
  REQUIRE(status.ok());
}

/// Requires that every reading function agrees with the map.
inline void RequireSame(const NodeEditor& node, const Leaf& expected, const Fences& fences) {
  RequireValid(node, fences);
  REQUIRE(node.count() == expected.size());
  uint32_t slot = 0;
  for (const auto& [key, record] : expected) {
    const SlotPosition position = node.LowerBound(key);
    std::string text = "+";
    const bool key_same = node.AppendKey(slot, &text) && text == "+" + key;
    const bool value_same = node.CopyValue(slot, &text) && text == record.value &&
                            node.Value(slot) == text && node.value_size(slot) == text.size();
    CAPTURE(slot, key_same, value_same, position.exact, position.slot);
    REQUIRE((position.exact && position.slot == slot && node.CompareKey(slot, key) == 0 &&
             key_same && value_same && node.flags(slot) == record.flags));
    ++slot;
  }
}

}  // namespace latchkey::node_testing
