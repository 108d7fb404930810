// Sorts by a number of eight bytes a version, and compares keys only where these numbers are equal.
// The number consists of the first bytes in which the keys of one tree differ. A byte that is equal
// in all of them decides nothing. So a few bytes are enough for keys made of counters, and a radix
// sort goes over them once for each byte, without following a pointer. As elsewhere, the machine is
// little-endian.
#include "engine/txn/version_order.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace latchkey {
namespace {

/// Bytes of a key, behind the prefix that all keys of its tree share, among which the deciding ones
/// are looked for.
constexpr size_t kWindowWords = 4, kWindow = kWindowWords * sizeof(uint64_t);
constexpr size_t kDeciding = sizeof(uint64_t);
/// With fewer versions a radix sort costs more than it saves.
constexpr size_t kFewVersions = 256;

using Window = std::array<uint64_t, kWindowWords>;

/// The first bytes of `key` from offset `from` on; missing ones count as 0. So keys that differ only
/// in missing bytes have equal windows.
Window WindowOf(std::string_view key, size_t from) {
  Window window{};
  const char* at = key.data() + from;
  size_t left = std::min(key.size() - from, kWindow);
  for (uint64_t& word : window) {
    if (left < sizeof(word)) {
      for (size_t i = 0; i < left; ++i) {
        word |= uint64_t{static_cast<unsigned char>(at[i])} << 8 * i;
      }
      break;
    }
    std::memcpy(&word, at, sizeof(word));
    at += sizeof(word);
    left -= sizeof(word);
  }
  return window;
}

/// The length of the prefix that two strings of at least `most` bytes share, at most `most`.
size_t SharedPrefix(std::string_view a, std::string_view b, size_t most) {
  size_t shared = 0;
  for (; shared + sizeof(uint64_t) <= most; shared += sizeof(uint64_t)) {
    if (std::memcmp(a.data() + shared, b.data() + shared, sizeof(uint64_t)) != 0) break;
  }
  while (shared < most && a[shared] == b[shared]) ++shared;
  return shared;
}

/// The keys of one tree.
struct TreeKeys {
  TreeId tree;
  std::string_view first;
  size_t alike;                         // length of the prefix that all of them share
  Window reference{};                   // of the first key
  Window differ{};                      // the bits in which keys differ
  std::array<uint8_t, kDeciding> at{};  // the deciding bytes, as offsets in the window
  uint32_t deciding = 0;                // their number
  uint32_t rank = 0;                    // among the trees

  void Narrow(std::string_view key) {
    alike = SharedPrefix(first, key, std::min(alike, key.size()));
  }
  void NoteDifferences(std::string_view key) {
    const Window window = WindowOf(key, alike);
    for (size_t i = 0; i < kWindowWords; ++i) differ[i] |= window[i] ^ reference[i];
  }
  void ChooseDeciding() {
    const auto* bytes = reinterpret_cast<const unsigned char*>(differ.data());
    for (size_t i = 0; i < kWindow && deciding < kDeciding; ++i) {
      if (bytes[i] != 0) at[deciding++] = static_cast<uint8_t>(i);
    }
  }
  uint64_t NumberOf(std::string_view key) const {
    const Window window = WindowOf(key, alike);
    const auto* bytes = reinterpret_cast<const unsigned char*>(window.data());
    uint64_t number = 0;
    for (uint32_t i = 0; i < deciding; ++i) number = number << 8 | bytes[at[i]];
    return number;
  }
};

/// A version, by what decides most comparisons.
struct Place {
  uint64_t number;
  uint32_t rank;
  uint32_t index;

  bool IsAlike(const Place& other) const { return rank == other.rank && number == other.number; }
};

/// Prefetches the key of a version some places behind `i`. Keys lie anywhere in memory, so that most
/// time would be waiting for it.
void PrefetchKey(std::span<const SettlingVersion> versions, size_t i) {
  constexpr size_t kAhead = 12;
  if (i + kAhead < versions.size()) __builtin_prefetch(versions[i + kAhead].key.data());
}

/// The trees of `versions`, and for each version the index of its tree.
class Trees {
 public:
  explicit Trees(std::span<const SettlingVersion> versions) : versions_(versions) {
    of_version_.reserve(versions.size());
    for (size_t i = 0; i < versions.size(); ++i) {
      PrefetchKey(versions, i);
      of_version_.push_back(IndexOf(versions[i]));
      trees_[of_version_[i]].Narrow(versions[i].key);
    }
    for (TreeKeys& tree : trees_) tree.reference = WindowOf(tree.first, tree.alike);
    for (size_t i = 0; i < versions.size(); ++i) {
      PrefetchKey(versions, i);
      trees_[of_version_[i]].NoteDifferences(versions[i].key);
    }
    for (TreeKeys& tree : trees_) tree.ChooseDeciding();
    for (size_t i = 0; i < by_id_.size(); ++i) {
      trees_[by_id_[i].second].rank = static_cast<uint32_t>(i);
    }
  }

  std::vector<Place> Places() const {
    std::vector<Place> places(versions_.size());
    for (uint32_t i = 0; i < places.size(); ++i) {
      PrefetchKey(versions_, i);
      const TreeKeys& tree = trees_[of_version_[i]];
      places[i] = {tree.NumberOf(versions_[i].key), tree.rank, i};
    }
    return places;
  }

 private:
  uint32_t IndexOf(const SettlingVersion& version) {
    const auto place = std::lower_bound(by_id_.begin(), by_id_.end(),
                                        std::pair<TreeId, uint32_t>(version.tree, 0));
    if (place != by_id_.end() && place->first == version.tree) return place->second;
    const auto index = static_cast<uint32_t>(trees_.size());
    trees_.push_back({.tree = version.tree, .first = version.key, .alike = version.key.size()});
    by_id_.insert(place, {version.tree, index});
    return index;
  }

  const std::span<const SettlingVersion> versions_;
  std::vector<TreeKeys> trees_;
  std::vector<std::pair<TreeId, uint32_t>> by_id_;  // tree and index in trees_, ascending
  std::vector<uint32_t> of_version_;
};

constexpr size_t kColumns = sizeof(Place::number) + sizeof(Place::rank);

/// Byte `column` of rank and number; the last byte of the number is column 0.
size_t ByteOf(const Place& place, size_t column) {
  const uint64_t word = column < sizeof(place.number) ? place.number : place.rank;
  return word >> 8 * (column % sizeof(place.number)) & 0xff;
}

/// Sorts by rank and number, one byte after the other, beginning with the last.
void RadixSort(std::vector<Place>* places) {
  std::array<std::array<uint32_t, 256>, kColumns> counts{};
  for (const Place& place : *places) {
    for (size_t column = 0; column < kColumns; ++column) ++counts[column][ByteOf(place, column)];
  }
  std::vector<Place> sorted(places->size());
  for (size_t column = 0; column < kColumns; ++column) {
    auto& next = counts[column];
    if (next[ByteOf(places->front(), column)] == places->size()) continue;  // equal in all
    uint32_t start = 0;
    for (uint32_t& count : next) start += std::exchange(count, start);
    for (const Place& place : *places) sorted[next[ByteOf(place, column)]++] = place;
    places->swap(sorted);
  }
}

}  // namespace

bool IsBefore(const SettlingVersion& a, const SettlingVersion& b) {
  if (a.tree != b.tree) return a.tree < b.tree;
  const int order = a.key.compare(b.key);
  return order != 0 ? order < 0 : a.ts > b.ts;
}

std::vector<uint32_t> OrderOf(std::span<const SettlingVersion> versions) {
  std::vector<Place> places = Trees(versions).Places();
  const auto by_key = [&](const Place& a, const Place& b) {
    return IsBefore(versions[a.index], versions[b.index]);
  };
  if (places.size() < kFewVersions) {
    std::sort(places.begin(), places.end(), by_key);
  } else {
    RadixSort(&places);
    for (auto first = places.begin(); first != places.end();) {
      const auto last = std::find_if_not(first + 1, places.end(),
                                         [&](const Place& place) { return place.IsAlike(*first); });
      if (last - first > 1) std::sort(first, last, by_key);
      first = last;
    }
  }
  std::vector<uint32_t> order;
  order.reserve(places.size());
  for (const Place& place : places) order.push_back(place.index);
  return order;
}

}  // namespace latchkey
