// Doubly linked lists of frames, threaded through one array: no allocation per element, 8 bytes per
// frame. Several lists may share one FrameLinks if each frame is on at most one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bufferpool/replacement_algorithm.h"
#include "storage/base/check.h"
#include "storage/base/racy_memory.h"

namespace latchkey {

class FrameLinks {
 public:
  explicit FrameLinks(size_t slots) : links_(slots) {}
  /// Makes room for `slots` slots. Never shrinks, because frames above may still be linked.
  void Grow(size_t slots) {
    if (slots > links_.size()) links_.resize(slots);
  }
  /// Asks the processor for the links of `slot` and of its neighbours. Another thread may change
  /// the lists meanwhile, but not call Grow.
  void Prefetch(FrameSlot slot) const {
    const auto newer = RacyLoad<FrameSlot>(&links_[slot].newer);
    const auto older = RacyLoad<FrameSlot>(&links_[slot].older);
    if (newer != kNoFrameSlot) __builtin_prefetch(&links_[newer], 1);
    if (older != kNoFrameSlot) __builtin_prefetch(&links_[older], 1);
  }
  static constexpr size_t kBytesEach = 8;

 private:
  friend class FrameList;
  struct Link {
    FrameSlot newer = kNoFrameSlot;
    FrameSlot older = kNoFrameSlot;
  };
  static_assert(sizeof(Link) == kBytesEach);
  void SetNewer(FrameSlot slot, FrameSlot newer) { RacyStore(&links_[slot].newer, newer); }
  void SetOlder(FrameSlot slot, FrameSlot older) { RacyStore(&links_[slot].older, older); }
  void Set(FrameSlot slot, const Link& link) {
    SetNewer(slot, link.newer);
    SetOlder(slot, link.older);
  }

  std::vector<Link> links_;
};

/// A list from newest() to oldest(). The caller passes the same FrameLinks to every call.
class FrameList {
 public:
  void PushNewest(FrameLinks& links, FrameSlot slot) {
    links.Set(slot, {.newer = kNoFrameSlot, .older = newest_});
    if (newest_ == kNoFrameSlot) {
      oldest_ = slot;
    } else {
      links.SetNewer(newest_, slot);
    }
    newest_ = slot;
    ++size_;
  }
  void PushOldest(FrameLinks& links, FrameSlot slot) {
    links.Set(slot, {.newer = oldest_, .older = kNoFrameSlot});
    if (oldest_ == kNoFrameSlot) {
      newest_ = slot;
    } else {
      links.SetOlder(oldest_, slot);
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
    links.Set(slot, {.newer = newer, .older = older});
    links.SetOlder(newer, slot);
    links.SetNewer(older, slot);
    ++size_;
  }
  void Remove(FrameLinks& links, FrameSlot slot) {
    LATCHKEY_DCHECK(size_ > 0);
    const FrameLinks::Link link = links.links_[slot];
    SetOlderOf(links, link.newer, link.older);
    SetNewerOf(links, link.older, link.newer);
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
    links.Set(with, link);
    SetOlderOf(links, link.newer, with);
    SetNewerOf(links, link.older, with);
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
  // Of the list itself if `slot` is kNoFrameSlot.
  void SetOlderOf(FrameLinks& links, FrameSlot slot, FrameSlot older) {
    if (slot == kNoFrameSlot) {
      newest_ = older;
    } else {
      links.SetOlder(slot, older);
    }
  }
  void SetNewerOf(FrameLinks& links, FrameSlot slot, FrameSlot newer) {
    if (slot == kNoFrameSlot) {
      oldest_ = newer;
    } else {
      links.SetNewer(slot, newer);
    }
  }

  FrameSlot newest_ = kNoFrameSlot;
  FrameSlot oldest_ = kNoFrameSlot;
  size_t size_ = 0;
};

}  // namespace latchkey
