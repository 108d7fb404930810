// FirstImages: images of pages before their first change since a checkpoint began. If the store
// writes pages in place without a copy elsewhere, redo restores a torn page from its image.
//
// Invariant: either the log holds an image of each page from before its first change behind a
// checkpoint's redo LSN, or the store has been told not to rely on images. In the instant at which
// a checkpoint begins, images_from_ becomes the log's next LSN. A page with a smaller LSN is then
// due an image: its image and the record of its next change are appended in one instant of the log.
// If the log has no room for the image, the store is told not to rely on images.
//
// Thread-safety: every actor may call every member at once. The log's latch guards the state: it
// changes inside Log::Append and Log::Frozen only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "bufferpool/buffer_pool.h"
#include "engine/log/log_record.h"
#include "storage/base/ids.h"
#include "storage/wal/log.h"

namespace latchkey {

class FirstImages {
 public:
  struct Options {
    uint32_t page_size = 0;
    uint64_t image_space = 0;  ///< log space of the largest image; 0 = no images are logged
    /// PageStore::RelyOnImages of a store that wants images; nullptr = no images are logged.
    std::function<void(bool)> rely_on_images = nullptr;
    bool redo_has_images = true;  ///< as EngineLogOptions
  };

  FirstImages(Log& log, Options options);

  bool are_logged() const { return options_.image_space != 0; }
  /// Space for an image of `page` if one is due and there is room for it and for `others` bytes;
  /// else 0. The caller reserves nothing more for it, and releases what Append leaves.
  uint64_t TakeSpace(const std::byte* page, uint64_t others);
  /// Appends `record`, of a change of `page`, behind the page's image if one is due. *space: bytes
  /// set aside for the image, those of the largest or 0; on return the rest of them.
  Lsn AppendBehind(PageId id, std::byte* page, const Log::NewRecord& record, uint64_t* space);
  /// As EngineLog::LogMark.
  void LogMark(ExclusiveGuard& page);

  /// A checkpoint begins at `next`. REQUIRES: inside Log::Frozen.
  void BeginCheckpoint(Lsn next);
  /// The checkpoint that began at `as_of` is durable: the store may rely on images again.
  void EndCheckpoint(Lsn as_of);

 private:
  bool IsDue(const std::byte* page) const;
  void Encode(const PageImage& image, std::byte* page, Lsn lsn, std::byte* to);
  void AppendAlone(PageId id, std::byte* page, uint64_t space);
  void GoOnWithout();

  Log& log_;
  const Options options_;
  // Pages with a smaller LSN are due an image; 0 = none are.
  std::atomic<uint64_t> images_from_{0};
  // Value of images_from_ at the newest page change that lacked the image due.
  uint64_t went_without_ = 0;
};

}  // namespace latchkey
