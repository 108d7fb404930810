// Writes of single pages, in place or into holes, in flight on one I/O queue: the asynchronous half
// of a PageWriter. It belongs to one writer, but others may push it on (Flush, and whoever must
// accept a page that is in flight here), so a mutex guards it.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layout/store_core.h"

namespace latchkey {

/// Thread-safe. Lives as long as its store: a stale page word may lead here at any time.
class PageWriteQueue final : public WriteHelper {
 public:
  static absl::StatusOr<std::unique_ptr<PageWriteQueue>> Create(StoreCore& core, uint32_t depth);

  /// Accepts `page` and queues its write to `target`, whose owner it is; waits for a frame first
  /// when all are in use. With `only_from` only if the page's word still is that one. False:
  /// nothing was done, because the word changed or the store is poisoned.
  bool Write(PageId page, const std::byte* data, SlotId target,
             std::optional<PageWord> only_from = std::nullopt);
  /// Starts what Write has queued.
  void Start();
  /// Starts what is queued and waits until at most `max_outstanding` are outstanding.
  void WaitUntil(size_t max_outstanding);
  void Help() override;
  /// Completes what the device has finished; never waits, neither for the device nor for the mutex,
  /// but for pages that have to be written again.
  void Poll();

  size_t outstanding() const { return outstanding_.load(std::memory_order_acquire); }
  uint32_t depth() const { return depth_; }
  /// Returns the first error of a write since the last call, and forgets it.
  absl::Status TakeError();

 private:
  PageWriteQueue(StoreCore& core, FrameGroup* group, std::unique_ptr<IoQueue> queue);

  std::optional<uint32_t> TakeFrame();
  void StartLocked();                 // REQUIRES: mutex_
  void ReapLocked(size_t minimum);    // REQUIRES: mutex_
  void Complete(IoRequest& request);  // REQUIRES: mutex_

  StoreCore& core_;
  FrameGroup* const group_;
  const uint32_t depth_;
  Mutex mutex_;  // guards all below
  std::unique_ptr<IoQueue> queue_;
  std::vector<IoRequest> requests_;  // one a frame
  std::vector<uint32_t> free_frames_;
  std::vector<IoRequest*> queued_;
  std::vector<IoRequest*> done_;
  absl::Status error_;
  std::atomic<size_t> outstanding_{0};
};

}  // namespace latchkey
