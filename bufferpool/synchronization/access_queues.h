// The queues of BP-Wrapper (TPDS 2016, III.A): each actor notes its accesses in a queue of its own,
// and reports them in batches under the lock of the replacement algorithm.
//
// An actor has one queue for each region. Only the actor appends. Whoever holds the region's lock
// may take entries out, also those of other actors. So an actor that is idle or has ended keeps
// nothing back.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "bufferpool/actor_scopes.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/check.h"
#include "storage/base/ids.h"
#include "storage/base/zeroed_array.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// A fix or a load that the replacement algorithm does not know yet.
struct Access {
  enum class Kind : uint32_t { kHit, kFirstUse, kDemandLoad, kAheadLoad };

  PageId page;
  FrameId frame;
  Kind kind;
};

/// Memory: about 128 bytes and 16 per entry for each region that an actor has used.
class AccessQueues {
 public:
  /// REQUIRES: capacity >= 1. May throw std::bad_alloc.
  AccessQueues(size_t regions, size_t capacity)
      : capacity_(capacity),
        slots_(std::bit_ceil(capacity)),
        ends_(regions * Runtime::kMaxActors),
        entries_(regions * Runtime::kMaxActors * slots_) {}

  size_t capacity() const { return capacity_; }

  /// Appends `access` and returns the number of entries now in the queue and of free hits counted
  /// since it was last empty. Called by `actor` only. REQUIRES: the queue is not full.
  size_t Push(size_t region, uint32_t actor, const Access& access) {
    Ends& ends = EndsOf(region, actor);
    const uint64_t tail = ends.tail.load(std::memory_order_relaxed);
    const uint64_t queued = tail - ends.head.load(std::memory_order_acquire);
    LATCHKEY_CHECK(queued < capacity_);
    EntryAt(region, actor, tail) = access;
    ends.tail.store(tail + 1, std::memory_order_release);
    seen_.Note(actor);
    if (queued == 0) ends.free_hits = 0;
    return queued + 1 + ends.free_hits;
  }
  /// Counts a hit that needs no entry, if the queue has entries, and returns what Push returns; 0:
  /// the queue is empty (the paper's bpwrapper_enabled is false). Called by `actor` only.
  size_t CountFreeHit(size_t region, uint32_t actor) {
    Ends& ends = EndsOf(region, actor);
    const uint64_t queued =
        ends.tail.load(std::memory_order_relaxed) - ends.head.load(std::memory_order_relaxed);
    return queued == 0 ? 0 : queued + ++ends.free_hits;
  }

  /// Takes all entries out of the actor's queue, oldest first, and calls apply(access) for each.
  /// REQUIRES: the lock of the region.
  template <typename Apply>
  void Drain(size_t region, uint32_t actor, Apply apply) {
    Ends& ends = EndsOf(region, actor);
    const uint64_t tail = ends.tail.load(std::memory_order_acquire);
    uint64_t head = ends.head.load(std::memory_order_relaxed);
    if (head == tail) return;
    for (; head != tail; ++head) apply(EntryAt(region, actor, head));
    ends.head.store(head, std::memory_order_release);
  }
  /// Drain for the queues of all actors. REQUIRES: the lock of the region.
  template <typename Apply>
  void DrainAll(size_t region, Apply apply) {
    const uint32_t actors = seen_.end();
    for (uint32_t actor = 0; actor < actors; ++actor) Drain(region, actor, apply);
  }

  /// Calls prefetch(access) for each entry in the actor's queue. Called by `actor` only, without
  /// the region's lock. Does nothing between StopPrefetches and AllowPrefetches.
  template <typename Prefetch>
  void PrefetchEntries(size_t region, uint32_t actor, Prefetch prefetch) {
    if (!prefetches_.TryEnter(actor)) return;
    const Ends& ends = EndsOf(region, actor);
    const uint64_t tail = ends.tail.load(std::memory_order_relaxed);
    // The holder of the lock may advance the head meanwhile, but only the actor overwrites entries.
    for (uint64_t i = ends.head.load(std::memory_order_relaxed); i < tail; ++i) {
      prefetch(static_cast<const Access&>(EntryAt(region, actor, i)));
    }
    prefetches_.Leave(actor);
  }
  /// From the return of this call on, no actor is in PrefetchEntries: algorithms may move their
  /// memory. One caller at a time.
  void StopPrefetches(Runtime& runtime) {
    prefetches_.Close();
    Backoff backoff(runtime);
    while (prefetches_.AnyInside()) backoff.Pause();
  }
  void AllowPrefetches() { prefetches_.Open(); }

 private:
  struct Ends {
    alignas(64) std::atomic<uint64_t> tail;  // entries appended so far
    uint64_t free_hits;                      // of the actor alone, since the queue was last empty
    alignas(64) std::atomic<uint64_t> head;  // entries taken out so far
  };

  Ends& EndsOf(size_t region, uint32_t actor) {
    return ends_[region * Runtime::kMaxActors + actor];
  }
  Access& EntryAt(size_t region, uint32_t actor, uint64_t number) {
    return entries_[(region * Runtime::kMaxActors + actor) * slots_ + (number & (slots_ - 1))];
  }
  const size_t capacity_;
  const size_t slots_;  // of a queue: the capacity, rounded up to a power of two
  ZeroedArray<Ends> ends_;
  ZeroedArray<Access> entries_;
  ActorScopes prefetches_;
  SeenActors seen_;  // the others have empty queues
};

}  // namespace latchkey
