#include "layout/map/copy_frames.h"

#include <algorithm>

#include "layout/image/page_image.h"
#include "layout/map/page_map.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/racy_memory.h"

namespace latchkey {

FrameTable::~FrameTable() {
  for (uint32_t g = 0; g < used_groups_; ++g) delete groups_[g].load();
}

FrameGroup* FrameTable::NewGroup(uint32_t count, uint32_t frame_size) {
  MutexLock lock(mutex_);
  const uint32_t index = used_groups_.load(std::memory_order_relaxed);
  if (index == kMaxGroups) return nullptr;
  auto group = std::make_unique<FrameGroup>(index, count, frame_size);
  memory_bytes_.fetch_add(group->memory.size() + count * sizeof(CopyFrame),
                          std::memory_order_relaxed);
  groups_[index].store(group.get(), std::memory_order_release);
  used_groups_.store(index + 1, std::memory_order_release);
  return group.release();
}

bool FrameTable::CopyOut(const PageMap& map, PageId id, LocationWord word, std::byte* out) const {
  CopyFrame& frame = Frame(word.frame());
  frame.pins.fetch_add(1, std::memory_order_seq_cst);
  const OnException unpin([&] { frame.pins.fetch_sub(1, std::memory_order_release); });
  const bool current = map.Load(id) == word;
  if (current && frame.slots < geometry_.slots_per_page) {
    UnpackPage({Memory(word.frame()), frame.slots * geometry_.slot_size()}, id,
               {out, geometry_.page_size})
        .IgnoreError();  // it was packed in memory
  } else if (current) {
    // `out` is a frame of the pool above; optimistic readers with a stale version may still read
    // it.
    RacyCopyIn(out, Memory(word.frame()), geometry_.page_size);
  }
  frame.pins.fetch_sub(1, std::memory_order_release);
  return current;
}

uint64_t FrameTable::OldestTicket() const {
  uint64_t oldest = UINT64_MAX;
  const uint32_t groups = used_groups_.load(std::memory_order_acquire);
  for (uint32_t g = 0; g < groups; ++g) {
    for (const CopyFrame& frame : groups_[g].load(std::memory_order_acquire)->frames) {
      const uint64_t ticket = frame.ticket.load(std::memory_order_seq_cst);
      if (ticket != 0) oldest = std::min(oldest, ticket);
    }
  }
  return oldest;
}

void FrameTable::AwaitUnpinned(Runtime& runtime, FrameIndex frame) const {
  CopyFrame& f = Frame(frame);
  Backoff backoff(runtime);
  while (f.pins.load(std::memory_order_seq_cst) != 0) backoff.Pause();
}

}  // namespace latchkey
