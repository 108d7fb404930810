// AioContexts: keeps unused contexts of asynchronous I/O for later queues of the same depth.
//
// The kernel takes some 30 ms to destroy a context, because it waits until none of its own readers
// (RCU) can see the context any more. A database has about ten contexts. If they are kept, closing
// a database does not wait for the kernel, and opening the next one takes them over.
#pragma once

#include <atomic>
#include <vector>

#include "storage/device/aio_queue.h"

namespace latchkey {

/// Forwards the calls to another AioKernel, except Destroy and Setup: Destroy keeps up to kMostKept
/// contexts, and Setup takes a kept one of the wanted depth if there is one. After fork() the child
/// uses none of the contexts that its parent kept. Thread-safe.
class AioContexts final : public AioKernel {
 public:
  static constexpr size_t kMostKept = 32;

  /// REQUIRES: `kernel` outlives it.
  explicit AioContexts(AioKernel& kernel) : kernel_(kernel) { kept_.reserve(kMostKept); }
  /// Destroys the kept contexts.
  ~AioContexts() override;

  /// If the system's limit of requests is reached (EAGAIN), destroys the kept contexts and tries
  /// again.
  int Setup(int depth, io_context_t* context) override;
  /// REQUIRES: nothing is in flight, and all events have been collected.
  void Destroy(io_context_t context, int depth) override;
  int Submit(io_context_t context, long count, iocb** controls) override {
    return kernel_.Submit(context, count, controls);
  }
  int GetEvents(io_context_t context, long min, long max, io_event* events,
                timespec* timeout) override {
    return kernel_.GetEvents(context, min, max, events, timeout);
  }
  const AioRing* Ring(io_context_t context) override { return kernel_.Ring(context); }

 private:
  struct Kept {
    io_context_t context;
    int depth;
  };

  // A lock on kept_ for a scope; it only tries. It never waits for another holder: in the child of
  // a fork the holder may be a thread that does not exist there.
  class Hold;
  bool TakeKept(int depth, io_context_t* context);
  bool Keep(io_context_t context, int depth);
  std::vector<Kept> GiveUpKept();

  AioKernel& kernel_;
  std::atomic<bool> held_{false};
  std::vector<Kept> kept_;
  int owner_ = 0;  // the process that the kept contexts belong to
};

}  // namespace latchkey
