// What the writer and the decoder of traces of fixes share; fix_trace.h describes the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "storage/base/hash.h"

namespace latchkey::fix_trace {

inline constexpr uint32_t kHeaderBlock = 'H', kFixesBlock = 'F', kEndBlock = 'E';
inline constexpr uint32_t kMaxContent = 1 << 20;
inline constexpr uint8_t kMissedBit = 8, kTypeShift = 4, kTypeMask = 3, kTreeBit = 64;
inline constexpr uint8_t kUnusedBit = 128;
inline constexpr size_t kMaxVarint = 10;

struct BlockHeader {
  uint32_t kind;
  uint32_t size;
  uint64_t checksum;
};
static_assert(sizeof(BlockHeader) == 16);

inline uint64_t ChecksumOf(const BlockHeader& header, const char* content, uint64_t position) {
  const uint64_t of_content = Hash64(content, header.size, position);
  const uint64_t fields[] = {uint64_t{header.kind} << 32 | header.size, of_content};
  return Hash64(fields, sizeof(fields), position);
}

/// Writes `value` to `out`, which has room for kMaxVarint bytes. Returns the end.
inline char* PutVarint(char* out, uint64_t value) {
  for (; value >= 128; value >>= 7) *out++ = static_cast<char>(value | 128);
  *out++ = static_cast<char>(value);
  return out;
}
/// Takes a number from the front of *bytes. False: it ends too late or has more than 64 bits.
inline bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (uint32_t shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    *value |= uint64_t{byte & 127u} << shift;
    if (byte < 128) return true;
  }
  return false;
}

inline uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace latchkey::fix_trace
