// Access to page memory that optimistic readers read while a latch holder writes it.
//
// A reader that validates a version afterwards may read bytes in mid-change; it must bound every
// offset before use and act on nothing until it has validated. C++ calls concurrent plain accesses
// a data race, so *all* reads by optimistic readers and *all* writes by latch holders go through
// these functions (readers under a shared or exclusive latch may use them too, or read plainly):
//  - single aligned words are relaxed atomics in every build: plain instructions on our targets;
//  - ranges are byte-wise relaxed atomics under ThreadSanitizer, and memcpy/memmove/memcmp
//  otherwise:
//    what WG21 P1478 calls atomic_load_per_byte_memcpy, which no compiler ships yet.
// ThreadSanitizer therefore checks that nothing goes around this file, without suppressions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace latchkey {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// Loads an aligned T (1, 2, 4 or 8 bytes) that others may be writing.
template <typename T>
T RacyLoad(const void* from) {
  return __atomic_load_n(static_cast<const T*>(from), __ATOMIC_RELAXED);
}
template <typename T>
void RacyStore(void* to, T value) {
  __atomic_store_n(static_cast<T*>(to), value, __ATOMIC_RELAXED);
}

/// Copies out of page memory that others may be writing.
inline void RacyCopyOut(void* to, const void* from_page, size_t size) {
  if constexpr (kThreadSanitizer) {
    auto* d = static_cast<uint8_t*>(to);
    auto* s = static_cast<const uint8_t*>(from_page);
    for (size_t i = 0; i < size; ++i) d[i] = RacyLoad<uint8_t>(s + i);
  } else {
    std::memcpy(to, from_page, size);
  }
}

/// Copies into page memory that others may be reading. REQUIRES: exclusive latch.
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

/// memcmp of page memory that others may be writing with private memory.
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

/// Between racy reads and the re-read of the version that validates them.
inline void RacyReadFence() {
  // GCC's ThreadSanitizer does not model fences; there every racy read is an atomic it can see.
  if constexpr (!kThreadSanitizer) std::atomic_thread_fence(std::memory_order_acquire);
}

}  // namespace latchkey
