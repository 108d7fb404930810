// The actor that lets versions settle and spills them, so that committers need not
// (version_reclaimer.h). It sleeps until a committer asks for a round.
//
// Before a round the actor becomes idle, so a request that comes meanwhile leads to another round.
// A request may be lost in the moment in which a round begins: committers ask
// again as long as there is work.
//
// Thread-safety: every actor may call is_running and Ask at once; one at a time calls Start and
// Stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "storage/runtime/runtime.h"

namespace latchkey {

class ReclaimActor {
 public:
  ReclaimActor(Runtime& runtime, std::function<void()> round)
      : runtime_(runtime), round_(std::move(round)) {}
  ~ReclaimActor() { Stop(); }
  ReclaimActor(const ReclaimActor&) = delete;
  ReclaimActor& operator=(const ReclaimActor&) = delete;

  /// Starts the actor. Throws if there is no memory for it; then it has not started.
  void Start();
  /// Ends it, after the round that it may be in. Later requests have no effect.
  void Stop();

  /// Whether requests are served.
  bool is_running() const { return state() != State::kStopped; }
  /// Asks for a round. Takes one load, unless the actor sleeps or is in a round already.
  void Ask() {
    if (state() == State::kIdle) AskIdle();
  }

 private:
  enum class State : uint32_t { kStopped, kIdle, kWanted };

  static constexpr uint32_t Word(State state) { return static_cast<uint32_t>(state); }
  State state() const { return State{state_.load(std::memory_order_relaxed)}; }
  void AskIdle();
  void Run();

  Runtime& runtime_;
  const std::function<void()> round_;
  std::atomic<uint32_t> state_{Word(State::kStopped)};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
