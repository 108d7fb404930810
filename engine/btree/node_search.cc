// Search within a page: a binary search without branches over the slots' heads, then over the tails
// of equal heads only. The number of slots that a page can hold bounds every loop, whatever the
// loop reads.
#include <algorithm>
#include <bit>

#include "engine/btree/node.h"
#include "engine/btree/node_key.h"

namespace latchkey {

using namespace node_format;  // NOLINT(build/namespaces): the field names of this page

namespace {

/// Header and the slots of 32 records: a typical leaf of 4 KiB.
constexpr uint32_t kPrefetchedLines = 5;

constexpr int Sign(size_t a, size_t b) { return a < b ? -1 : static_cast<int>(a > b); }

/// In [begin, end), which is not empty and of which a first part is `below`: the first that is not
/// below, or end - 1 if all are. The first step leaves a power of two to search, so that the other
/// steps only halve it. The stated probability makes the compiler select instead of branch; a
/// branch would be mispredicted every other time.
template <typename Below>
inline uint32_t Bisect(uint32_t begin, uint32_t end, Below below) {
  const size_t size = std::bit_floor(end - begin);
  size_t base = begin;  // the answer lies in [base, base + size), then in [base, base + step)
  base = __builtin_expect_with_probability(below(base + size - 1), 1, 0.5) ? end - size : base;
  for (size_t step = size / 2; step != 0; step /= 2) {
    const size_t middle = base + step;
    base = __builtin_expect_with_probability(below(middle - 1), 1, 0.5) ? middle : base;
  }
  return static_cast<uint32_t>(base);
}

}  // namespace

void NodeView::Prefetch(const std::byte* page) {
  // As a number: a page that could not be fixed has no address, and nothing may be added to that.
  const uintptr_t first = reinterpret_cast<uintptr_t>(page);
  for (uint32_t line = 0; line < kPrefetchedLines; ++line) {
    __builtin_prefetch(reinterpret_cast<const void*>(first + line * kCacheLine));
  }
}

/// Prefetches all lines that a search may read at once instead of one after the other. In a page
/// outside the processor's caches this saves a third of the search. NodeView::Prefetch has fetched
/// the first lines. With very many slots every n-th line is fetched. Otherwise four at a time,
/// since counting costs more than prefetching: up to three lines behind the slots are fetched in
/// vain. (Unless always inlined, GCC takes it for a function without effect.)
[[gnu::always_inline]] inline void NodeView::PrefetchSlots(const std::byte* page, uint32_t count) {
  constexpr uint32_t kMostLines = 32;
  constexpr uint32_t kSlotsPerLine = kCacheLine / kSlotSize;
  const std::byte* line = page + kPrefetchedLines * kCacheLine;
  const std::byte* const end = page + kSlots + count * kSlotSize;
  if (__builtin_expect(count <= kMostLines * kSlotsPerLine, 1)) {
    for (; line < end; line += 4 * kCacheLine) {
      __builtin_prefetch(line);
      __builtin_prefetch(line + kCacheLine);
      __builtin_prefetch(line + 2 * kCacheLine);
      __builtin_prefetch(line + 3 * kCacheLine);
    }
    return;
  }
  const uint32_t stride = kCacheLine * (1 + count / (kMostLines * kSlotsPerLine));
  for (; line < end; line += stride) __builtin_prefetch(line);
}

/// A key in a page with whose prefix it begins. Made on the stack and inlined as a whole, with a
/// copy of the view. So all of it lies in registers, and nothing is read again after a racy load.
class NodeView::Search {
 public:
  Search(const NodeView& node, std::string_view key, uint32_t prefix)
      : node_(node),
        key_(key),
        suffix_length_(static_cast<uint32_t>(key.size() - std::min<size_t>(prefix, key.size()))),
        head_(LoadHead(key, suffix_length_)) {}

  SlotPosition LowerBound(uint32_t count);
  /// < 0, 0 or > 0 if the key of `slot` is less than, equal to or greater than the key.
  int Compare(Slot slot);

 private:
  uint32_t BisectHeads(uint32_t begin, uint32_t end, uint32_t head) const;
  SlotPosition LowerBoundInRun(uint32_t begin, uint32_t count) const;
  void LoadTail();
  uint64_t TailNumber(Slot slot) const;
  int CompareTail(Slot slot) const;
  bool IsTailBelow(Slot slot) const;

  const NodeView node_;
  const std::string_view key_;
  const uint32_t suffix_length_;
  const uint32_t head_;
  // Set by LoadTail: the part behind the suffix's head; its first 8 bytes also as a number.
  uint32_t tail_length_ = 0;
  uint64_t tail_number_ = 0;
  uint32_t header_size_ = 0;
};

inline uint32_t NodeView::Search::BisectHeads(uint32_t begin, uint32_t end, uint32_t head) const {
  return Bisect(begin, end, [&](size_t slot) { return node_.HeadAt(slot) < head; });
}

// Needed only where heads are equal.
inline void NodeView::Search::LoadTail() {
  header_size_ = node_.RecordHeaderSize();
  if (suffix_length_ <= kHeadSize) return;
  tail_length_ = suffix_length_ - kHeadSize;
  tail_number_ = LoadTailNumber(key_, tail_length_);
}

// The tail's first 8 bytes, zero padded; 0 if it does not lie within the page. They are loaded from
// their end, so that a short tail at the end of the page is not overrun; the header lies before it.
// REQUIRES: a tail.
inline uint64_t NodeView::Search::TailNumber(Slot slot) const {
  const uint32_t length = std::min<uint32_t>(slot.tail_length(), sizeof(uint64_t));
  // Garbage may lead to a number below zero, which reads as a huge one.
  const uint32_t begin = slot.offset + header_size_ + length - sizeof(uint64_t);
  if (begin > node_.page_size_ - sizeof(uint64_t)) return 0;
  uint64_t bytes;
  RacyCopyOut(&bytes, node_.page_ + begin, sizeof(bytes));
  return __builtin_bswap64(bytes) << (8 * (sizeof(bytes) - length));
}

// REQUIRES: equal heads. If either suffix ends within its head, the zero padding hides only zero
// bytes, so the shorter suffix is a prefix of the other. The same holds for the next 8 bytes, which
// are compared as one number.
inline int NodeView::Search::CompareTail(Slot slot) const {
  const uint32_t common = std::min(slot.tail_length(), tail_length_);
  if (common > 0) {
    const uint64_t number = TailNumber(slot);
    if (number != tail_number_) return number < tail_number_ ? -1 : 1;
    if (common > sizeof(number)) {
      const uint32_t offset = slot.offset + header_size_;
      // "Equal" leads the caller to the record, where the same bound reveals the garbage.
      if (offset + common > node_.page_size_) return 0;
      const char* tail = key_.data() + key_.size() - tail_length_;
      const int order = RacyCompare(node_.page_ + offset + sizeof(number), tail + sizeof(number),
                                    common - sizeof(number));
      if (order != 0) return order;
    }
  }
  return Sign(slot.suffix_length, suffix_length_);
}

// As CompareTail(slot) < 0, but without a branch on the order, for binary search.
inline bool NodeView::Search::IsTailBelow(Slot slot) const {
  if (slot.suffix_length > kHeadSize && tail_length_ > 0) {
    const uint64_t number = TailNumber(slot);
    if (__builtin_expect(number != tail_number_, 1)) return number < tail_number_;
  }
  return CompareTail(slot) < 0;
}

// REQUIRES: the slot at `begin` has the key's head.
[[gnu::always_inline]] inline SlotPosition NodeView::Search::LowerBoundInRun(uint32_t begin,
                                                                             uint32_t count) const {
  uint32_t end = count;
  if (head_ != UINT32_MAX) {
    const uint32_t last = BisectHeads(begin, count, head_ + 1);
    end = last + static_cast<uint32_t>(node_.HeadAt(last) == head_);
  }
  if (begin >= end) return {begin, false};  // the heads have changed meanwhile
  const uint32_t slot =
      Bisect(begin, end, [this](size_t i) { return IsTailBelow(node_.LoadSlot(i)); });
  const int order = CompareTail(node_.LoadSlot(slot));
  return {slot + static_cast<uint32_t>(order < 0), order == 0};
}

inline SlotPosition NodeView::Search::LowerBound(uint32_t count) {
  if (count == 0) return {0, false};
  const uint32_t at = BisectHeads(0, count, head_);
  const Slot slot = node_.LoadSlot(at);
  if (slot.head != head_) return {at + static_cast<uint32_t>(slot.head < head_), false};
  // Most runs of equal heads have one member, so that is tried first.
  LoadTail();
  const int order = CompareTail(slot);
  if (order >= 0) return {at, order == 0};
  const uint32_t next = at + 1;
  if (next == count || node_.HeadAt(next) != head_) return {next, false};
  return LowerBoundInRun(next, count);
}

inline int NodeView::Search::Compare(Slot slot) {
  if (slot.head != head_) return slot.head < head_ ? -1 : 1;
  LoadTail();
  return CompareTail(slot);
}

// Whether two ranges of `size` bytes are equal, for sizes from sizeof(Word) to twice that. Compares
// two words that may overlap instead of looping.
template <typename Word>
inline bool EqualByWords(const std::byte* page_bytes, const char* bytes, size_t size) {
  Word words[4];
  const size_t second = size - sizeof(Word);
  RacyCopyOut(&words[0], page_bytes, sizeof(Word));
  RacyCopyOut(&words[1], page_bytes + second, sizeof(Word));
  std::memcpy(&words[2], bytes, sizeof(Word));
  std::memcpy(&words[3], bytes + second, sizeof(Word));
  return ((words[0] ^ words[2]) | (words[1] ^ words[3])) == 0;
}

// Whether a quick comparison shows that `key` begins with the page's prefix.
inline bool NodeView::ClearlyHasPrefix(std::string_view key, uint32_t prefix) const {
  if (key.size() < prefix || prefix > 2 * sizeof(uint64_t)) return false;
  const std::byte* begin = page_ + page_size_ - prefix;
  if (prefix >= sizeof(uint64_t)) return EqualByWords<uint64_t>(begin, key.data(), prefix);
  if (prefix >= sizeof(uint32_t)) return EqualByWords<uint32_t>(begin, key.data(), prefix);
  if (prefix >= sizeof(uint16_t)) return EqualByWords<uint16_t>(begin, key.data(), prefix);
  return RacyLoad<uint8_t>(begin) == static_cast<uint8_t>(key[0]);
}

// Compares the page's prefix, beyond what the fences imply, with the same bytes of the key: < 0, 0
// or > 0 if the key is below, among or above all keys with the prefix.
int NodeView::CompareWithPrefix(std::string_view key, uint32_t length,
                                uint32_t fence_length) const {
  if (length <= fence_length) return 0;
  if (length > page_size_ || key.size() < fence_length) return 0;
  const uint32_t begin = fence_length;
  const uint32_t end = std::min<uint32_t>(length, static_cast<uint32_t>(key.size()));
  const std::byte* prefix = page_ + page_size_ - length;
  // An empty key may have a null address, which memcmp does not allow.
  const int order = begin == end ? 0 : RacyCompare(prefix + begin, key.data() + begin, end - begin);
  if (order != 0) return -order;
  return key.size() < length ? -1 : 0;
}

SlotPosition NodeView::LowerBound(std::string_view key) const {
  const Lengths lengths = LoadLengths();
  PrefetchSlots(page_, lengths.count);
  if (lengths.prefix > lengths.fence_prefix && !ClearlyHasPrefix(key, lengths.prefix)) {
    const int order = CompareWithPrefix(key, lengths.prefix, lengths.fence_prefix);
    if (order != 0) return {order < 0 ? 0 : lengths.count, false};
  }
  return Search(*this, key, lengths.prefix).LowerBound(lengths.count);
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

int NodeView::CompareKey(uint32_t slot, std::string_view key) const {
  const Lengths lengths = LoadLengths();
  const int prefix_order = CompareWithPrefix(key, lengths.prefix, lengths.fence_prefix);
  if (prefix_order != 0) return -prefix_order;
  return Search(*this, key, lengths.prefix).Compare(SlotAt(slot));
}

// Unlike a search it assumes nothing about the key, so it compares the whole prefix.
bool NodeView::ProvesChild(uint32_t slot, std::string_view key) const {
  const Lengths lengths = LoadLengths();
  if (slot == 0 || slot >= lengths.count) return false;
  if (lengths.prefix > std::min<size_t>(page_size_, key.size())) return false;
  const std::byte* prefix = page_ + page_size_ - lengths.prefix;
  if (lengths.prefix > 0 && !ClearlyHasPrefix(key, lengths.prefix) &&
      RacyCompare(prefix, key.data(), lengths.prefix) != 0) {
    return false;
  }
  Search search(*this, key, lengths.prefix);
  return search.Compare(LoadSlot(slot - 1)) <= 0 && search.Compare(LoadSlot(slot)) > 0;
}

}  // namespace latchkey
