#include "tools/contention/measured_actors.h"

#include <algorithm>
#include <memory>

namespace latchkey {
namespace {

constexpr Nanos kSlice = 20 * kNanosPerMilli;

// Sleeps until `end`; false if a stop was requested before.
bool SleepUntil(Runtime& runtime, Nanos end, const std::atomic<bool>* stop) {
  for (Nanos now = runtime.Now(); now < end; now = runtime.Now()) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return false;
    runtime.SleepFor(std::min(kSlice, end - now));
  }
  return true;
}

}  // namespace

MeasuredInterval RunMeasured(
    Runtime& runtime, const MeasuredTimes& times,
    absl::FunctionRef<void(uint32_t thread, const std::atomic<bool>& running)> body,
    absl::FunctionRef<void()> begin, absl::FunctionRef<void()> end) {
  std::atomic<bool> running{true};
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint32_t thread = 0; thread < times.threads; ++thread) {
    actors.push_back(runtime.Spawn("contention", [&, thread] { body(thread, running); }));
  }
  bool complete = SleepUntil(runtime, runtime.Now() + times.warmup, times.stop);
  const Nanos start = runtime.Now();
  begin();
  complete = complete && SleepUntil(runtime, start + times.duration, times.stop);
  end();
  const Nanos stopped = runtime.Now();
  running.store(false);
  for (auto& actor : actors) actor->Join();
  return {.seconds = static_cast<double>(stopped - start) / kNanosPerSecond,
          .interrupted = !complete};
}

}  // namespace latchkey
