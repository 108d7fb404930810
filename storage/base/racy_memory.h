// Access to page memory that optimistic readers read while a latch holder writes it.
//
// An optimistic reader reads first and validates the page's version afterwards, so it may read
// bytes that are just being changed. It must check every offset before use, and act on nothing
// before it has validated. In C++ concurrent plain accesses are a data race. So *all* reads by
// optimistic readers and *all* writes by latch holders go through these functions. Readers under a
// latch may use them or read plainly.
//  - Single aligned words are relaxed atomics in every build: plain instructions on our targets.
//  - Ranges are byte-wise relaxed atomics under ThreadSanitizer, and memcpy/memmove/memcmp
//    otherwise. WG21 P1478 calls this atomic_load_per_byte_memcpy; no compiler has it yet.
// ThreadSanitizer therefore checks, without suppressions, that no code bypasses this file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "storage/base/sanitizers.h"

namespace latchkey {

/// Loads an aligned T (1, 2, 4 or 8 bytes) that other threads may be writing.
template <typename T>
T RacyLoad(const void* from) {
  if constexpr (std::is_same_v<T, std::byte>) {
    return std::byte{RacyLoad<uint8_t>(from)};  // clang has atomics of integers only
  } else {
    return __atomic_load_n(static_cast<const T*>(from), __ATOMIC_RELAXED);
  }
}
template <typename T>
void RacyStore(void* to, T value) {
  if constexpr (std::is_same_v<T, std::byte>) {
    RacyStore(to, std::to_integer<uint8_t>(value));
  } else {
    __atomic_store_n(static_cast<T*>(to), value, __ATOMIC_RELAXED);
  }
}

/// Copies out of page memory that other threads may be writing.
inline void RacyCopyOut(void* to, const void* from_page, size_t size) {
  if constexpr (kThreadSanitizer) {
    auto* d = static_cast<uint8_t*>(to);
    auto* s = static_cast<const uint8_t*>(from_page);
    for (size_t i = 0; i < size; ++i) d[i] = RacyLoad<uint8_t>(s + i);
  } else {
    std::memcpy(to, from_page, size);
  }
}

/// Copies into page memory that other threads may be reading. REQUIRES: exclusive latch.
inline void RacyCopyIn(void* to_page, const void* from, size_t size) {
  if constexpr (kThreadSanitizer) {
    auto* d = static_cast<uint8_t*>(to_page);
    auto* s = static_cast<const uint8_t*>(from);
    for (size_t i = 0; i < size; ++i) RacyStore<uint8_t>(d + i, s[i]);
  } else {
    std::memcpy(to_page, from, size);
  }
}

/// Zeroes page memory. REQUIRES: exclusive latch.
inline void RacyZero(void* to_page, size_t size) {
  if constexpr (kThreadSanitizer) {
    for (size_t i = 0; i < size; ++i) RacyStore<uint8_t>(static_cast<uint8_t*>(to_page) + i, 0);
  } else {
    std::memset(to_page, 0, size);
  }
}

/// memmove within page memory. REQUIRES: exclusive latch.
inline void RacyMove(void* to_page, const void* from_page, size_t size) {
  if constexpr (kThreadSanitizer) {
    auto* d = static_cast<uint8_t*>(to_page);
    auto* s = static_cast<const uint8_t*>(from_page);
    if (d <= s) {
      for (size_t i = 0; i < size; ++i) RacyStore(d + i, RacyLoad<uint8_t>(s + i));
    } else {
      for (size_t i = size; i-- > 0;) RacyStore(d + i, RacyLoad<uint8_t>(s + i));
    }
  } else {
    std::memmove(to_page, from_page, size);
  }
}

/// memcmp of page memory, which other threads may be writing, with private memory.
inline int RacyCompare(const void* page, const void* other, size_t size) {
  if constexpr (kThreadSanitizer) {
    auto* a = static_cast<const uint8_t*>(page);
    auto* b = static_cast<const uint8_t*>(other);
    for (size_t i = 0; i < size; ++i) {
      const int difference = static_cast<int>(RacyLoad<uint8_t>(a + i)) - static_cast<int>(b[i]);
      if (difference != 0) return difference;
    }
    return 0;
  } else {
    return std::memcmp(page, other, size);
  }
}

/// To be called between racy reads and the re-read of the version that validates them.
inline void RacyReadFence() {
  // GCC's ThreadSanitizer does not model fences. Under it every racy read is an atomic anyway.
  if constexpr (!kThreadSanitizer) std::atomic_thread_fence(std::memory_order_acquire);
}

}  // namespace latchkey
