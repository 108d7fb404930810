// An array that grows without moving its elements, so that lock-free readers may use it: chunks of
// zeroed memory behind a directory. For atomics and other types whose zero bytes mean "empty".
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "storage/base/check.h"
#include "storage/base/reserved_memory.h"

namespace latchkey {

/// `T` must be valid when all its bytes are zero, and need no destructor. Thread-safety: one actor
/// at a time calls EnsureSize; any thread may call operator[] with an index below an ensured size.
template <typename T, uint64_t kMaxElements = (uint64_t{1} << 34)>
class LazyArray {
 public:
  static constexpr uint64_t kChunkElements = uint64_t{1} << 14;
  static constexpr uint64_t kChunkBytes = (kChunkElements * sizeof(T) + 4095) / 4096 * 4096;

  LazyArray()
      : directory_(
            static_cast<std::atomic<T*>*>(ReserveMemory(kDirectoryBytes, MemoryAdvice::kNone))) {
    if (directory_ == nullptr) throw std::bad_alloc();
  }
  ~LazyArray() {
    for (uint64_t c = 0; c < chunks_; ++c) ReleaseMemory(directory_[c].load(), kChunkBytes);
    ReleaseMemory(directory_, kDirectoryBytes);
  }
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;

  /// Makes elements below `size` usable; new ones are zero. False when memory ran out.
  bool EnsureSize(uint64_t size) {
    if (size > kMaxElements) return false;
    while (chunks_ * kChunkElements < size) {
      auto* chunk = static_cast<T*>(ReserveMemory(kChunkBytes, MemoryAdvice::kNone));
      if (chunk == nullptr) return false;
      directory_[chunks_].store(chunk, std::memory_order_release);
      ++chunks_;
    }
    size_.store(std::max(size, size_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    return true;
  }

  T& operator[](uint64_t index) const {
    T* chunk = directory_[index / kChunkElements].load(std::memory_order_acquire);
    LATCHKEY_DCHECK(chunk != nullptr);
    return chunk[index % kChunkElements];
  }

  /// Bytes of the ensured elements, in whole 4 KiB. The rest of a chunk takes no memory, because it
  /// was never touched.
  size_t memory_bytes() const {
    return (size_.load(std::memory_order_relaxed) * sizeof(T) + 4095) / 4096 * 4096;
  }

 private:
  static constexpr uint64_t kDirectoryBytes =
      (kMaxElements / kChunkElements * sizeof(std::atomic<T*>) + 4095) / 4096 * 4096;

  std::atomic<T*>* const directory_;
  std::atomic<uint64_t> chunks_{0};
  std::atomic<uint64_t> size_{0};
};

}  // namespace latchkey
