// Search within a page: a binary search without branches over the slots' heads, then whole keys
// only among equal heads. Every loop is bounded by the number of slots a page can hold, whatever it
// reads.
#include <algorithm>

#include "engine/btree/node.h"
#include "engine/btree/node_key.h"

namespace latchkey {

using namespace node_format;  // NOLINT(build/namespaces): the field names of this page

namespace {

/// Header and the slots of 32 records: a typical leaf of 4 KiB.
constexpr uint32_t kPrefetchedLines = 5;

constexpr int Sign(size_t a, size_t b) { return a < b ? -1 : static_cast<int>(a > b); }

}  // namespace

void NodeView::Prefetch(const std::byte* page) {
  for (uint32_t line = 0; line < kPrefetchedLines; ++line) {
    __builtin_prefetch(page + line * kCacheLine);
  }
}

/// The lines a search may touch, all on their way at once instead of one after the other: in a page
/// that is not in the processor's caches this saves a third of the search. `Prefetch` took the
/// first lines; of very many slots every n-th line is taken.
inline void NodeView::PrefetchSlots(uint32_t count) const {
  constexpr uint32_t kMostLines = 32;
  const uint32_t lines = 1 + count * kSlotSize / kCacheLine;
  const uint32_t stride = 1 + lines / kMostLines;
  for (uint32_t line = kPrefetchedLines; line <= lines; line += stride) {
    __builtin_prefetch(page_ + line * kCacheLine);
  }
}

// Invariant: the answer lies in [base, base + size]. The stated probability makes the compiler
// select instead of branch: a branch would be mispredicted every other time.
inline uint32_t NodeView::LowerBoundHead(uint32_t begin, uint32_t end, uint32_t head) const {
  const std::byte* slots = page_ + kSlots;
  const std::byte* base = slots + begin * kSlotSize;
  uint32_t size = end - begin;
  while (size > 1) {
    const uint32_t half = size / 2;
    const std::byte* middle = base + half * kSlotSize;
    const bool below = RacyLoad<uint32_t>(middle - kSlotSize) < head;
    base = __builtin_expect_with_probability(below, 1, 0.5) ? middle : base;
    size -= half;
  }
  const auto slot = static_cast<uint32_t>(base - slots) / kSlotSize;
  return slot + static_cast<uint32_t>(size == 1 && RacyLoad<uint32_t>(base) < head);
}

// The tail's first 8 bytes, zero padded; 0 if it does not lie within the page. They are loaded from
// their end, so that a short tail at the end of the page is not overrun; before it is the header.
inline uint64_t NodeView::TailNumber(Slot slot) const {
  const uint32_t length = std::min<uint32_t>(slot.tail_length(), sizeof(uint64_t));
  const uint32_t end = slot.offset + RecordHeaderSize() + length;
  if (end < sizeof(uint64_t) || end > page_size_ || length == 0) return 0;
  uint64_t bytes;
  RacyCopyOut(&bytes, page_ + end - sizeof(bytes), sizeof(bytes));
  return __builtin_bswap64(bytes) << (8 * (sizeof(bytes) - length));
}

// Heads are known to be equal. If either suffix ends within its head, the zero padding hides only
// zero bytes, so that the shorter one is a prefix of the other; the same goes for the next 8 bytes,
// which are compared as one number.
int NodeView::CompareTail(Slot slot, const TailKey& key) const {
  const uint32_t common = std::min(slot.tail_length(), key.length);
  if (common > 0) {
    const uint64_t number = TailNumber(slot);
    if (number != key.number) return number < key.number ? -1 : 1;
    const uint32_t offset = slot.offset + RecordHeaderSize();
    // "Equal" leads the caller to the record, where the same bound tells it of the garbage.
    if (offset + common > page_size_) return 0;
    if (common > sizeof(number)) {
      const int order = RacyCompare(page_ + offset + sizeof(number), key.tail + sizeof(number),
                                    common - sizeof(number));
      if (order != 0) return order;
    }
  }
  return Sign(slot.suffix_length, key.suffix_length);
}

// As CompareTail(slot, key) < 0, but without a branch on the order, for binary search.
inline bool NodeView::IsTailBelow(Slot slot, const TailKey& key) const {
  if (slot.suffix_length > kHeadSize && key.length > 0) {
    const uint64_t number = TailNumber(slot);
    if (__builtin_expect(number != key.number, 1)) return number < key.number;
  }
  return CompareTail(slot, key) < 0;
}

NodeView::TailKey NodeView::MakeTailKey(std::string_view suffix) {
  const auto length = static_cast<uint32_t>(suffix.size());
  TailKey key = {.tail = nullptr, .length = 0, .suffix_length = length, .number = 0};
  if (length <= kHeadSize) return key;
  key.tail = suffix.data() + kHeadSize;
  key.length = length - kHeadSize;
  const uint32_t loaded = std::min<uint32_t>(key.length, sizeof(key.number));
  if (length >= sizeof(key.number)) {
    std::memcpy(&key.number, key.tail + loaded - sizeof(key.number), sizeof(key.number));
    key.number = __builtin_bswap64(key.number) << (8 * (sizeof(key.number) - loaded));
  } else {
    key.number = static_cast<uint64_t>(LoadHead(suffix.substr(kHeadSize))) << 32;
  }
  return key;
}

// Most runs of equal heads have one member, so that is tried first.
SlotPosition NodeView::LowerBoundAmongEqualHeads(uint32_t slot, uint32_t count, uint32_t head,
                                                 std::string_view suffix) const {
  const TailKey key = MakeTailKey(suffix);
  const int order = CompareTail(SlotAt(slot), key);
  if (order >= 0) return {slot, order == 0};
  uint32_t base = slot + 1;
  if (base == count || HeadAt(base) != head) return {base, false};

  uint32_t size = (head == UINT32_MAX ? count : LowerBoundHead(base, count, head + 1)) - base;
  while (size > 1) {
    const uint32_t half = size / 2;
    const bool below = IsTailBelow(SlotAt(base + half - 1), key);
    base = __builtin_expect_with_probability(below, 1, 0.5) ? base + half : base;
    size -= half;
  }
  const int last_order = size == 0 ? 1 : CompareTail(SlotAt(base), key);
  if (last_order < 0) return {base + 1, false};
  return {base, last_order == 0};
}

// The page's prefix, beyond what the fences imply, against the same bytes of the key: < 0, 0, > 0
// as the key is below, among or above all keys with the prefix.
int NodeView::CompareWithPrefix(std::string_view key, const Lengths& lengths) const {
  if (lengths.prefix <= lengths.fence_prefix) return 0;
  if (lengths.prefix > page_size_ || key.size() < lengths.fence_prefix) return 0;
  const uint32_t begin = lengths.fence_prefix;
  const uint32_t end = std::min<uint32_t>(lengths.prefix, static_cast<uint32_t>(key.size()));
  const std::byte* prefix = page_ + page_size_ - lengths.prefix;
  // An empty key may have no address, which memcmp must not be given.
  const int order = begin == end ? 0 : RacyCompare(prefix + begin, key.data() + begin, end - begin);
  if (order != 0) return -order;
  return key.size() < lengths.prefix ? -1 : 0;
}

SlotPosition NodeView::LowerBound(std::string_view key) const {
  const Lengths lengths = LoadLengths();
  if (__builtin_expect(lengths.prefix > lengths.fence_prefix, 0)) {
    const int order = CompareWithPrefix(key, lengths);
    if (order != 0) return {order < 0 ? 0 : lengths.count, false};
  }
  const std::string_view suffix = key.substr(std::min<size_t>(lengths.prefix, key.size()));
  const uint32_t head = LoadHead(suffix);
  PrefetchSlots(lengths.count);
  const uint32_t slot = LowerBoundHead(0, lengths.count, head);
  if (slot == lengths.count || HeadAt(slot) != head) return {slot, false};
  return LowerBoundAmongEqualHeads(slot, lengths.count, head, suffix);
}

uint32_t NodeView::ChildSlotFor(std::string_view key) const {
  const SlotPosition position = LowerBound(key);
  return position.slot + static_cast<uint32_t>(position.exact);
}

uint32_t NodeView::SharedPrefix(std::string_view key) const {
  const Lengths lengths = LoadLengths();
  const uint32_t length = std::min<uint32_t>(lengths.prefix, static_cast<uint32_t>(key.size()));
  if (lengths.prefix <= lengths.fence_prefix || lengths.prefix > page_size_) return length;
  const std::byte* prefix = page_ + page_size_ - lengths.prefix;
  uint32_t shared = 0;
  while (shared < length &&
         RacyLoad<uint8_t>(prefix + shared) == static_cast<uint8_t>(key[shared])) {
    ++shared;
  }
  return shared;
}

int NodeView::CompareKey(uint32_t slot_number, std::string_view key) const {
  const Lengths lengths = LoadLengths();
  const int prefix_order = CompareWithPrefix(key, lengths);
  if (prefix_order != 0) return -prefix_order;
  return CompareSuffix(slot_number, key.substr(std::min<size_t>(lengths.prefix, key.size())));
}

// Unlike a search it takes nothing about the key for granted, so it compares the whole prefix.
bool NodeView::ProvesChild(uint32_t slot, std::string_view key) const {
  const Lengths lengths = LoadLengths();
  if (slot == 0 || slot >= lengths.count) return false;
  if (lengths.prefix > std::min<size_t>(page_size_, key.size())) return false;
  const std::byte* prefix = page_ + page_size_ - lengths.prefix;
  if (lengths.prefix > 0 && RacyCompare(prefix, key.data(), lengths.prefix) != 0) return false;
  const std::string_view suffix = key.substr(lengths.prefix);
  return CompareSuffix(slot - 1, suffix) <= 0 && CompareSuffix(slot, suffix) > 0;
}

int NodeView::CompareSuffix(uint32_t slot_number, std::string_view suffix) const {
  const Slot slot = SlotAt(slot_number);
  const uint32_t head = LoadHead(suffix);
  if (slot.head != head) return slot.head < head ? -1 : 1;
  return CompareTail(slot, MakeTailKey(suffix));
}

}  // namespace latchkey
