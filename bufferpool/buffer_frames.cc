#include "bufferpool/buffer_frames.h"

#include <new>

#include "storage/base/reserved_memory.h"

namespace latchkey {

BufferFrames::BufferFrames(uint32_t page_size, uint32_t count, uint32_t max_count)
    : page_size_(page_size), max_count_(max_count), count_(count) {
  const bool huge = HugePagesPay(count * size_t{page_size});
  memory_ = static_cast<std::byte*>(ReserveMemory(
      reserved_slots() * page_size, huge ? MemoryAdvice::kHugePages : MemoryAdvice::kNone));
  meta_ = static_cast<FrameMeta*>(
      ReserveMemory(reserved_slots() * sizeof(FrameMeta), MemoryAdvice::kNone));
  if (meta_ == nullptr) return;
  for (uint32_t f = 1; f <= count; ++f) new (&meta_[f]) FrameMeta;
}

BufferFrames::~BufferFrames() {
  ReleaseMemory(memory_, reserved_slots() * page_size_);
  ReleaseMemory(meta_, reserved_slots() * sizeof(FrameMeta));
}

void BufferFrames::SetPage(FrameId frame, PageId page) {
  meta_[Raw(frame)].page.store(Raw(page), std::memory_order_relaxed);
  NoteCleanLsn(frame);
}

void BufferFrames::MarkClean(FrameId frame) {
  std::atomic<bool>& dirty = meta_[Raw(frame)].dirty;
  if (!dirty.load(std::memory_order_relaxed)) return;
  dirty.store(false, std::memory_order_relaxed);
  NoteCleanLsn(frame);
  dirty_count_.fetch_sub(1, std::memory_order_relaxed);
}

bool BufferFrames::HoldsChangeBefore(FrameId frame, Lsn lsn, bool unlogged_too) const {
  if (!IsDirty(frame)) return false;
  const uint64_t rec_lsn = meta_[Raw(frame)].rec_lsn.load(std::memory_order_relaxed);
  return lsn == Lsn{UINT64_MAX} || (unlogged_too ? rec_lsn & ~kNothingLogged : rec_lsn) < Raw(lsn);
}

void BufferFrames::PrepareGrowth(uint32_t count) {
  for (uint32_t f = this->count() + 1; f <= count; ++f) new (&meta_[f]) FrameMeta;
  if (HugePagesPay(count * size_t{page_size_})) {
    AdviseHugePages(memory_, reserved_slots() * page_size_);
  }
}

void BufferFrames::DiscardUpTo(FrameId last) {
  const uint32_t left = count();
  DiscardMemory(DataOf(FrameId{left + 1}), size_t{Raw(last) - left} * page_size_);
}

}  // namespace latchkey
