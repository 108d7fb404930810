#include "layout/clean/plug_writer.h"

#include "layout/map/write_again.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status PlugWriter::Prepare(uint32_t depth) {
  LATCHKEY_ASSIGN_OR_RETURN(queue_, directory_.core().device.NewQueue(depth));
  return absl::OkStatus();
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
            directory_.segments().TakeHole(kind_of(page.page), page.page);
        if (!hole) return false;
        ++next;
        request.tag = victim.FrameOf(page.index);
        CopyFrame& frame = directory_.frames().Frame(request.tag);
        frame.page = page.page;
        frame.sequence = page.word.sequence();
        frame.moved = true;
        frame.target = *hole;
        frame.durable_word.store(page.word.bits(), std::memory_order_relaxed);
        request.op = IoRequest::Op::kWrite;
        request.io_class = IoClass::kPageWrite;
        request.offset = geometry.OffsetOf(*hole);
        request.length = geometry.page_size;
        request.buffer = directory_.frames().Memory(request.tag);
        return true;
      },
      [&](const IoRequest& request, FrameIndex frame) { End(frame, request.status); });
  return next;
}

void PlugWriter::End(FrameIndex frame, const absl::Status& written) {
  if (!written.ok()) {
    WriteFrameAgain(directory_, frame, written).IgnoreError();
  } else if (directory_.InstallWritten(frame)) {
    StoreCounters& counters = directory_.core().counters;
    counters.cleaner_page_writes.fetch_add(1, std::memory_order_relaxed);
    counters.plugged_page_writes.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace latchkey
