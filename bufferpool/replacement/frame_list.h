// Doubly linked lists of frames, threaded through one array: no allocation per element, 8 bytes per
// frame. Several lists may share one FrameLinks if each frame is on at most one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bufferpool/replacement_algorithm.h"
#include "storage/base/check.h"

namespace latchkey {

class FrameLinks {
 public:
  explicit FrameLinks(size_t slots) : links_(slots) {}
  /// Makes room for `slots` slots. Never shrinks, because frames above may still be linked.
  void Grow(size_t slots) {
    if (slots > links_.size()) links_.resize(slots);
  }
  /// Asks the processor for the links of `slot` and of its neighbours.
  void Prefetch(FrameSlot slot) const {
    const Link link = links_[slot];
    if (link.newer != kNoFrameSlot) __builtin_prefetch(&links_[link.newer], 1);
    if (link.older != kNoFrameSlot) __builtin_prefetch(&links_[link.older], 1);
  }
  static constexpr size_t kBytesEach = 8;

 private:
  friend class FrameList;
  struct Link {
    FrameSlot newer = kNoFrameSlot;
    FrameSlot older = kNoFrameSlot;
  };
  static_assert(sizeof(Link) == kBytesEach);
  std::vector<Link> links_;
};

/// A list from newest() to oldest(). The caller passes the same FrameLinks to every call.
class FrameList {
 public:
  void PushNewest(FrameLinks& links, FrameSlot slot) {
    links.links_[slot] = {.newer = kNoFrameSlot, .older = newest_};
    if (newest_ == kNoFrameSlot) {
      oldest_ = slot;
    } else {
      links.links_[newest_].newer = slot;
    }
    newest_ = slot;
    ++size_;
  }
  void PushOldest(FrameLinks& links, FrameSlot slot) {
    links.links_[slot] = {.newer = oldest_, .older = kNoFrameSlot};
    if (oldest_ == kNoFrameSlot) {
      newest_ = slot;
    } else {
      links.links_[oldest_].older = slot;
    }
    oldest_ = slot;
    ++size_;
  }
  /// Puts `slot` next to `newer`, which is on this list, on its older side.
  void InsertOlderThan(FrameLinks& links, FrameSlot newer, FrameSlot slot) {
    const FrameSlot older = links.links_[newer].older;
    if (older == kNoFrameSlot) {
      PushOldest(links, slot);
      return;
    }
    links.links_[slot] = {.newer = newer, .older = older};
    links.links_[newer].older = links.links_[older].newer = slot;
    ++size_;
  }
  void Remove(FrameLinks& links, FrameSlot slot) {
    LATCHKEY_DCHECK(size_ > 0);
    const FrameLinks::Link link = links.links_[slot];
    (link.newer == kNoFrameSlot ? newest_ : links.links_[link.newer].older) = link.older;
    (link.older == kNoFrameSlot ? oldest_ : links.links_[link.older].newer) = link.newer;
    --size_;
  }
  void MoveToNewest(FrameLinks& links, FrameSlot slot) {
    if (slot == newest_) return;
    Remove(links, slot);
    PushNewest(links, slot);
  }
  /// Puts `with`, which is on no list, at the place of `slot`, which leaves the list.
  void Replace(FrameLinks& links, FrameSlot slot, FrameSlot with) {
    const FrameLinks::Link link = links.links_[slot];
    links.links_[with] = link;
    (link.newer == kNoFrameSlot ? newest_ : links.links_[link.newer].older) = with;
    (link.older == kNoFrameSlot ? oldest_ : links.links_[link.older].newer) = with;
  }
  /// The first slot, from the oldest on, for which `accept(slot)` returns true, or kNoFrameSlot.
  template <typename Accept>
  FrameSlot FindFromOldest(const FrameLinks& links, Accept&& accept) const {
    FrameSlot slot = oldest_;
    while (slot != kNoFrameSlot && !accept(slot)) slot = NextNewer(links, slot);
    return slot;
  }
  FrameSlot oldest() const { return oldest_; }
  FrameSlot newest() const { return newest_; }
  FrameSlot NextNewer(const FrameLinks& links, FrameSlot slot) const {
    return links.links_[slot].newer;
  }
  size_t size() const { return size_; }

 private:
  FrameSlot newest_ = kNoFrameSlot;
  FrameSlot oldest_ = kNoFrameSlot;
  size_t size_ = 0;
};

}  // namespace latchkey
