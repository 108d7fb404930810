#include "bufferpool/replacement/trace_replay.h"

#include <algorithm>
#include <vector>

#include "storage/base/check.h"

namespace latchkey {

uint64_t CountMisses(const ReplacementChoice& replacement, uint32_t frames,
                     std::span<const uint32_t> requests, uint64_t seed) {
  LATCHKEY_CHECK(frames >= 1);
  if (requests.empty()) return 0;
  std::vector<std::atomic<uint8_t>> reference_bytes(frames + 1);
  const auto algorithm =
      replacement.Make(ReplacementConfig{.first_frame = 1,
                                         .frame_capacity = frames,
                                         .reference_bytes = reference_bytes.data(),
                                         .seed = seed});
  std::vector<FrameId> frame_of(*std::max_element(requests.begin(), requests.end()) + size_t{1},
                                kNoFrame);
  std::vector<uint32_t> page_in(frames + 1);
  uint64_t misses = 0;
  uint32_t used = 0;
  for (const uint32_t page : requests) {
    if (frame_of[page] != kNoFrame) {
      algorithm->OnHit(frame_of[page]);
      continue;
    }
    ++misses;
    FrameId frame{used + 1};
    if (used < frames) {
      ++used;
    } else {
      frame = algorithm->Victim(PageId{page}, [](FrameId) { return true; });
      frame_of[page_in[Raw(frame)]] = kNoFrame;
    }
    frame_of[page] = frame;
    page_in[Raw(frame)] = page;
    algorithm->OnLoad(frame, PageId{page}, LoadKind::kDemand);
  }
  return misses;
}

}  // namespace latchkey
