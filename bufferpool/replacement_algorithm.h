// Replacement algorithms: an algorithm chooses the page to evict when another needs a frame.
//
// An algorithm is single-threaded and pure: no locks, no I/O, no clock, no randomness except its
// seed. The trace simulator (latchkey cachesim) and the pool run the same class. A synchronisation
// scheme (fix_policy.h) serialises the calls of threads.
//
// Invariants, checked for every algorithm by replacement_conformance_test.cc:
//  1. OnLoad is called for an empty frame only; OnHit and OnRemove for a loaded one only; Reinstate
//     for one that Victim returned and that was not loaded since.
//  2. A victim is a loaded frame for which `evictable` returned true. When Victim returns, the
//     algorithm has forgotten it, except for a ghost entry. Victim fails only if no loaded frame is
//     evictable.
//  3. Memory is O(frames + ghosts), ghosts O(frames) unless the algorithm's paper says otherwise.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bufferpool/reference_byte.h"
#include "storage/base/ids.h"

namespace latchkey {

/// Position of a frame within the range that its algorithm instance owns, from 0.
using FrameSlot = uint32_t;
inline constexpr FrameSlot kNoFrameSlot = UINT32_MAX;

/// What only the replay of a whole trace knows. The requests call OnHit or OnLoad once each.
struct TraceKnowledge {
  /// For each request, the number of the next request for its page; UINT32_MAX: none. Empty unless
  /// the algorithm needs the future.
  std::span<const uint32_t> next_use;
  /// Distinct pages that the trace may name. It bounds a memory of evicted pages without limit.
  uint32_t pages = 0;
};

/// Configuration of an instance. It owns the frames first_frame to first_frame + frame_capacity - 1
/// and no others, so that regions can divide a pool's frames.
struct ReplacementConfig {
  uint32_t first_frame = 1;
  /// Frames that may be loaded at once, until Resize says otherwise.
  uint32_t frame_capacity = 0;
  /// One byte per frame of the pool, indexed by frame id and shared by all instances. Two kinds of
  /// algorithms use it: a hit changes only this byte, or the algorithm marks here that a hit would
  /// change nothing. Outlives the instance.
  ReferenceByte* reference_bytes = nullptr;
  uint64_t seed = 42;
  /// Set by a trace replay, nullptr in a pool. Outlives the instance.
  const TraceKnowledge* trace = nullptr;
};

/// Why a page was loaded.
enum class LoadKind : uint8_t {
  kDemand,  ///< a fix asked for it
  kAhead,   ///< read ahead: a fix may follow (OnFirstUse), or not
};

/// What has to happen when a page is fixed again.
enum class HitNeeds : uint8_t {
  kNothing,           ///< OnHit changes nothing
  kByte,              ///< adding one to the frame's reference byte is enough
  kLock,              ///< OnHit under the scheme's lock
  kLockUnlessMarked,  ///< the same, but nothing if the frame's reference byte is marked
};

class ReplacementAlgorithm {
 public:
  virtual ~ReplacementAlgorithm() = default;

  /// Reports that the page in `frame` was fixed again.
  virtual void OnHit(FrameId frame) = 0;
  /// Asks the processor for the memory that OnHit(frame) will touch, if `page` is in it. A hint:
  /// changes nothing. Other threads may call all functions but Resize at the same time
  /// (BP-Wrapper III.B).
  virtual void PrefetchForHit(FrameId /*frame*/, PageId /*page*/) const {}
  /// Reports that `page` was loaded into `frame`, which was empty.
  virtual void OnLoad(FrameId frame, PageId page, LoadKind kind) = 0;
  /// Reports the first fix of a page that was loaded with LoadKind::kAhead. It is no hit: the load
  /// and this fix are one miss. Called only if notes_first_use().
  virtual void OnFirstUse(FrameId /*frame*/) {}
  /// Whether OnFirstUse does anything. Most algorithms count the load alone.
  virtual bool notes_first_use() const { return false; }
  /// Chooses a frame to empty for `incoming`, or for no page in particular if that is
  /// kInvalidPageId. Calls `evictable(frame)` for candidates in the order of preference until it
  /// returns true; `evictable` may claim that frame as a side effect. Returns kNoFrame when no
  /// frame is evictable.
  virtual FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) = 0;
  /// Reports that the eviction of `frame`, which Victim chose, was given up: its page is still in
  /// it. The frame is again next in line for eviction, or as good as that; no ghost is left, and
  /// nothing counts as a load or a hit. Other calls may have come between.
  virtual void Reinstate(FrameId frame) = 0;
  /// Reports that `frame` was emptied for another reason (its page was freed, or the pool shrinks):
  /// no ghost.
  virtual void OnRemove(FrameId frame) = 0;
  /// Fills `out` with the loaded frames next in line for eviction, coldest first, each once, and
  /// returns their number. Changes nothing. The order may be approximate, but an `out` with room
  /// for size() frames gets all of them.
  virtual size_t PeekColdest(std::span<FrameId> out) const = 0;
  /// Changes the number of frames that may be loaded at once to `frames`, counted from the first
  /// frame of the configuration. Loaded frames above stay until they are evicted or removed. Only
  /// Resize and PeekColdest may throw std::bad_alloc; then nothing has changed.
  virtual void Resize(size_t frames) = 0;
  /// Frames loaded now.
  virtual size_t size() const = 0;

  /// If a hit only adds to the frame's reference byte (CLOCK's bit, GCLOCK's counter), it needs no
  /// lock: the most hits that the byte counts. nullopt for all other algorithms.
  virtual std::optional<uint8_t> most_counted_hits() const { return std::nullopt; }
  /// Whether the reference byte of a loaded frame has a hit while OnHit(frame) would change nothing,
  /// and none otherwise. A scheme may then leave out that call and its lock.
  virtual bool marks_free_hits() const { return false; }

 protected:
  explicit ReplacementAlgorithm(const ReplacementConfig& config)
      : first_frame_(config.first_frame), all_bytes_(config.reference_bytes) {}

  FrameSlot SlotOf(FrameId frame) const { return Raw(frame) - first_frame_; }
  FrameId FrameOf(FrameSlot slot) const { return FrameId{first_frame_ + slot}; }
  /// The reference byte of `slot`. REQUIRES: the configuration has reference bytes.
  ReferenceByte& ByteOf(FrameSlot slot) const { return all_bytes_[first_frame_ + slot]; }

 private:
  const uint32_t first_frame_;
  ReferenceByte* const all_bytes_;
};

}  // namespace latchkey
