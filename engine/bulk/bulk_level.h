// One level of a tree that is built from below, from left to right.
//
// A page stores its keys without the prefix that its fences share. The upper fence of a page is
// known only when the next page begins. So the entries of a page wait here until it is closed, and
// each new entry is asked first whether the page still fits if it is closed in front of it.
//
// Invariant: the waiting entries fit into one page if the last of them is left to the next page.
//
// Thread-safety: none.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/btree/node_format.h"
#include "engine/btree/node_key.h"
#include "storage/base/ids.h"

namespace latchkey {

/// A record of a leaf; or a child of an inner page with the lower fence of it.
struct BulkEntry {
  std::string_view key;
  std::string_view value = {};        ///< leaves
  RecordFlags flags = 0;              ///< leaves
  PageId child = kInvalidPageId;      ///< inner pages
};

class BulkLevel {
 public:
  /// `limit`: bytes of a page that may be filled.
  BulkLevel(uint32_t level, uint32_t limit) : level_(level), limit_(limit) {}

  /// Number of entries at the front that must become a page before `next` may be added; 0 = none.
  size_t EntriesToClose(const BulkEntry& next) const;
  /// The same at the end of the load, when the page has no upper fence.
  size_t EntriesToCloseLast() const { return Fits(0, 0, 0) ? 0 : entries_.size() - 1; }
  /// REQUIRES: EntriesToClose(entry) == 0; the key is above all others.
  void Add(const BulkEntry& entry);

  /// The upper fence of a page that ends before entry `count`. `next`: the entry behind the last.
  std::string UpperFence(size_t count, std::string_view next) const {
    const std::string_view above = count < entries_.size() ? entry(count).key : next;
    return std::string(level_ == 0 ? ShortestSeparator(entry(count - 1).key, above) : above);
  }
  /// Fills a zeroed page with the first `count` entries.
  void FillPage(size_t count, std::optional<std::string_view> upper, std::byte* page,
                uint32_t page_size) const;
  /// Removes the first `count` entries. `lower`: the lower fence of the next page.
  void Remove(size_t count, std::string lower);

  size_t size() const { return entries_.size(); }
  BulkEntry entry(size_t i) const {
    const Place& place = entries_[i];
    const char* const key = bytes_.data() + place.begin;
    return {.key = {key, place.key_size},
            .value = {key + place.key_size, place.value_size},
            .flags = place.flags,
            .child = place.child};
  }
  std::string_view lower() const { return lower_; }

 private:
  struct Place {
    size_t begin;
    uint32_t key_size, value_size;
    RecordFlags flags;
    PageId child;
  };

  uint32_t HeaderSize() const {
    return node_format::kSlotSize +
           (level_ == 0 ? node_format::kValueSizeSize : node_format::kChildSize);
  }
  /// Whether a page with the prefix of `prefix` bytes has room for all entries and for one more.
  bool Fits(uint32_t prefix, size_t more_key, size_t more_bytes) const;

  const uint32_t level_;
  const uint32_t limit_;
  std::string lower_;
  std::string bytes_;  // of all entries: key, then value
  std::vector<Place> entries_;
  size_t key_bytes_ = 0, other_bytes_ = 0;
  size_t shortest_key_ = SIZE_MAX;
};

}  // namespace latchkey
