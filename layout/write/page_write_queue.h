// PageWriteQueue: writes of single pages, in place or into holes, in flight on one I/O queue. It is
// the asynchronous half of a PageWriter, and belongs to one writer. Other threads may complete its
// writes: a Flush, or a writer that must wait for a page in flight here. So a mutex guards it.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layout/image/page_image.h"
#include "layout/map/page_directory.h"
#include "layout/write/doublewriter.h"
#include "storage/device/io_window.h"

namespace latchkey {

/// Thread-safe. Lives as long as its store, because a thread with a stale page word may access its
/// frames at any time.
class PageWriteQueue final : public WriteHelper {
 public:
  static absl::StatusOr<std::unique_ptr<PageWriteQueue>> Create(PageDirectory& directory,
                                                                uint32_t depth,
                                                                const PageCodecChoice& codec);

  /// Accepts `page` and queues its write to `target`. Waits for a frame when all are in use. False,
  /// with nothing done, when the page's word is not `only_from` any more (if given) or the store is
  /// poisoned. REQUIRES: `page` owns `target`.
  bool Write(PageId page, const std::byte* data, SlotId target,
             std::optional<LocationWord> only_from = std::nullopt);
  /// Starts the writes that Write has queued.
  void Start();
  /// Starts all queued writes and waits until at most `max_outstanding` are outstanding.
  void WaitUntil(size_t max_outstanding);
  void Help() override;
  /// Completes the writes that the device has finished. Waits neither for the device nor for the
  /// mutex, except to write a page again whose write failed.
  void Poll();

  size_t outstanding() const { return outstanding_.load(std::memory_order_acquire); }
  /// Pages that the writer accepted, here or elsewhere in the store, and that are not yet written.
  size_t unwritten() const { return group_->pages.unwritten.load(std::memory_order_acquire); }
  /// Those of them that wait for further pages in their part of a segment.
  size_t gathering() const {
    return std::min(unwritten(), group_->pages.gathering.load(std::memory_order_acquire));
  }
  /// The unwritten pages that do not gather.
  size_t waiting() const {
    const size_t gathering = this->gathering();
    return std::max(unwritten(), gathering) - gathering;
  }
  /// Counts of the writer's pages, for those that the store writes elsewhere.
  PagesOfWriter& pages() { return group_->pages; }
  /// The writer's turn in the doublewriter. Used by the writer's thread alone.
  DoublewriteTurn& turn() { return turn_; }
  /// Packs the writer's pages that are appended. Used by the writer's thread alone.
  PagePacker& packer() { return packer_; }
  uint32_t depth() const { return depth_; }
  /// Returns the first error of a write since the last call, and forgets it.
  absl::Status TakeError();

 private:
  PageWriteQueue(PageDirectory& directory, FrameGroup* group, std::unique_ptr<IoQueue> queue,
                 const PageCodecChoice& codec);

  std::optional<uint32_t> TakeFrame();
  void StartLocked() LATCHKEY_REQUIRES(mutex_);
  void ReapLocked(size_t minimum) LATCHKEY_REQUIRES(mutex_);
  void Complete(IoRequest& request) LATCHKEY_REQUIRES(mutex_);

  PageDirectory& directory_;
  StoreCore& core_;
  FrameGroup* const group_;
  const uint32_t depth_;
  DoublewriteTurn turn_;
  PagePacker packer_;
  Mutex mutex_;
  std::unique_ptr<IoQueue> queue_ LATCHKEY_GUARDED_BY(mutex_);
  std::vector<TaggedRequest<uint32_t>>
      requests_;  // one a frame, whose index is the tag; used by the thread that owns the frame
  std::vector<uint32_t> free_frames_ LATCHKEY_GUARDED_BY(mutex_);
  std::vector<IoRequest*> queued_ LATCHKEY_GUARDED_BY(mutex_);
  std::vector<IoRequest*> done_ LATCHKEY_GUARDED_BY(mutex_);
  absl::Status error_ LATCHKEY_GUARDED_BY(mutex_);
  std::atomic<size_t> outstanding_{0};
};

}  // namespace latchkey
