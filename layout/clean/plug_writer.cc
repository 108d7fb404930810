#include "layout/clean/plug_writer.h"

#include <cstring>

#include "layout/map/write_again.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status PlugWriter::Prepare(uint32_t depth) {
  LATCHKEY_ASSIGN_OR_RETURN(queue_, directory_.core().device.NewQueue(depth));
  if (!directory_.core().geometry.compresses()) return absl::OkStatus();
  blocks_ = directory_.frames().NewGroup(depth);
  if (blocks_ == nullptr) return absl::ResourceExhaustedError("no frames for hole-plugging");
  idle_blocks_.reserve(depth);
  for (uint32_t i = 0; i < depth; ++i) idle_blocks_.push_back(blocks_->IndexOf(i));
  return absl::OkStatus();
}

// A frame with the content of the hole's block. There are as many blocks as requests.
FrameIndex PlugWriter::FrameFor(const VictimReader& victim, const VictimPage& page) {
  const StoreGeometry& geometry = directory_.core().geometry;
  const FrameIndex in_victim = victim.FrameOf(page.index);
  if (geometry.IsBlock(page.word.slot(), page.word.slots())) return in_victim;
  const FrameIndex block = idle_blocks_.back();
  idle_blocks_.pop_back();
  std::byte* memory = directory_.frames().Memory(block);
  std::memcpy(memory, victim.Memory(page.index), victim.BytesOf(page));
  std::memset(memory + victim.BytesOf(page), 0, geometry.page_size - victim.BytesOf(page));
  return block;
}

size_t PlugWriter::Write(const VictimReader& victim, std::span<const VictimPage> pages,
                         absl::FunctionRef<SegmentKind(PageId)> kind_of) {
  const StoreGeometry& geometry = directory_.core().geometry;
  size_t next = 0;
  window_.Run(
      *queue_,
      [&](TaggedRequest<FrameIndex>& request) {
        while (next < pages.size() && !pages[next].loaded) ++next;
        if (next == pages.size()) return false;
        const VictimPage& page = pages[next];
        const std::optional<SlotId> hole =
            directory_.segments().TakeHole(kind_of(page.page), page.page, page.word.slots());
        if (!hole) return false;
        ++next;
        request.tag = FrameFor(victim, page);
        CopyFrame& frame = directory_.frames().Frame(request.tag);
        frame.page = page.page;
        frame.sequence = page.word.sequence();
        frame.moved = true;
        frame.slots = page.word.slots();
        frame.target = *hole;
        frame.durable_word.store(page.word.bits(), std::memory_order_relaxed);
        request.op = IoRequest::Op::kWrite;
        request.io_class = IoClass::kPlugWrite;
        request.offset = geometry.OffsetOf(*hole);
        request.length = geometry.page_size;
        request.buffer = directory_.frames().Memory(request.tag);
        return true;
      },
      [&](const IoRequest& request, FrameIndex frame) { End(frame, request.status); });
  return next;
}

void PlugWriter::End(FrameIndex frame, const absl::Status& written) {
  const bool is_block = blocks_ != nullptr && &directory_.frames().GroupOf(frame) == blocks_;
  if (is_block) idle_blocks_.push_back(frame);
  if (!written.ok()) {
    WriteFrameAgain(directory_, frame, written).IgnoreError();
  } else if (directory_.InstallWritten(frame)) {
    StoreCounters& counters = directory_.core().counters;
    counters.cleaner_page_writes.fetch_add(1, std::memory_order_relaxed);
    counters.plugged_page_writes.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace latchkey
