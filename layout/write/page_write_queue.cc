#include "layout/write/page_write_queue.h"

#include <algorithm>
#include <utility>

#include "layout/map/write_again.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<std::unique_ptr<PageWriteQueue>> PageWriteQueue::Create(
    PageDirectory& directory, uint32_t depth, const PageCodecChoice& codec) {
  LATCHKEY_ASSIGN_OR_RETURN(auto queue, directory.core().device.NewQueue(depth));
  FrameGroup* group = directory.frames().NewGroup(depth);
  if (group == nullptr) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "more than {} page writers and segment buffers", FrameTable::kMaxGroups);
  }
  return std::unique_ptr<PageWriteQueue>(
      new PageWriteQueue(directory, group, std::move(queue), codec));
}

PageWriteQueue::PageWriteQueue(PageDirectory& directory, FrameGroup* group,
                               std::unique_ptr<IoQueue> queue, const PageCodecChoice& codec)
    : directory_(directory),
      core_(directory.core()),
      group_(group),
      depth_(static_cast<uint32_t>(group->frames.size())),
      packer_(directory.core().geometry, codec),
      mutex_(directory.core().runtime),
      queue_(std::move(queue)),
      requests_(depth_) {
  // All memory is taken here, so that an accepted write never waits for memory.
  free_frames_.reserve(depth_);
  queued_.reserve(depth_);
  done_.reserve(depth_);
  for (uint32_t i = depth_; i-- > 0;) free_frames_.push_back(i);
  group_->in_place_helper = this;
}

std::optional<uint32_t> PageWriteQueue::TakeFrame() {
  Backoff backoff(core_.runtime);
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (free_frames_.empty()) {
        StartLocked();
        ReapLocked(1);
      }
      if (!free_frames_.empty()) {
        const uint32_t frame = free_frames_.back();
        free_frames_.pop_back();
        return frame;
      }
    }
    if (core_.poisoned()) return std::nullopt;
    backoff.Pause();
  }
}

bool PageWriteQueue::Write(PageId page, const std::byte* data, SlotId target,
                           std::optional<LocationWord> only_from) {
  const std::optional<uint32_t> free_frame = TakeFrame();
  if (!free_frame) return false;
  const uint32_t index = *free_frame;
  const FrameIndex frame = group_->IndexOf(index);
  group_->frames[index].target = target;
  directory_.TakeTicket(group_->frames[index], &group_->pages.unwritten);
  if (!directory_.Accept(frame, page, data, only_from)) {
    group_->frames[index].EndTicket();
    MutexLock lock(mutex_);
    free_frames_.push_back(index);
    return false;
  }
  TaggedRequest<uint32_t>& request = requests_[index];
  request.op = IoRequest::Op::kWrite;
  request.io_class = IoClass::kPageWrite;
  request.offset = core_.geometry.OffsetOf(target);
  request.length = core_.geometry.page_size;
  request.buffer = directory_.frames().Memory(frame);
  request.tag = index;
  MutexLock lock(mutex_);
  queued_.push_back(&request);
  outstanding_.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

void PageWriteQueue::Start() {
  MutexLock lock(mutex_);
  StartLocked();
  ReapLocked(0);
}

void PageWriteQueue::StartLocked() {
  if (queued_.empty()) return;
  queue_->Submit(queued_);
  queued_.clear();
}

void PageWriteQueue::ReapLocked(size_t minimum) {
  if (queue_->in_flight() == 0) return;
  done_.clear();
  queue_->Wait(std::min(minimum, queue_->in_flight()), done_);
  for (IoRequest* request : done_) Complete(*request);
}

void PageWriteQueue::Complete(IoRequest& request) {
  const uint32_t index = TagOf<uint32_t>(request);
  const FrameIndex frame = group_->IndexOf(index);
  absl::Status status = request.status;
  if (!status.ok()) {
    status = WriteFrameAgain(directory_, frame, std::move(status));
  } else if (!directory_.InstallWritten(frame)) {
    status = OutOfMemory();
  }
  if (status.ok()) {
    directory_.frames().AwaitUnpinned(core_.runtime, frame);
    free_frames_.push_back(index);
  } else if (error_.ok()) {
    // The frame stays in use: its page is served from it until the store is closed.
    error_ = status;
  }
  outstanding_.fetch_sub(1, std::memory_order_acq_rel);
}

void PageWriteQueue::WaitUntil(size_t max_outstanding) {
  MutexLock lock(mutex_);
  StartLocked();
  while (outstanding_.load(std::memory_order_relaxed) > max_outstanding) ReapLocked(1);
  ReapLocked(0);
}

void PageWriteQueue::Help() {
  MutexLock lock(mutex_);
  StartLocked();
  ReapLocked(1);
}

void PageWriteQueue::Poll() {
  if (!mutex_.TryLock()) return;
  ReapLocked(0);
  mutex_.Unlock();
}

absl::Status PageWriteQueue::TakeError() {
  MutexLock lock(mutex_);
  return std::exchange(error_, absl::OkStatus());
}

}  // namespace latchkey
