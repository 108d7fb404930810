#include "engine/log/first_images.h"

#include <utility>

#include "engine/log/page_lsn.h"
#include "storage/base/canary.h"

namespace latchkey {

FirstImages::FirstImages(Log& log, Options options) : log_(log), options_(std::move(options)) {
  if (!are_logged()) return;
  images_from_.store(Raw(log.next()), std::memory_order_relaxed);  // all that is on the device
  if (!options_.redo_has_images) went_without_ = Raw(log.next());
  options_.rely_on_images(options_.redo_has_images);
}

// Final only under the log's latch.
bool FirstImages::IsDue(const std::byte* page) const {
  if (LATCHKEY_CANARY("no-image-at-first-change")) return false;
  return PageLsn(page) < images_from_.load(std::memory_order_relaxed);
}

uint64_t FirstImages::TakeSpace(const std::byte* page, uint64_t others) {
  const uint64_t space = options_.image_space;
  if (!are_logged() || !IsDue(page) || !log_.TryReserve(space + others)) return 0;
  if (others != 0) log_.Release(others);
  return space;
}

void FirstImages::Encode(const PageImage& image, std::byte* page, Lsn lsn, std::byte* to) {
  EncodeImages({.type = LogRecordType::kImages}, {&image, 1}, {}, to);
  SetPageLsn(page, lsn);
}

// A checkpoint may begin at any moment before the latch is taken. The image is then due after all.
Lsn FirstImages::AppendBehind(PageId id, std::byte* page, const Log::NewRecord& record,
                              uint64_t* space) {
  const PageImage image = ImageOf(id, {page, options_.page_size});
  const size_t size = ImagesRecordSize({&image, 1}, 0);
  const uint64_t takes = log_.RecordSpace(size);
  const bool has_space = *space != 0;
  bool due = false;
  const auto fill_image = [&](Lsn lsn, std::byte* to) {
    Encode(image, page, lsn, to);
    *space -= takes;
  };
  const auto fill = [&](Lsn lsn, std::byte* to) {
    if (due && !has_space) GoOnWithout();
    record.fill(lsn, to);
  };
  return log_.AppendBehind(
      [&] {
        due = IsDue(page);
        return due && has_space;
      },
      {size, fill_image}, {record.size, fill});
}

void FirstImages::AppendAlone(PageId id, std::byte* page, uint64_t space) {
  const PageImage image = ImageOf(id, {page, options_.page_size});
  const size_t size = ImagesRecordSize({&image, 1}, 0);
  log_.Append(size, [&](Lsn lsn, std::byte* to) { Encode(image, page, lsn, to); });
  if (const uint64_t left = space - log_.RecordSpace(size); left != 0) log_.Release(left);
}

// Asked under the log's latch. If a checkpoint begins before the mark is changed, it finds the page
// latched, waits for it and writes it (BufferPool::WriteDirtyBefore). So no later write of the page
// relies on an image that it does not have.
void FirstImages::LogMark(ExclusiveGuard& page) {
  if (!are_logged()) return;
  bool due = false;
  log_.Frozen([&](Lsn) { due = IsDue(page.data()); });
  if (!due) return;
  std::byte* bytes = page.Mutable();
  const uint64_t space = TakeSpace(bytes, /*others=*/0);
  if (space == 0) {
    log_.Frozen([&](Lsn) { GoOnWithout(); });
    return;
  }
  AppendAlone(page.page(), bytes, space);
}

// Notes a page change for which the log had no room for the image due. The page cannot be written
// before its latch is released, so the store protects it in time. REQUIRES: the log's latch.
void FirstImages::GoOnWithout() {
  went_without_ = images_from_.load(std::memory_order_relaxed);
  options_.rely_on_images(false);
}

void FirstImages::BeginCheckpoint(Lsn next) {
  if (are_logged()) images_from_.store(Raw(next), std::memory_order_relaxed);
}

// The checkpoint has written the pages that lacked an image before it began. They are due one
// again.
void FirstImages::EndCheckpoint(Lsn as_of) {
  if (!are_logged()) return;
  log_.Frozen([&](Lsn) {
    if (went_without_ < Raw(as_of)) options_.rely_on_images(true);
  });
}

}  // namespace latchkey
