// Keeps contexts of asynchronous I/O for the next queue that wants one. To destroy a context takes
// the kernel some 30 ms, because it waits for its own readers, and a database has about ten. So a
// database that is closed and opened again, or one closed while another is opened, does not wait.
#pragma once

#include <atomic>
#include <vector>

#include "storage/device/aio_queue.h"

namespace latchkey {

/// The calls of another kernel, but for contexts that are not used any more: it keeps some of them.
/// After fork() the child does not use the parent's. Thread-safe.
class AioContexts final : public AioKernel {
 public:
  static constexpr size_t kMostKept = 32;

  /// REQUIRES: `kernel` outlives it.
  explicit AioContexts(AioKernel& kernel) : kernel_(kernel) { kept_.reserve(kMostKept); }
  /// Destroys the kept ones.
  ~AioContexts() override;

  /// If the system has none left, gives back the kept ones and tries again.
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

  // Holds kept_ while it lives, if no other thread does. It never waits: in the child of a fork the
  // holder may be a thread that the child does not have.
  class Hold;
  bool TakeKept(int depth, io_context_t* context);
  bool Keep(io_context_t context, int depth);
  std::vector<Kept> GiveUpKept();

  AioKernel& kernel_;
  std::atomic<bool> held_{false};
  std::vector<Kept> kept_;
  int owner_ = 0;  // the process whose contexts they are
};

}  // namespace latchkey
