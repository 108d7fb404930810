// Events in virtual time, ordered by due time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// An event for `target` at time `when`. Tickets are never reused, so the owner of `target` can
/// tell by the ticket whether the event is still valid.
struct VirtualEvent {
  Nanos when = 0;
  uint64_t salt = 0;  ///< seeded; orders events of one instant
  uint64_t ticket = 0;
  uint32_t target = 0;

  bool Before(const VirtualEvent& other) const {
    if (when != other.when) return when < other.when;
    if (salt != other.salt) return salt < other.salt;
    return ticket < other.ticket;
  }
};

/// A heap of events, the earliest first. The order is total, so it does not depend on the order of
/// insertion. Not thread-safe.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  const VirtualEvent& earliest() const { return heap_.front(); }

  void Push(const VirtualEvent& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  VirtualEvent Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    const VirtualEvent event = heap_.back();
    heap_.pop_back();
    return event;
  }
  void Clear() { heap_.clear(); }

  /// Drops the events for which `is_stale` returns true.
  template <typename IsStale>
  void Purge(IsStale is_stale) {
    heap_.erase(std::remove_if(heap_.begin(), heap_.end(), is_stale), heap_.end());
    std::make_heap(heap_.begin(), heap_.end(), Later);
  }

 private:
  static bool Later(const VirtualEvent& a, const VirtualEvent& b) { return b.Before(a); }

  std::vector<VirtualEvent> heap_;
};

}  // namespace latchkey
