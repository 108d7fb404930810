// The one hash function of the project: XXH3, for checksums, hash tables and fingerprints. Checksums
// are part of the page format (storage/page_format.h), so they depend on no secret of the process.
#pragma once

#include "storage/base/sanitizers.h"

// Instrumented code hashes some twenty times slower. The library's code is not instrumented, so the
// functions below tell the sanitizer what it reads.
#if LATCHKEY_ADDRESS_SANITIZER || LATCHKEY_THREAD_SANITIZER
#define XXH_STATIC_LINKING_ONLY
#else
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace latchkey {

inline uint64_t Hash64(const void* data, size_t size, uint64_t seed = 0) {
  SanitizeRead(data, size);
  return XXH3_64bits_withSeed(data, size, seed);
}
inline uint64_t Hash64(std::string_view bytes, uint64_t seed = 0) {
  return Hash64(bytes.data(), bytes.size(), seed);
}
/// The hash of `first` followed by `second`.
inline uint64_t Hash64(std::span<const std::byte> first, std::span<const std::byte> second,
                       uint64_t seed) {
  SanitizeRead(first.data(), first.size());
  SanitizeRead(second.data(), second.size());
  XXH3_state_t state = {};
  XXH3_64bits_reset_withSeed(&state, seed);
  XXH3_64bits_update(&state, first.data(), first.size());
  XXH3_64bits_update(&state, second.data(), second.size());
  return XXH3_64bits_digest(&state);
}
/// XXH3-128.
struct Hash128Value {
  uint64_t low = 0, high = 0;
};
inline Hash128Value Hash128(std::string_view bytes, uint64_t seed) {
  SanitizeRead(bytes.data(), bytes.size());
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.low64, hash.high64};
}
/// Mixes one word. For integer keys, for which a full hash would cost more than the lookup.
inline uint64_t MixHash(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

}  // namespace latchkey
