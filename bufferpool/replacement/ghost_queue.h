// Ghosts: ids of evicted pages that are remembered for a while (as in 2Q's A1out). A FIFO queue
// with lookup by page: an array of entries linked in order of arrival, and an open-addressing index
// over it (linear probing, deletion by shifting back, load at most one half). 24 to 32 bytes per
// ghost, no allocation after SetCapacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/base/ids.h"

namespace latchkey {

/// Not thread-safe. The capacity bounds the arrays; the owner trims the queue by its own rule.
class GhostQueue {
 public:
  /// Memory of one ghost, at most.
  static constexpr size_t kMostBytesEach = 32;

  explicit GhostQueue(size_t capacity) { SetCapacity(capacity); }

  /// Forgets the oldest ghosts beyond `capacity` and makes room for exactly that many.
  void SetCapacity(size_t capacity);

  bool Contains(PageId page) const { return Find(page) != kNone; }
  /// Makes `page` the newest ghost, whether or not it is in the queue already. At capacity the
  /// oldest ghost is forgotten; with capacity 0 nothing happens.
  void PushNewest(PageId page);
  /// Forgets `page`; false if it is not in the queue.
  bool Remove(PageId page);
  /// Forgets the oldest ghosts until at most `size` are left.
  void TrimTo(size_t size);

  size_t size() const { return size_; }
  size_t capacity() const { return entries_.size(); }
  size_t memory_bytes() const {
    return entries_.capacity() * sizeof(Entry) + index_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Entry {
    PageId page;
    uint32_t newer;
    uint32_t older;  // also links the unused entries
  };

  uint32_t Find(PageId page) const;
  size_t HomeOf(PageId page) const;
  void IndexInsert(uint32_t entry);
  void IndexErase(uint32_t entry);
  void Link(uint32_t entry);
  void Unlink(uint32_t entry);
  void Forget(uint32_t entry);

  std::vector<Entry> entries_;
  std::vector<uint32_t> index_;  // entry numbers; a power of two of them, or none
  uint32_t newest_ = kNone;
  uint32_t oldest_ = kNone;
  uint32_t unused_ = kNone;
  size_t size_ = 0;
};

}  // namespace latchkey
