#include "storage/device/aio_queue.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/aio_contexts.h"
#include "storage/device/file_errors.h"
#include "storage/device/request_check.h"

namespace latchkey {
namespace {

// A request that the kernel interrupts more often, or a submission that it refuses more often while
// nothing else is in flight (about two seconds), is an error.
constexpr uint32_t kMaxInterruptions = 16;
constexpr uint32_t kMaxSubmitAttempts = 10'000;

class LinuxAioKernel final : public AioKernel {
 public:
  int Setup(int depth, io_context_t* context) override { return io_setup(depth, context); }
  void Destroy(io_context_t context, int) override { io_destroy(context); }
  int Submit(io_context_t context, long count, iocb** controls) override {
    return io_submit(context, count, controls);
  }
  int GetEvents(io_context_t context, long min, long max, io_event* events,
                timespec* timeout) override {
    return io_getevents(context, min, max, events, timeout);
  }
  const AioRing* Ring(io_context_t context) override {
    const auto* ring = reinterpret_cast<const AioRing*>(context);
    return ring->magic == AioRing::kMagic && ring->header_length == sizeof(AioRing) ? ring
                                                                                    : nullptr;
  }
};

const char* Verb(IoRequest::Op op) { return op == IoRequest::Op::kRead ? "read" : "write"; }

}  // namespace

AioKernel& LinuxAio() {
  static LinuxAioKernel kernel;
  static AioContexts* contexts = new AioContexts(kernel);  // never destroyed: queues may outlive it
  return *contexts;
}

absl::StatusOr<std::unique_ptr<AioQueue>> AioQueue::Create(const AioFile& file, uint32_t depth,
                                                           AioKernel& kernel) {
  LATCHKEY_RETURN_IF_ERROR(CheckQueueDepth(depth));
  io_context_t context = nullptr;
  const int rc = kernel.Setup(static_cast<int>(depth), &context);
  if (rc == -EAGAIN) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "\"{}\": no asynchronous I/O queue of depth {} is left in the system; raise "
                      "the sysctl fs.aio-max-nr",
                      file.path, depth);
  }
  if (rc < 0) return FileError("set up asynchronous I/O for", file.path, -rc);
  const OnException give_back([&] { kernel.Destroy(context, static_cast<int>(depth)); });
  return std::unique_ptr<AioQueue>(new AioQueue(file, depth, kernel, context));
}

AioQueue::AioQueue(const AioFile& file, uint32_t depth, AioKernel& kernel, io_context_t context)
    : file_(file),
      kernel_(kernel),
      context_(context),
      slots_(depth),
      events_(depth),
      ring_(kernel.Ring(context)) {
  free_.reserve(depth);
  pending_.reserve(depth);
  finished_.reserve(depth);
  for (Slot& slot : slots_) free_.push_back(&slot);
  if (ring_ != nullptr) next_event_ = ring_->tail;
}

AioQueue::~AioQueue() {
  LATCHKEY_CHECK(in_flight() == 0);
  kernel_.Destroy(context_, static_cast<int>(slots_.size()));
}

void AioQueue::TakeCompleted(IoBatch& completed) {
  const uint32_t tail = __atomic_load_n(&ring_->tail, __ATOMIC_ACQUIRE);
  while (next_event_ != tail) {
    const auto* slot = static_cast<const Slot*>(ring_->events[next_event_].data);
    completed.Add(slot->io_class, slot->length);
    next_event_ = next_event_ + 1 == ring_->nr ? 0 : next_event_ + 1;
  }
}

absl::Status AioQueue::Check(const IoRequest& request) const {
  if (request.op == IoRequest::Op::kWrite && !file_.writable) return ReadOnlyFile(file_.path);
  const DeviceGeometry geometry{
      .size_bytes = file_.size_bytes.load(std::memory_order_acquire),
      .logical_block = file_.logical_block,
  };
  return CheckRequest(geometry, file_.path, request.offset, request.length, request.buffer);
}

void AioQueue::Prepare(Slot& slot) {
  const IoRequest& r = *slot.request;
  std::byte* rest = r.buffer + slot.done_bytes;
  const size_t length = r.length - slot.done_bytes;
  const auto offset = static_cast<long long>(r.offset + slot.done_bytes);
  if (r.op == IoRequest::Op::kRead) {
    io_prep_pread(&slot.control, file_.fd, rest, length, offset);
  } else {
    io_prep_pwrite(&slot.control, file_.fd, rest, length, offset);
  }
  slot.control.data = &slot;
  pending_.push_back(&slot.control);
}

void AioQueue::Submit(std::span<IoRequest* const> requests) {
  LATCHKEY_CHECK(in_flight() + requests.size() <= slots_.size());
  IoBatch started;
  for (IoRequest* request : requests) {
    request->status = CatchOutOfMemory([&] { return Check(*request); });
    if (!request->status.ok()) {
      file_.accounting.CountRefused();
      finished_.push_back(request);
      continue;
    }
    Slot& slot = *free_.back();
    free_.pop_back();
    slot.request = request;
    slot.done_bytes = 0;
    slot.interruptions = 0;
    slot.io_class = request->io_class;
    slot.length = request->length;
    Prepare(slot);
    started.Add(request->io_class, request->length);
  }
  if (pending_.empty()) return;
  file_.accounting.Start(started, source());
  SubmitPending();
}

void AioQueue::SubmitPending() {
  Backoff backoff(file_.runtime);
  // An index, because Reap may add the rest of a short transfer to pending_ meanwhile. There is room
  // for it once those are gone that the kernel has.
  for (size_t next = 0; next < pending_.size();) {
    const auto left = static_cast<long>(pending_.size() - next);
    const int rc = kernel_.Submit(context_, left, pending_.data() + next);
    if (rc > 0) {
      next += static_cast<size_t>(rc);
      in_kernel_ += static_cast<size_t>(rc);
    } else if (rc == -EINTR) {
      continue;
    } else if ((rc == 0 || rc == -EAGAIN) && in_kernel_ > 0) {
      pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(next));
      next = 0;
      Reap(1);  // a completion frees resources of the kernel
    } else if ((rc == 0 || rc == -EAGAIN) && backoff.attempts() < kMaxSubmitAttempts) {
      backoff.Pause();
    } else {
      // The kernel takes requests in order, so the error concerns the first one. The others may
      // still succeed.
      Slot& slot = *static_cast<Slot*>(pending_[next++]->data);
      IoBatch finished;
      Finish(slot, TransferError(slot, rc == 0 ? EAGAIN : -rc), finished);
      file_.accounting.Finish(finished, source());
    }
  }
  pending_.clear();
}

void AioQueue::Reap(size_t min) {
  if (in_kernel_ == 0) return;
  timespec poll{};
  const auto at_least = static_cast<long>(std::min(min, in_kernel_));
  const int rc = kernel_.GetEvents(context_, at_least, static_cast<long>(in_kernel_),
                                   events_.data(), at_least == 0 ? &poll : nullptr);
  if (rc == -EINTR || rc == 0) return;  // the caller asks again if it needs more
  LATCHKEY_CHECK(rc > 0 && static_cast<size_t>(rc) <= in_kernel_);
  in_kernel_ -= static_cast<size_t>(rc);
  IoBatch finished, resumed;
  for (const io_event& event : std::span(events_).first(static_cast<size_t>(rc))) {
    Complete(*static_cast<Slot*>(event.data), static_cast<int64_t>(event.res), finished, resumed);
  }
  if (ring_ == nullptr) return file_.accounting.Finish(finished);
  file_.accounting.FinishTaken(finished);
  // For the accounting they ended with the part seen in the ring: start their rest.
  if (!resumed.IsEmpty()) file_.accounting.Start(resumed, source());
}

absl::Status AioQueue::TransferError(const Slot& slot, int errnum) const {
  const IoRequest& r = *slot.request;
  // The request finishes even if there is no memory for the message.
  return CatchOutOfMemory([&] {
    return FileError(Verb(r.op), file_.path, r.offset + slot.done_bytes, r.length - slot.done_bytes,
                     errnum);
  });
}

void AioQueue::Complete(Slot& slot, int64_t result, IoBatch& finished, IoBatch& resumed) {
  const IoRequest& r = *slot.request;
  if ((result == -EINTR || result == -EAGAIN) && slot.interruptions++ < kMaxInterruptions) {
    resumed.Add(slot.io_class, slot.length);
    return Prepare(slot);
  }
  if (result < 0) {
    return Finish(slot, TransferError(slot, static_cast<int>(-result)), finished);
  }
  // The rest must start on a block boundary.
  const uint64_t progress = static_cast<uint64_t>(result) & ~uint64_t{file_.logical_block - 1};
  if (progress == 0) {
    return Finish(
        slot,
        NoProgress(Verb(r.op), file_.path, r.offset + slot.done_bytes, r.length - slot.done_bytes),
        finished);
  }
  slot.done_bytes += static_cast<uint32_t>(progress);
  if (slot.done_bytes == r.length) return Finish(slot, absl::OkStatus(), finished);
  resumed.Add(slot.io_class, slot.length);
  Prepare(slot);
}

void AioQueue::Finish(Slot& slot, absl::Status status, IoBatch& finished) {
  finished.Add(slot.io_class, slot.length, slot.done_bytes);
  if (!status.ok()) ++finished.errors;
  slot.request->status = std::move(status);
  finished_.push_back(slot.request);
  free_.push_back(&slot);
}

void AioQueue::Wait(size_t min_completions, std::vector<IoRequest*>& completed) {
  const size_t wanted = std::min(min_completions, in_flight());
  do {
    Reap(wanted > finished_.size() ? wanted - finished_.size() : 0);
    SubmitPending();
  } while (finished_.size() < wanted);
  completed.insert(completed.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

}  // namespace latchkey
