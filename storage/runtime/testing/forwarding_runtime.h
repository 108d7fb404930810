// A Runtime that forwards every call to another one: tests override the calls that they observe.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// As thread-safe as the other runtime, which outlives it.
class ForwardingRuntime : public Runtime {
 public:
  explicit ForwardingRuntime(Runtime& runtime)
      : Runtime(/*has_schedule_points=*/true), runtime_(runtime) {}

  std::unique_ptr<Actor> Spawn(const std::string& name, std::function<void()> body) override {
    return runtime_.Spawn(name, std::move(body));
  }
  Nanos Now() override { return runtime_.Now(); }
  int64_t WallClockSeconds() override { return runtime_.WallClockSeconds(); }
  void SleepFor(Nanos duration) override { runtime_.SleepFor(duration); }
  bool WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) override {
    return runtime_.WaitOnWord(word, expected, timeout);
  }
  void Wake(std::atomic<uint32_t>& word, uint32_t count) override { runtime_.Wake(word, count); }
  void BackOff(uint32_t attempt) override { runtime_.BackOff(attempt); }
  uint32_t ActorIndex() override { return runtime_.ActorIndex(); }

 private:
  void OnSchedulePoint() override { runtime_.SchedulePoint(); }
  void OnCharge(Nanos duration) override { runtime_.Charge(duration); }
  void OnTakeOver(HotWord& word) override { runtime_.TakeOver(word); }

  Runtime& runtime_;
};

}  // namespace latchkey
