// The part of the pool that belongs to one actor: its counters, its scratch page and its writer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "bufferpool/actor_scopes.h"
#include "bufferpool/fix_recorder.h"
#include "bufferpool/prefetch_gauge.h"
#include "storage/base/ids.h"
#include "storage/base/zeroed_array.h"
#include "storage/page_store.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Why a page came into a frame.
enum class LoadCause : uint8_t {
  kDemand,   ///< a fix had to read it
  kAhead,    ///< read before a fix asked for it
  kNewPage,  ///< a fix got it zeroed, without a read
  kRedo,     ///< redo had to read it
  kCopied,   ///< copied from a private copy, without a read or a fix
  kChanges,  ///< read because changes waited for it
};
inline constexpr size_t kLoadCauses = 6;

/// Counters of one actor. Only the actor writes them (relaxed load and store); readers add them up.
struct alignas(64) PoolActor {
  uint32_t index = 0;
  /// Root of the tree in which the actor works, for its recorder. Only the actor uses it.
  PageId tree = kInvalidPageId;
  std::atomic<FixRecorder*> recorder{nullptr};  ///< BufferPool::SetFixRecorder
  /// Fixes by the page's type, PageType::kTreeLeaf and so on. Index 0: all other types.
  static constexpr size_t kCountedTypes = 4;
  std::atomic<uint64_t> fixes_of_type[kCountedTypes]{};
  std::atomic<uint64_t> loads[kLoadCauses]{};  ///< by LoadCause
  std::atomic<uint64_t> first_uses{0};         ///< fixes of pages that were read ahead, once each
  std::atomic<uint64_t> wasted_reads{0};       ///< pages read ahead and evicted without a fix
  std::atomic<uint64_t> scouting_fixes{0};     ///< fixes made only to find what to read ahead
  std::atomic<uint64_t> sync_writes{0};
  std::atomic<uint64_t> failed_page_ins{0};  ///< pages read in vain
  PrefetchGauge prefetch_pays;               ///< with FixMode::kLatched
  /// Memory of one page, for the actor's own use between two calls of the pool. It exists because
  /// an actor in the middle of a change must not fail for lack of memory.
  std::unique_ptr<uint64_t[]> scratch;
  std::unique_ptr<PageWriter> writer;  ///< for dirty victims; created at the first one

  uint64_t LoadsBy(LoadCause cause) const {
    return loads[static_cast<size_t>(cause)].load(std::memory_order_relaxed);
  }
  static void Add(std::atomic<uint64_t>& counter, uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

/// The actors that use one pool. Thread-safe.
class PoolActors {
 public:
  PoolActors(Runtime& runtime, uint32_t page_size);
  ~PoolActors();
  PoolActors(const PoolActors&) = delete;
  PoolActors& operator=(const PoolActors&) = delete;

  /// The calling actor's part, valid while the actor lives. Throws std::bad_alloc at the actor's
  /// first call when memory runs out.
  PoolActor& Here() {
    const uint32_t index = runtime_.ActorIndex();
    PoolActor* actor = actors_[index].load(std::memory_order_acquire);
    return __builtin_expect(actor == nullptr, 0) ? Add(index) : *actor;
  }

  /// As BufferPool::SetFixRecorder.
  void SetRecorder(FixRecorder* recorder);
  FixRecorder* recorder() const { return recorder_.load(std::memory_order_relaxed); }

  struct Totals {
    uint64_t fixes_of_type[PoolActor::kCountedTypes] = {};
    uint64_t loads[kLoadCauses] = {};
    uint64_t first_uses = 0, wasted_reads = 0, scouting_fixes = 0, sync_writes = 0;
    uint64_t failed_page_ins = 0;
  };
  Totals Sum() const;

 private:
  PoolActor& Add(uint32_t index);

  Runtime& runtime_;
  const uint32_t page_size_;
  ZeroedArray<std::atomic<PoolActor*>> actors_;  // by ActorIndex
  SeenActors seen_;
  std::atomic<FixRecorder*> recorder_{nullptr};  // of actors that come from now on
};

}  // namespace latchkey
