// The miss gate: keeps a resize out while a miss moves a frame between free frames, policy and page
// table. Misses are inside the gate together, and write no word that others write; a resize closes it
// and waits until all have left.
//
// Thread-safety: all actors may pass at once; one actor at a time closes the gate.
#pragma once

#include <cstdint>

#include "bufferpool/actor_scopes.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class MissGate {
 public:
  explicit MissGate(Runtime& runtime) : runtime_(runtime) {}
  MissGate(const MissGate&) = delete;
  MissGate& operator=(const MissGate&) = delete;

  /// `actor`, the caller, is inside the gate for a scope. Waits while the gate is closed. Not recursive: a second Pass
  /// of one actor would wait for a closer that waits for the first.
  class [[nodiscard]] Pass {
   public:
    Pass(MissGate& gate, uint32_t actor) : misses_(gate.misses_), actor_(actor) {
      if (!misses_.TryEnter(actor)) gate.EnterOnceOpen(actor);
    }
    ~Pass() { misses_.Leave(actor_); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    ActorScopes& misses_;
    const uint32_t actor_;
  };

  /// Closes the gate for a scope. An actor inside the gate may wait for a page latch. The holder of
  /// that latch may wait until the gate opens. So the closer stops waiting after a bounded time.
  class [[nodiscard]] Closure {
   public:
    explicit Closure(MissGate& gate);
    ~Closure() { misses_.Open(); }
    Closure(const Closure&) = delete;
    Closure& operator=(const Closure&) = delete;

    /// False: some misses are still inside. The caller then changes nothing and tries again later.
    bool closed() const { return closed_; }

   private:
    ActorScopes& misses_;
    bool closed_ = false;
  };

 private:
  void EnterOnceOpen(uint32_t actor);

  Runtime& runtime_;
  ActorScopes misses_;
};

}  // namespace latchkey
