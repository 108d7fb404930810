// Access to page memory that optimistic readers read while a latch holder writes it.
//
// An optimistic reader reads first and validates the page's version afterwards, so it may read
// bytes that are just being changed. It must check every offset before use, and act on nothing
// before it has validated. In C++ concurrent plain accesses are a data race. So *all* reads by
// optimistic readers and *all* writes by latch holders go through these functions. Readers under a
// latch may use them or read plainly.
//  - Single aligned words are relaxed atomics in every build: plain instructions on our targets.
//  - Ranges are relaxed atomics of aligned words and single bytes under ThreadSanitizer, and
//    memcpy/memmove/memcmp otherwise. WG21 P1478 calls this atomic_load_per_byte_memcpy; no compiler
//    has it yet. An access of a word costs ThreadSanitizer as much as one of a byte.
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

/// Calls visit(offset, T()) for each piece of the range in turn: T is uint64_t where a whole aligned
/// word is left, and uint8_t at the ends. visit returns whether to go on.
template <typename Visit>
void ForEachRacyPiece(const void* page, size_t size, Visit visit) {
  const auto address = reinterpret_cast<uintptr_t>(page);
  for (size_t at = 0; at < size;) {
    if ((address + at) % sizeof(uint64_t) == 0 && size - at >= sizeof(uint64_t)) {
      if (!visit(at, uint64_t{})) return;
      at += sizeof(uint64_t);
    } else {
      if (!visit(at, uint8_t{})) return;
      ++at;
    }
  }
}

/// Copies out of page memory that other threads may be writing.
inline void RacyCopyOut(void* to, const void* from_page, size_t size) {
  if constexpr (kThreadSanitizer) {
    ForEachRacyPiece(from_page, size, [&]<typename T>(size_t at, T) {
      const T piece = RacyLoad<T>(static_cast<const uint8_t*>(from_page) + at);
      std::memcpy(static_cast<uint8_t*>(to) + at, &piece, sizeof(T));
      return true;
    });
  } else {
    std::memcpy(to, from_page, size);
  }
}

/// Copies into page memory that other threads may be reading. REQUIRES: exclusive latch.
inline void RacyCopyIn(void* to_page, const void* from, size_t size) {
  if constexpr (kThreadSanitizer) {
    ForEachRacyPiece(to_page, size, [&]<typename T>(size_t at, T piece) {
      std::memcpy(&piece, static_cast<const uint8_t*>(from) + at, sizeof(T));
      RacyStore<T>(static_cast<uint8_t*>(to_page) + at, piece);
      return true;
    });
  } else {
    std::memcpy(to_page, from, size);
  }
}

/// Zeroes page memory. REQUIRES: exclusive latch.
inline void RacyZero(void* to_page, size_t size) {
  if constexpr (kThreadSanitizer) {
    ForEachRacyPiece(to_page, size, [&]<typename T>(size_t at, T zero) {
      RacyStore<T>(static_cast<uint8_t*>(to_page) + at, zero);
      return true;
    });
  } else {
    std::memset(to_page, 0, size);
  }
}

/// memmove within page memory. REQUIRES: exclusive latch.
inline void RacyMove(void* to_page, const void* from_page, size_t size) {
  if constexpr (kThreadSanitizer) {
    auto* d = static_cast<uint8_t*>(to_page);
    auto* s = static_cast<const uint8_t*>(from_page);
    uint64_t some[32];
    for (size_t done = 0, n = 0; done < size; done += n) {
      n = size - done < sizeof(some) ? size - done : sizeof(some);
      const size_t at = d <= s ? done : size - done - n;
      RacyCopyOut(some, s + at, n);
      RacyCopyIn(d + at, some, n);
    }
  } else {
    std::memmove(to_page, from_page, size);
  }
}

/// memcmp of page memory, which other threads may be writing, with private memory.
inline int RacyCompare(const void* page, const void* other, size_t size) {
  if constexpr (kThreadSanitizer) {
    int difference = 0;
    ForEachRacyPiece(page, size, [&]<typename T>(size_t at, T) {
      const T piece = RacyLoad<T>(static_cast<const uint8_t*>(page) + at);
      difference = std::memcmp(&piece, static_cast<const uint8_t*>(other) + at, sizeof(T));
      return difference == 0;
    });
    return difference;
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
