// AioQueue: an IoQueue over Linux libaio (io_setup, io_submit, io_getevents).
//
// Each request walks through these states; the arrows are the functions below.
//
//             Submit              SubmitPending                 Reap
//   (caller) --------> pending --------------> in the kernel --------> finished --Wait--> (caller)
//        \                ^                          |                    ^
//         \               +--- Complete: short, or interrupted            |
//          +---------- Submit: refused; SubmitPending: cannot start ------+
//
// Invariant: pending is empty between calls, so in_flight() = in the kernel + finished.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <libaio.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/device/block_device.h"
#include "storage/device/io_accounting.h"

namespace latchkey {

/// The head of the ring of completions that Linux maps into the process: what io_context_t points
/// to. libaio itself reads it to answer an empty poll without a system call. `tail` is where the
/// kernel puts the next of `nr` events, which follow the head; it moves after the event is written.
struct AioRing {
  static constexpr uint32_t kMagic = 0xa10a10a1;
  uint32_t id, nr, head, tail, magic, compat_features, incompat_features, header_length;
  io_event events[];
};
static_assert(sizeof(AioRing) == 32 && sizeof(io_event) == 32);

/// The calls into the kernel, so that tests can play a kernel that is short of resources,
/// interrupts, and completes in parts. Results are libaio's: negative numbers are -errno.
class AioKernel {
 public:
  virtual ~AioKernel() = default;
  virtual int Setup(int depth, io_context_t* context) = 0;
  virtual void Destroy(io_context_t context) = 0;
  virtual int Submit(io_context_t context, long count, iocb** controls) = 0;
  virtual int GetEvents(io_context_t context, long min, long max, io_event* events,
                        timespec* timeout) = 0;
  /// The ring of completions, or nullptr where the system does not show it.
  virtual const AioRing* Ring(io_context_t context) = 0;
};

/// The real one.
AioKernel& LinuxAio();

/// What a queue needs to know of its file. Outlives the queue.
struct AioFile {
  int fd = -1;
  const std::string& path;
  bool writable = false;
  uint32_t logical_block = 512;
  const std::atomic<uint64_t>& size_bytes;  ///< requests end at or before it
  Runtime& runtime;
  IoAccounting& accounting;
};

/// Belongs to one actor, but for the accounting, which looks at the ring of completions at every
/// event of the device: a request is charged device time until it is seen there, however late its
/// owner collects it. (Where the ring is not to be seen: until it is collected.)
class AioQueue final : public IoQueue, private CompletionSource {
 public:
  /// ResourceExhausted when the system's limit of asynchronous requests (fs.aio-max-nr) is reached.
  static absl::StatusOr<std::unique_ptr<AioQueue>> Create(const AioFile& file, uint32_t depth,
                                                          AioKernel& kernel = LinuxAio());
  /// Slow (milliseconds: the kernel waits for its readers), so keep queues.
  ~AioQueue() override;

  void Submit(std::span<IoRequest* const> requests) override;
  void Wait(size_t min_completions, std::vector<IoRequest*>& completed) override;
  size_t in_flight() const override { return in_kernel_ + finished_.size(); }

 private:
  struct Slot {
    iocb control;
    IoRequest* request = nullptr;
    uint32_t done_bytes = 0;
    uint32_t interruptions = 0;
    // Of request, which others than the owner may not touch.
    IoClass io_class = IoClass::kPageRead;
    uint32_t length = 0;
  };

  AioQueue(const AioFile& file, uint32_t depth, AioKernel& kernel, io_context_t context);

  void TakeCompleted(IoBatch& completed) override;

  absl::Status Check(const IoRequest& request) const;
  void Prepare(Slot& slot);
  void SubmitPending();
  // Takes at least `min` (at most what is there) events from the kernel.
  void Reap(size_t min);
  // Acts on the end of a part of a request: the request is over, or its rest becomes pending.
  void Complete(Slot& slot, int64_t result, IoBatch& finished, IoBatch& resumed);
  absl::Status TransferError(const Slot& slot, int errnum) const;
  void Finish(Slot& slot, absl::Status status, IoBatch& finished);

  const AioFile file_;
  AioKernel& kernel_;
  const io_context_t context_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::vector<iocb*> pending_;
  std::vector<io_event> events_;
  std::vector<IoRequest*> finished_;  // not yet handed to the owner
  size_t in_kernel_ = 0;
  // Both belong to the accounting's latch. Events from ring_->events[next_event_] on are new to it;
  // they are at most `depth`, fewer than the ring holds, because Reap brings it up to date.
  const AioRing* const ring_;
  uint32_t next_event_ = 0;
};

}  // namespace latchkey
