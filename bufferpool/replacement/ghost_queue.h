// Ghosts: ids of evicted pages that are remembered for a while (as in 2Q's A1out). A FIFO queue
// with lookup by page: an array of entries linked in order of arrival, and an open-addressing index
// over it (linear probing, deletion by shifting back, load at most one half). 24 to 32 bytes per
// ghost, no allocation after SetCapacity. PayloadGhostQueue remembers a value with each page.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "storage/base/ids.h"

namespace latchkey {

/// Not thread-safe. The capacity bounds the arrays; the owner trims the queue by its own rule.
class GhostQueue {
 public:
  /// Memory of one ghost, at most.
  static constexpr size_t kMostBytesEach = 32;
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit GhostQueue(size_t capacity) { SetCapacity(capacity); }

  /// Forgets the oldest ghosts beyond `capacity` and makes room for exactly that many.
  void SetCapacity(size_t capacity) {
    SetCapacity(capacity, [](uint32_t, uint32_t) {});
  }
  /// As above. Calls `moved(from, to)` for each ghost that stays: its entry was `from` and is `to`.
  void SetCapacity(size_t capacity, absl::FunctionRef<void(uint32_t from, uint32_t to)> moved);

  bool Contains(PageId page) const { return Find(page) != kNone; }
  /// The entry of `page`, below capacity(), or kNone. It stays until the ghost is forgotten or the
  /// capacity changes.
  uint32_t Find(PageId page) const;
  /// REQUIRES: `entry` is a ghost.
  PageId PageOf(uint32_t entry) const { return entries_[entry].page; }
  /// Makes `page` the newest ghost, whether or not it is in the queue already, and returns its
  /// entry. At capacity the oldest ghost is forgotten; with capacity 0 nothing happens (kNone).
  uint32_t PushNewest(PageId page);
  /// As PushNewest. Then forgets the oldest ghosts beyond `limit`, except `incoming`: if that is a
  /// ghost, it becomes the newest and stays, beyond the limit, until it is loaded. (In the papers
  /// of 2Q and MQ `incoming` leaves the queue before the victim enters it.) REQUIRES: the capacity
  /// is limit + kBeyondLimit, or 0.
  uint32_t Remember(PageId page, PageId incoming, size_t limit);
  /// One more for `incoming`, one more because a ghost enters before the oldest is forgotten.
  static constexpr size_t kBeyondLimit = 2;
  /// Forgets `page`; false if it is not in the queue.
  bool Remove(PageId page);
  /// REQUIRES: `entry` is a ghost.
  void Forget(uint32_t entry);
  /// Forgets the oldest ghosts until at most `size` are left.
  void TrimTo(size_t size);

  size_t size() const { return size_; }
  size_t capacity() const { return entries_.size(); }
  size_t memory_bytes() const {
    return entries_.capacity() * sizeof(Entry) + index_.capacity() * sizeof(uint32_t);
  }

 private:
  struct Entry {
    PageId page;
    uint32_t newer;
    uint32_t older;  // also links the unused entries
  };

  size_t HomeOf(PageId page) const;
  void IndexInsert(uint32_t entry);
  void IndexErase(uint32_t entry);
  void Link(uint32_t entry);
  void Unlink(uint32_t entry);

  std::vector<Entry> entries_;
  std::vector<uint32_t> index_;  // entry numbers; a power of two of them, or none
  uint32_t newest_ = kNone;
  uint32_t oldest_ = kNone;
  uint32_t unused_ = kNone;
  size_t size_ = 0;
};

/// A ghost queue that remembers a Payload with each page.
template <typename Payload>
class PayloadGhostQueue {
 public:
  /// Memory of one ghost, at most.
  static constexpr size_t kMostBytesEach = GhostQueue::kMostBytesEach + sizeof(Payload);

  /// Keeps at most `limit` ghosts, the newest; at first 0. Allocates; the other functions do not.
  void SetLimit(size_t limit) {
    const size_t capacity = limit == 0 ? 0 : limit + GhostQueue::kBeyondLimit;
    std::vector<Payload> payloads(capacity);  // may throw: before any change
    queue_.SetCapacity(
        capacity, [&](uint32_t from, uint32_t to) { payloads[to] = std::move(payloads_[from]); });
    payloads_ = std::move(payloads);
    limit_ = limit;
    queue_.TrimTo(limit);
  }
  /// Makes `page` the newest ghost: see GhostQueue::Remember.
  void Remember(PageId page, Payload payload, PageId incoming) {
    if (limit_ == 0) return;
    payloads_[queue_.Remember(page, incoming, limit_)] = std::move(payload);
  }
  /// Forgets `page` and returns its payload, if it is in the queue.
  std::optional<Payload> Take(PageId page) {
    const uint32_t entry = queue_.Find(page);
    if (entry == GhostQueue::kNone) return std::nullopt;
    queue_.Forget(entry);
    return payloads_[entry];
  }
  size_t size() const { return queue_.size(); }

 private:
  GhostQueue queue_{0};
  std::vector<Payload> payloads_;  // by entry
  size_t limit_ = 0;
};

}  // namespace latchkey
