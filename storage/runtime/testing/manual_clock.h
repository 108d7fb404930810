// A Runtime whose clock only a test moves, for tests of values computed from time.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "storage/base/check.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// For tests with one actor: spawning an actor, or waiting for one, is a failed check.
class ManualClock final : public Runtime {
 public:
  void Advance(Nanos duration) { now_ += duration; }

  std::unique_ptr<Actor> Spawn(const std::string&, std::function<void()>) override {
    LATCHKEY_CHECK(false);
    return nullptr;
  }
  Nanos Now() override { return now_; }
  int64_t WallClockSeconds() override { return static_cast<int64_t>(now_ / kNanosPerSecond); }
  void SleepFor(Nanos duration) override { now_ += duration; }
  bool WaitOnWord(std::atomic<uint32_t>&, uint32_t, Nanos timeout) override {
    LATCHKEY_CHECK(timeout != kForever);
    now_ += timeout;
    return false;
  }
  void Wake(std::atomic<uint32_t>&, uint32_t) override {}
  /// Costs virtual time, so that an endless back-off loop is detected.
  void BackOff(uint32_t attempt) override {
    LATCHKEY_CHECK(attempt < 1'000'000);
    now_ += kNanosPerMicro;
  }
  uint32_t ActorIndex() override { return 0; }

 private:
  Nanos now_ = kNanosPerSecond;
};

}  // namespace latchkey
