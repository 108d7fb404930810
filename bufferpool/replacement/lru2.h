// LRU-2 (O'Neil, O'Neil, Weikum, SIGMOD 1993; thesis 5.4): each page has HIST(2), the
// time of its second last uncorrelated fix. The victim is the page with the oldest HIST(2). A page
// that was fixed only once comes before all others;
// among equals, the older last fix, HIST(1), decides. Fixes within the correlated reference period
// after the last one count as one with it, and a page in that period is evicted only if no other
// page can be. A ghost keeps HIST(1) of an evicted page. Times are counts of requests.
//
// Two variants with the same victims: `heap` orders the pages on each hit (a hit O(log frames), a
// miss O(log frames)); `array` only notes the time of a hit and scans all frames on a miss.
#pragma once

#include <algorithm>
#include <compare>
#include <limits>

#include "bufferpool/replacement/frame_heap.h"
#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement/ghost_queue.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class Lru2Replacement final : public ReplacementAlgorithm {
 private:
  struct History {
    PageId page = kInvalidPageId;
    uint64_t last = 0;    // LAST: the last fix
    uint64_t first = 0;   // HIST(1): the start of the last correlated period
    uint64_t second = 0;  // HIST(2): the end of the one before, 0: none
  };
  // Order of eviction: the smallest first.
  struct Rank {
    uint64_t second;
    uint64_t first;
    auto operator<=>(const Rank&) const = default;
  };
  enum class Presence : uint8_t { kEmpty, kLoaded, kReinstated };
  struct ScanRank {
    bool spared;  // then `rank` is {LAST, 0}
    Rank rank;
    FrameSlot slot;
    auto operator<=>(const ScanRank&) const = default;
  };
  using Ghosts = PayloadGhostQueue<uint64_t>;  // HIST(1)
  static constexpr double kMostHistoryInPool = 64;
  static constexpr std::string_view kVariants[] = {"heap", "array"};

 public:
  static constexpr std::string_view kName = "lru2";
  static constexpr std::string_view kSummary = "the second last fix is longest ago";
  static constexpr ChoiceParameter kParameters[] = {
      {"crp", 0, 0, 1, ParameterKind::kNumber,
       "correlated reference period in requests, as a fraction of the cache"},
      {"history", 0.5, 0, std::numeric_limits<double>::infinity(), ParameterKind::kNumber,
       "ghosts as a multiple of the cache; inf in a trace replay only"},
      {"variant", 0, 0, 1, ParameterKind::kWord, "fast miss (heap) or slow miss (array)",
       kVariants}};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  static constexpr std::string_view SimulatorOnly(std::span<const double> parameters) {
    return parameters[1] > kMostHistoryInPool ? "history above 64 (ask for history=0.5, say)" : "";
  }
  static constexpr size_t BytesPerFrame(std::span<const double> parameters) {
    const bool heap = parameters[2] == 0;
    return sizeof(History) + sizeof(Presence) +
           (heap ? FrameLinks::kBytesEach + FrameHeap<Rank>::kBytesEach : 0) +
           static_cast<size_t>(std::min(parameters[1], kMostHistoryInPool) *
                               Ghosts::kMostBytesEach) +
           1;
  }

  Lru2Replacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void PrefetchForHit(FrameId frame, PageId page) const override;
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  /// The page has the history that it had. Its correlated period does not spare it any more.
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override { return size_; }

 private:
  Rank RankOf(FrameSlot slot) const { return {history_[slot].second, history_[slot].first}; }
  // Whether a request at time `now` comes in the correlated period of `slot`.
  bool InPeriodAt(uint64_t now, FrameSlot slot) const { return now - history_[slot].last <= crp_; }
  // Whether `slot` is evicted only if no other page can be, at the next request.
  bool IsSpared(FrameSlot slot) const {
    return presence_[slot] == Presence::kLoaded && InPeriodAt(now_ + 1, slot);
  }
  ScanRank ScanRankOf(FrameSlot slot) const;

  // Heap variant: `recent_` has the spared pages by their last fix, the heap all others.
  void Insert(FrameSlot slot);
  void Erase(FrameSlot slot);
  // Moves the pages whose period ends before the next request from `recent_` to the heap.
  void EndPeriods();
  FrameSlot FirstOfHeap(absl::FunctionRef<bool(FrameSlot)> accept);
  FrameSlot FirstByScan(absl::FunctionRef<bool(FrameSlot)> accept) const;

  const double crp_fraction_;
  const double history_multiple_;
  const bool scans_;  // variant=array
  const uint32_t trace_pages_;
  uint64_t crp_ = 0;
  uint64_t now_ = 0;  // requests so far
  size_t size_ = 0;
  std::vector<History> history_;    // by slot
  std::vector<Presence> presence_;  // by slot
  FrameLinks links_;
  FrameList recent_;
  FrameHeap<Rank> heap_;
  Ghosts ghosts_;
};

}  // namespace latchkey
