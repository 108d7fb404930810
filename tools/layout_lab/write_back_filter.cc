#include "tools/layout_lab/write_back_filter.h"

#include "bufferpool/replacement/replacement_list.h"
#include "storage/base/check.h"

namespace latchkey {

WriteBackFilter::WriteBackFilter(uint32_t pages, uint32_t frames)
    : bytes_(frames + size_t{1}),
      lru_(ReplacementAlgorithms().Named("lru").Make(
          ReplacementConfig{.frame_capacity = frames, .reference_bytes = bytes_.data()})),
      frame_of_(pages, kNoFrame),
      page_in_(frames + size_t{1}),
      changed_(frames + size_t{1}) {
  LATCHKEY_CHECK(frames >= 1);
}

WriteBackFilter::~WriteBackFilter() = default;

WriteBackFilter::Effect WriteBackFilter::Access(uint32_t page, bool changes) {
  Effect effect;
  FrameId& frame = frame_of_[page];
  if (frame != kNoFrame) {
    lru_->OnHit(frame);
  } else {
    effect.read = page;
    if (next_free_ < page_in_.size()) {
      frame = FrameId{next_free_++};
    } else {
      frame = lru_->Victim(PageId{page}, [](FrameId) { return true; });
      const uint32_t victim = page_in_[Raw(frame)];
      frame_of_[victim] = kNoFrame;
      if (changed_[Raw(frame)]) effect.write = victim;
      changed_[Raw(frame)] = false;
    }
    page_in_[Raw(frame)] = page;
    lru_->OnLoad(frame, PageId{page}, LoadKind::kDemand);
  }
  if (changes) changed_[Raw(frame)] = true;
  return effect;
}

}  // namespace latchkey
