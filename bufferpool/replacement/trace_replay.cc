#include "bufferpool/replacement/trace_replay.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bufferpool/synchronization/region_division.h"
#include "storage/base/check.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

// The replay looks at its stop flag once in this many requests.
constexpr size_t kRequestsBetweenLooks = 4096;

bool IsToldToStop(const TraceReplaySettings& settings, size_t request) {
  return request % kRequestsBetweenLooks == 0 && settings.stop != nullptr &&
         settings.stop->load(std::memory_order_relaxed);
}

// For each request, the number of the next one for its page, or UINT32_MAX. Not complete if it is
// told to stop.
std::vector<uint32_t> NextUses(const TraceReplaySettings& settings,
                               std::span<const uint32_t> requests, size_t pages) {
  LATCHKEY_CHECK(requests.size() < UINT32_MAX);
  std::vector<uint32_t> next_use_of(pages, UINT32_MAX);
  std::vector<uint32_t> next_uses(requests.size());
  for (size_t i = requests.size(); i-- > 0 && !IsToldToStop(settings, i);) {
    next_uses[i] = std::exchange(next_use_of[requests[i]], static_cast<uint32_t>(i));
  }
  return next_uses;
}

class Replay {
 public:
  Replay(const ReplacementChoice& replacement, const TraceReplaySettings& settings,
         const TraceKnowledge& trace, bool counts_writes)
      : division_(settings.frames, settings.regions, replacement.entry().fewest_frames,
                  settings.hash_seed),
        bytes_(settings.frames + size_t{1}),
        frame_of_(trace.pages, kNoFrame),
        page_in_(settings.frames + size_t{1}),
        dirty_(counts_writes ? settings.frames + size_t{1} : 0) {
    for (size_t r = 0; r < division_.active(); ++r) {
      const RegionDivision::Range range = division_.RangeOf(r);
      regions_.push_back(
          {.algorithm = replacement.Make(ReplacementConfig{
               .first_frame = range.first,
               .frame_capacity = range.frames,
               .reference_bytes = bytes_.data(),
               .seed = division_.active() == 1 ? settings.seed : MixHash(settings.seed + r),
               .trace = &trace}),
           .next = range.first,
           .end = range.first + range.frames});
    }
  }

  void Request(uint32_t page) {
    Region& region = regions_[division_.RegionOf(PageId{page})];
    FrameId& frame = frame_of_[page];
    if (frame != kNoFrame) {
      region.algorithm->OnHit(frame);
      return;
    }
    ++result_.misses;
    frame = region.next < region.end ? FrameId{region.next++} : Evict(region, page);
    page_in_[Raw(frame)] = page;
    region.algorithm->OnLoad(frame, PageId{page}, LoadKind::kDemand);
  }
  void Write(uint32_t page) { dirty_[Raw(frame_of_[page])] = true; }
  const TraceReplayResult& result() const { return result_; }

 private:
  struct Region {
    std::unique_ptr<ReplacementAlgorithm> algorithm;
    uint32_t next;  // frames from here to `end` are empty
    uint32_t end;
  };

  FrameId Evict(Region& region, uint32_t page) {
    const FrameId frame = region.algorithm->Victim(PageId{page}, [](FrameId) { return true; });
    frame_of_[page_in_[Raw(frame)]] = kNoFrame;
    if (!dirty_.empty() && dirty_[Raw(frame)]) {
      dirty_[Raw(frame)] = false;
      ++result_.dirty_writes;
    }
    return frame;
  }

  const RegionDivision division_;
  std::vector<ReferenceByte> bytes_;
  std::vector<Region> regions_;
  std::vector<FrameId> frame_of_;
  std::vector<uint32_t> page_in_;
  std::vector<bool> dirty_;
  TraceReplayResult result_;
};

}  // namespace

TraceReplayResult ReplayTrace(const ReplacementChoice& replacement,
                              const TraceReplaySettings& settings,
                              std::span<const uint32_t> requests, const std::vector<bool>& writes) {
  LATCHKEY_CHECK(settings.frames >= 1 && settings.regions >= 1);
  LATCHKEY_CHECK(writes.empty() || writes.size() == requests.size());
  if (requests.empty()) return {};
  const uint32_t pages = *std::max_element(requests.begin(), requests.end()) + 1;
  std::vector<uint32_t> next_uses;
  if (replacement.entry().needs_future) {
    LATCHKEY_CHECK(settings.regions == 1);
    next_uses = NextUses(settings, requests, pages);
  }
  Replay replay(replacement, settings, {.next_use = next_uses, .pages = pages}, !writes.empty());
  for (size_t i = 0; i < requests.size(); ++i) {
    if (IsToldToStop(settings, i)) {
      TraceReplayResult part = replay.result();
      part.stopped = true;
      return part;
    }
    replay.Request(requests[i]);
    if (!writes.empty() && writes[i]) replay.Write(requests[i]);
  }
  return replay.result();
}

}  // namespace latchkey
