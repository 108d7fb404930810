// Images of pages before their first change since a checkpoint began. If the store writes pages in
// place without a copy elsewhere, redo restores a torn page from its image.
#include "engine/log/engine_log.h"
#include "engine/log/page_lsn.h"
#include "storage/base/canary.h"

namespace latchkey {

bool EngineLog::IsImageDue(const std::byte* page) const {
  if (LATCHKEY_CANARY("no-image-at-first-change")) return false;
  return PageLsn(page) < images_from_.load(std::memory_order_relaxed);
}

uint64_t EngineLog::TakeImageSpace(const std::byte* page, uint64_t others) {
  if (!logs_images() || !IsImageDue(page) || !log_.TryReserve(image_space_ + others)) return 0;
  if (others != 0) log_.Release(others);
  return image_space_;
}

void EngineLog::EncodeFirstImage(const PageImage& image, std::byte* page, Lsn lsn, std::byte* to) {
  EncodeImages({.type = LogRecordType::kImages}, {&image, 1}, {}, to);
  SetPageLsn(page, lsn);
}

// A checkpoint may begin at any moment before the latch is taken. The image is then due after all.
Lsn EngineLog::AppendBehindImage(PageId id, std::byte* page, const Log::NewRecord& record,
                                 uint64_t* space) {
  const PageImage image = ImageOf(id, {page, options_.page_size});
  const size_t size = ImagesRecordSize({&image, 1}, 0);
  const uint64_t takes = log_.RecordSpace(size);
  const bool has_space = *space != 0;
  bool due = false;
  const auto fill_image = [&](Lsn lsn, std::byte* to) {
    EncodeFirstImage(image, page, lsn, to);
    *space -= takes;
  };
  const auto fill = [&](Lsn lsn, std::byte* to) {
    if (due && !has_space) GoOnWithoutImage();
    record.fill(lsn, to);
  };
  return log_.AppendBehind(
      [&] {
        due = IsImageDue(page);
        return due && has_space;
      },
      {size, fill_image}, {record.size, fill});
}

// Asked under the log's latch. If a checkpoint begins before the mark is changed, it finds the page
// latched, waits for it and writes it (BufferPool::WriteDirtyBefore). So no later write of the page
// relies on an image that it does not have.
void EngineLog::LogMark(ExclusiveGuard& page) {
  if (!logs_images()) return;
  bool due = false;
  log_.Frozen([&](Lsn) { due = IsImageDue(page.data()); });
  if (!due) return;
  std::byte* bytes = page.Mutable();
  const uint64_t space = TakeImageSpace(bytes, /*others=*/0);
  if (space == 0) {
    log_.Frozen([&](Lsn) { GoOnWithoutImage(); });
    return;
  }
  const PageImage image = ImageOf(page.page(), {bytes, options_.page_size});
  const size_t size = ImagesRecordSize({&image, 1}, 0);
  log_.Append(size, [&](Lsn lsn, std::byte* to) { EncodeFirstImage(image, bytes, lsn, to); });
  if (const uint64_t left = space - log_.RecordSpace(size); left != 0) log_.Release(left);
}

// The page cannot be written before its latch is released, so the store protects it in time.
void EngineLog::GoOnWithoutImage() {
  went_without_image_ = images_from_.load(std::memory_order_relaxed);
  options_.rely_on_images(false);
}

// The checkpoint has written the pages that lacked an image before it began. They are due one
// again.
void EngineLog::EndCheckpoint(Lsn as_of) {
  if (!logs_images()) return;
  log_.Frozen([&](Lsn) {
    if (went_without_image_ < Raw(as_of)) options_.rely_on_images(true);
  });
}

}  // namespace latchkey
