// AioQueue: an IoQueue over Linux libaio (io_setup, io_submit, io_getevents).
//
// The states of a request; the arrows are the functions below.
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

/// The head of the ring of completions that Linux maps into the process; io_context_t points to it.
/// libaio itself reads it to answer an empty poll without a system call. `nr` events follow the
/// head. The kernel writes the next event at `tail` and then advances `tail`.
struct AioRing {
  static constexpr uint32_t kMagic = 0xa10a10a1;
  uint32_t id, nr, head, tail, magic, compat_features, incompat_features, header_length;
  io_event events[];
};
static_assert(sizeof(AioRing) == 32 && sizeof(io_event) == 32);

/// The calls into the kernel. Tests replace them to simulate a kernel that lacks resources,
/// interrupts, and completes in parts. Results are libaio's: negative numbers are -errno.
class AioKernel {
 public:
  virtual ~AioKernel() = default;
  virtual int Setup(int depth, io_context_t* context) = 0;
  /// `depth` is that of its Setup.
  virtual void Destroy(io_context_t context, int depth) = 0;
  virtual int Submit(io_context_t context, long count, iocb** controls) = 0;
  virtual int GetEvents(io_context_t context, long min, long max, io_event* events,
                        timespec* timeout) = 0;
  /// The ring of completions, or nullptr if it cannot be read.
  virtual const AioRing* Ring(io_context_t context) = 0;
};

/// Linux, through AioContexts: destroyed contexts are kept for later queues (aio_contexts.h).
AioKernel& LinuxAio();

/// The file of a queue. Outlives the queue.
struct AioFile {
  int fd = -1;
  const std::string& path;
  bool writable = false;
  uint32_t logical_block = 512;
  const std::atomic<uint64_t>& size_bytes;  ///< requests end at or before it
  Runtime& runtime;
  IoAccounting& accounting;
};

/// Belongs to one actor. Other actors access it only through the accounting, which looks at the ring of
/// completions at every event of the device while requests are in flight. A request is charged until the
/// accounting sees it in the ring, even if its owner collects it later. If the ring cannot be read,
/// the request is charged until its owner collects it.
class AioQueue final : public IoQueue, private CompletionSource {
 public:
  /// ResourceExhausted when the system's limit of asynchronous requests (fs.aio-max-nr) is reached.
  static absl::StatusOr<std::unique_ptr<AioQueue>> Create(const AioFile& file, uint32_t depth,
                                                          AioKernel& kernel = LinuxAio());
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
    // Copies of fields of `request`, which only the owner may access.
    IoClass io_class = IoClass::kPageRead;
    uint32_t length = 0;
  };

  AioQueue(const AioFile& file, uint32_t depth, AioKernel& kernel, io_context_t context);

  void TakeCompleted(IoBatch& completed) override;
  // Whom the accounting asks for completions: nullptr if the ring cannot be read.
  CompletionSource* source() { return ring_ != nullptr ? this : nullptr; }

  absl::Status Check(const IoRequest& request) const;
  void Prepare(Slot& slot);
  void SubmitPending();
  // Takes events from the kernel, at least `min` of them; waits for these.
  void Reap(size_t min);
  // Handles the end of a part of a request: the request is finished, or its rest becomes pending.
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
  // The accounting's latch guards both. The accounting has not yet seen the events from
  // ring_->events[next_event_] on. There are at most `depth` of them, fewer than the ring holds,
  // because the accounting looks whenever Reap collects events.
  const AioRing* const ring_;
  uint32_t next_event_ = 0;
};

}  // namespace latchkey
