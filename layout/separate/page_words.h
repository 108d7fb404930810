// One 32-bit word per page, for counters of a separator or of death times. A page without a word
// reads as 0.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "layout/map/lazy_array.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// Thread-safe. 4 bytes per page.
class PageWords {
 public:
  explicit PageWords(Runtime& runtime) : mutex_(runtime) {}

  /// The page's word; nullptr: it has none yet.
  std::atomic<uint32_t>* Find(PageId id) const {
    return Raw(id) < size() ? &words_[Raw(id)] : nullptr;
  }
  /// The page's word, made if needed; nullptr: memory ran out.
  std::atomic<uint32_t>* Make(PageId id) {
    if (Raw(id) >= size()) {
      MutexLock lock(mutex_);
      if (!words_.EnsureSize(Raw(id) + 1)) return nullptr;
      size_.store(std::max(size_.load(std::memory_order_relaxed), Raw(id) + 1),
                  std::memory_order_release);
    }
    return &words_[Raw(id)];
  }
  uint32_t Load(PageId id) const {
    const std::atomic<uint32_t>* word = Find(id);
    return word == nullptr ? 0 : word->load(std::memory_order_relaxed);
  }
  /// Makes the word 0.
  void Forget(PageId id) {
    if (std::atomic<uint32_t>* word = Find(id)) word->store(0, std::memory_order_relaxed);
  }
  /// Ids below have a word.
  uint64_t size() const { return size_.load(std::memory_order_acquire); }
  size_t memory_bytes() const { return words_.memory_bytes(); }

 private:
  LazyArray<std::atomic<uint32_t>> words_;
  std::atomic<uint64_t> size_{0};
  Mutex mutex_;  // guards growth
};

}  // namespace latchkey
