// Eviction: gives the loader empty frames. Chooses victims with the fix policy, writes the dirty
// ones and takes their pages out of their frames.
//
// A victim is *claimed* first: its page is latched exclusively by an attempt that never waits.
// So a thread may wait for a frame while it holds page latches, and no thread waits for a latch
// while it holds the policy's lock. A claimed victim is emptied, or reinstated if it cannot be
// written.
//
// With a write-ahead log an eviction prefers victims that need no flush of the log.
//
// Thread-safety: every function may be called from all actors at once. An actor that obtains or
// removes frames is inside the miss gate, or has closed it (miss_gate.h).
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bufferpool/absent_pages.h"
#include "bufferpool/ahead_share.h"
#include "bufferpool/buffer_frames.h"
#include "bufferpool/fix_policy.h"
#include "bufferpool/log_before_page.h"
#include "bufferpool/page_table.h"
#include "bufferpool/pool_actor.h"
#include "bufferpool/write_back.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/wait_ledger.h"

namespace latchkey {

/// Wakes the page cleaners; implemented by them.
class CleanerSignal {
 public:
  virtual ~CleanerSignal() = default;
  /// Reports that `evicted` frames lost their pages, and that `dirty_victims` had to be written
  /// synchronously. Cheap: called on every miss that finds no free frame.
  virtual void OnEviction(size_t evicted, size_t dirty_victims) = 0;
};

/// Which pages an eviction takes, and how many.
struct EvictionOptions {
  /// Passes over up to kMostPassedOver dirty pages of the replacement order in search of clean ones.
  bool clean_first = false;
  static constexpr size_t kMostPassedOver = 1024;
  /// The most victims of one eviction, 1 to FixPolicy::kMostVictims; 0: the fix policy's choice.
  uint32_t batch = 0;
};

class Evictor {
 public:
  Evictor(Runtime& runtime, FixPolicy& policy, PageTable& table, BufferFrames& frames,
          LogBeforePage& log, WriteBack& write_back)
      : runtime_(runtime),
        policy_(policy),
        table_(table),
        frames_(frames),
        log_(log),
        write_back_(write_back) {}

  /// Attaches `signal`; nullptr detaches. REQUIRES: the signal lives until it is detached.
  void SetSignal(CleanerSignal* signal) { signal_.store(signal, std::memory_order_release); }
  /// As BufferPool::SetAbsentPages.
  void SetAbsentPages(AbsentPages* absent) { absent_ = absent; }
  /// REQUIRES: no actor has obtained a frame yet.
  void SetOptions(const EvictionOptions& options) { options_ = options; }
  /// Where waits for a frame are noted. REQUIRES: as SetOptions.
  void SetWaits(const WaitWatch& waits) { waits_ = waits; }

  /// The longest time that ObtainFrame took of those that ended since the last call, in
  /// nanoseconds; 0: none of them evicted.
  Nanos TakeLongestWait() { return longest_wait_.exchange(0, std::memory_order_relaxed); }

  /// An empty frame for `incoming`, which the caller then owns; evicts when none is free.
  /// ResourceExhausted when all pages are latched, after a bounded wait if `patient`; the error of
  /// writing the victims when none could be written.
  absl::StatusOr<FrameId> ObtainFrame(PoolActor& actor, PageId incoming, bool patient);

  /// Learns here which pages were read ahead and evicted without a fix.
  AheadShare& ahead_share() { return ahead_share_; }

  /// Tries to latch the page in `frame` exclusively. False: another actor has latched the page, or
  /// the frame is empty.
  bool TryClaimFrame(FrameId frame);
  /// Ends the claim of a page that stays in `frame`.
  void GiveUpClaim(FrameId frame);
  /// Takes the page out of `frame`, which the caller then owns, and forgets its changes. The policy
  /// forgets the page without a ghost. Calls `while_latched` before the page's latch ends.
  /// REQUIRES: the caller has latched the page exclusively.
  void Remove(
      FrameId frame, uint32_t actor, absl::FunctionRef<void()> while_latched = [] {});

 private:
  absl::StatusOr<FrameId> EvictFrame(PoolActor& actor, PageId incoming, bool patient);
  size_t ClaimVictims(PoolActor& actor, PageId incoming, std::span<FrameId> victims);
  void NoteWait(Nanos wait);
  /// Empties up to freed.size() frames and returns their number. *written is the status of writing
  /// dirty victims.
  size_t EvictBatch(PoolActor& actor, PageId incoming, std::span<FrameId> freed,
                    absl::Status* written);
  /// Sorts claimed victims into clean ones and dirty ones that may be written, and gives the others
  /// back to the policy. Waits for the log only if no victim would be left. Returns the number of
  /// victims left, of which the first *clean are clean.
  size_t SortVictims(PoolActor& actor, std::span<FrameId> claimed, size_t* clean,
                     absl::Status* written);
  /// Gives a claimed victim back to the policy. Its page stays in the frame and stays dirty.
  void Reinstate(PoolActor& actor, FrameId frame);
  /// Evicts one page that needs no flush of the log before. False: there is no such page.
  bool FreeDurableFrame(PoolActor& actor);
  /// Evicts one clean page. Returns its frame; kNoFrame: there is no such page.
  FrameId EvictClean(PoolActor& actor);
  /// Evicts a page that `may_go` and that `make_clean` makes clean. Returns its frame, or kNoFrame.
  /// Searches the frames in order, without the fix policy, from behind the last one that was found.
  /// `make_clean` is called for claimed frames only.
  FrameId EvictAny(PoolActor& actor, absl::FunctionRef<bool(FrameId)> may_go,
                   absl::FunctionRef<bool(FrameId)> make_clean);
  /// Ends the eviction of the claimed page in `frame`.
  void Evicted(PoolActor& actor, FrameId frame);
  /// The claimed page leaves `frame`.
  void Empty(FrameId frame);

  Runtime& runtime_;
  FixPolicy& policy_;
  PageTable& table_;
  BufferFrames& frames_;
  LogBeforePage& log_;
  WriteBack& write_back_;
  EvictionOptions options_;
  WaitWatch waits_;
  std::atomic<CleanerSignal*> signal_{nullptr};
  AbsentPages* absent_ = nullptr;
  std::atomic<uint32_t> search_hand_{0};  // of EvictAny
  std::atomic<Nanos> longest_wait_{0};
  AheadShare ahead_share_;
};

}  // namespace latchkey
