// The miss gate: keeps a resize out while a miss moves a frame between free frames, policy and page
// table. Misses are inside the gate together; a resize closes it and waits until all have left.
//
// Thread-safety: all actors may pass at once; one actor at a time closes the gate.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/runtime/runtime.h"

namespace latchkey {

class MissGate {
 public:
  explicit MissGate(Runtime& runtime) : runtime_(runtime) {}
  MissGate(const MissGate&) = delete;
  MissGate& operator=(const MissGate&) = delete;

  /// Is inside the gate for a scope. Waits while the gate is closed. Not recursive: a second Pass
  /// of one actor would wait for a closer that waits for the first.
  class [[nodiscard]] Pass {
   public:
    explicit Pass(MissGate& gate) : gate_(gate.gate_) {
      if (gate_.fetch_add(1, std::memory_order_acquire) & kClosed) gate.AwaitOpen();
    }
    ~Pass() { gate_.fetch_sub(1, std::memory_order_release); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    std::atomic<uint32_t>& gate_;
  };

  /// Closes the gate for a scope. An actor inside the gate may wait for a page latch. The holder of
  /// that latch may wait until the gate opens. So the closer stops waiting after a bounded time.
  class [[nodiscard]] Closure {
   public:
    explicit Closure(MissGate& gate);
    ~Closure() { gate_.fetch_and(~kClosed, std::memory_order_release); }
    Closure(const Closure&) = delete;
    Closure& operator=(const Closure&) = delete;

    /// False: some misses are still inside. The caller then changes nothing and tries again later.
    bool closed() const { return closed_; }

   private:
    std::atomic<uint32_t>& gate_;
    bool closed_ = false;
  };

 private:
  static constexpr uint32_t kClosed = 1u << 31;  // bits 0-30: number of misses inside

  /// Leaves the gate, waits until it is open, and is inside again on return.
  void AwaitOpen();

  Runtime& runtime_;
  std::atomic<uint32_t> gate_{0};
};

}  // namespace latchkey
