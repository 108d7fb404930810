// Small functions on key bytes, shared by the files of the B+tree page.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "engine/btree/node_format.h"

namespace latchkey {

/// The first four bytes of `suffix` as a number whose order is the bytes' order, zero padded.
inline uint32_t LoadHead(std::string_view suffix) {
  uint32_t bytes = 0;
  if (suffix.size() >= sizeof(bytes)) {
    std::memcpy(&bytes, suffix.data(), sizeof(bytes));
    return __builtin_bswap32(bytes);
  }
  for (const char c : suffix) bytes = (bytes << 8) | static_cast<unsigned char>(c);
  // Shifting by 32 is undefined; an empty suffix has head 0 either way.
  return bytes << ((8 * (sizeof(bytes) - suffix.size())) & 31);
}

/// As LoadHead of the last `length` bytes of `key`, but without a loop if the key is long enough.
inline uint32_t LoadHead(std::string_view key, uint32_t length) {
  uint32_t bytes = 0;
  if (key.size() < sizeof(bytes)) return LoadHead({key.data() + key.size() - length, length});
  const uint32_t loaded = std::max<uint32_t>(length, sizeof(bytes));
  std::memcpy(&bytes, key.data() + key.size() - loaded, sizeof(bytes));
  const uint32_t surplus = loaded - length;  // bytes before the suffix
  return static_cast<uint32_t>(static_cast<uint64_t>(__builtin_bswap32(bytes)) << (8 * surplus));
}

/// The first eight of the last `length` bytes of `key` as a number whose order is the bytes' order,
/// zero padded. REQUIRES: length > 0, and at least kHeadSize bytes before them.
inline uint64_t LoadTailNumber(std::string_view key, uint32_t length) {
  const char* end = key.data() + key.size();
  if (key.size() < sizeof(uint64_t)) {
    uint32_t bytes;
    std::memcpy(&bytes, end - sizeof(bytes), sizeof(bytes));
    return static_cast<uint64_t>(__builtin_bswap32(bytes)) << (8 * (sizeof(uint64_t) - length));
  }
  uint64_t bytes;
  const uint32_t loaded = std::max<uint32_t>(length, sizeof(bytes));
  std::memcpy(&bytes, end - loaded, sizeof(bytes));
  return __builtin_bswap64(bytes) << (8 * (loaded - length));
}

inline void StoreHead(uint32_t head, char* to) {
  const uint32_t bytes = __builtin_bswap32(head);
  std::memcpy(to, &bytes, sizeof(bytes));
}

inline uint32_t CommonPrefixLength(std::string_view a, std::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  return static_cast<uint32_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(limit), b.begin()).first -
      a.begin());
}

/// Length of the prefix that every key in [lower, upper) must have.
inline uint32_t FencePrefixLength(std::string_view lower,
                                  const std::optional<std::string_view>& upper) {
  return upper ? CommonPrefixLength(lower, *upper) : 0;
}

/// The shortest key s with left < s <= right. REQUIRES: left < right.
inline std::string_view ShortestSeparator(std::string_view left, std::string_view right) {
  return right.substr(0, CommonPrefixLength(left, right) + 1);
}

}  // namespace latchkey
