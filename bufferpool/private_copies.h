// Private read copies: each of some actors keeps copies of pages in frames of its own, which no other
// actor sees (Ozawa et al., "Thread-specific buffer", 2021). The scheme `separate` asks for them.
//
// In the paper all pages are only read. Here pages change, in their one shared frame. A copy is of
// one version of its page, and counts while the page's word has that version: one read of a shared
// word for each fix, and no write of shared memory. The version grows with every change, eviction
// and free of the page, so the copy of an unchanged version is the page as it is in the store.
//
// A copy is used only while its page is in no shared frame. Its guard has a state that is not
// resident. Such a guard may be validated at any time. Its bytes may be read only until the actor's
// next fix, which may put another page into the private frame.
//
// Thread-safety: Of and Resize may be called from all actors at once. An ActorCopies belongs to one
// actor.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bufferpool/replacement/replacement_list.h"
#include "storage/base/ids.h"
#include "storage/base/zeroed_array.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// How many private frames there are, and of whom.
struct PrivateCopiesPlan {
  uint32_t actors = 0;          ///< actors with private frames; 0: there are none
  double frames_per_frame = 0;  ///< private frames of all these actors for each shared frame
  /// The fewest private frames of an actor.
  static uint64_t FewestFrames(const ReplacementChoice& replacement) {
    return std::max<uint64_t>(8, replacement.entry().fewest_frames);
  }

  /// Private frames of each actor beside so many shared ones.
  uint32_t FramesOfActor(uint64_t shared_frames) const {
    return actors == 0 ? 0
                       : static_cast<uint32_t>(static_cast<double>(shared_frames) *
                                               frames_per_frame / actors);
  }
};

/// The private frames of one actor, with a replacement algorithm of their own.
class ActorCopies {
 public:
  /// At most `limit` frames, in `memory` of `most` frames.
  ActorCopies(const ReplacementChoice& replacement, uint32_t page_size, std::byte* memory,
              uint32_t limit, uint32_t most, uint64_t seed);

  /// The copy of `page`, if there is one of this version; else nullptr. `is_hit`: the copy is used
  /// again.
  const std::byte* Find(PageId page, uint64_t version, bool is_hit);
  /// An empty private frame, at most `limit` of them in use. The caller fills it and calls Keep, or
  /// does not.
  std::byte* TakeFrame(PageId incoming, uint32_t limit);
  /// From now on the frame of the last TakeFrame holds `page` of `version`.
  void Keep(PageId page, uint64_t version);
  size_t size() const { return algorithm_->size(); }

  /// The next fix of `page` by this actor uses a shared frame: making room for the page in a shared
  /// frame has failed, and that fix will report why.
  void KeepOut(PageId page) { kept_out_ = page; }
  /// Whether that is so; afterwards it is not.
  bool TakeKeptOut(PageId page) {
    if (kept_out_ != page) return false;
    kept_out_ = kInvalidPageId;
    return true;
  }

  /// Bytes of an actor's private frame besides the page and the algorithm's.
  static constexpr size_t kBytesPerFrame = 64;

 private:
  using Slot = uint32_t;  // of a frame, from 0; the algorithm calls it FrameId{slot + 1}
  struct Copy {
    PageId page = kInvalidPageId;
    uint64_t version = 0;
  };

  std::byte* DataOf(Slot slot) const { return memory_ + size_t{slot} * page_size_; }
  void ApplyLimit(uint32_t limit);
  void Drop(Slot slot);

  const uint32_t page_size_;
  std::byte* const memory_;
  uint32_t limit_;
  ZeroedArray<ReferenceByte> reference_bytes_;
  std::unique_ptr<ReplacementAlgorithm> algorithm_;
  std::vector<Copy> copies_;                     // by slot
  std::vector<Slot> free_;                       // the last one is used next
  absl::flat_hash_map<uint64_t, Slot> slot_of_;  // by page
  PageId kept_out_ = kInvalidPageId;
};

class PrivateCopies {
 public:
  /// Beside `shared_frames` frames, which may become `most_shared_frames`.
  PrivateCopies(const PrivateCopiesPlan& plan, const ReplacementChoice& replacement,
                uint32_t page_size, uint32_t shared_frames, uint32_t most_shared_frames);
  ~PrivateCopies();
  PrivateCopies(const PrivateCopies&) = delete;
  PrivateCopies& operator=(const PrivateCopies&) = delete;

  /// Whether the system gave the address space. If not, no other function may be called.
  bool reserved() const { return memory_ != nullptr; }
  /// The copies of the actor with index `actor`, the caller. The first actors to ask get private
  /// frames; nullptr for all others. Throws std::bad_alloc at an actor's first call when memory runs
  /// out.
  ActorCopies* Of(uint32_t actor) {
    ActorCopies* mine = by_actor_[actor].load(std::memory_order_acquire);
    return mine != nullptr ? mine : Add(actor);
  }
  /// Private frames of each actor now. An actor that has more gives them up at its next TakeFrame.
  uint32_t frames_of_actor() const { return limit_.load(std::memory_order_relaxed); }
  /// The number of shared frames has changed. Each actor keeps the fewest private frames at least.
  void Resize(uint32_t shared_frames);
  uint64_t memory_bytes() const;
  /// Bytes of a private frame with its page.
  static uint64_t BytesPerFrame(const ReplacementChoice& replacement, uint32_t page_size) {
    return page_size + ActorCopies::kBytesPerFrame +
           replacement.entry().bytes_per_frame(replacement.values());
  }

 private:
  ActorCopies* Add(uint32_t actor);
  size_t reserved_bytes() const { return size_t{plan_.actors} * most_ * page_size_; }

  const PrivateCopiesPlan plan_;
  const ReplacementChoice replacement_;
  const uint32_t page_size_;
  const uint32_t most_;  // frames of an actor
  std::byte* const memory_;
  std::atomic<uint32_t> limit_;
  std::atomic<uint32_t> taken_{0};                   // actors that have private frames
  std::vector<std::unique_ptr<ActorCopies>> parts_;  // each is made by its actor
  ZeroedArray<std::atomic<ActorCopies*>> by_actor_;  // by ActorIndex
};

}  // namespace latchkey
