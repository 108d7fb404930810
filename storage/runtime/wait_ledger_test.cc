#include "storage/runtime/wait_ledger.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "storage/runtime/simulated_runtime.h"

namespace latchkey::wait_ledger_test {
namespace {

TEST_CASE("each actor has waits of its own") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    WaitLedger ledger(runtime);
    const auto wait = [&](Nanos time) {
      const WaitTimer timer(&ledger, Waited::kLock);
      runtime.SleepFor(time);
    };
    WaitTimes others;
    const auto actor = runtime.Spawn("other", [&] {
      wait(5 * kNanosPerMicro);
      wait(2 * kNanosPerMicro);
      others = ledger.Read();
    });
    wait(3 * kNanosPerMicro);
    actor->Join();
    // A reading of the clock takes virtual time, too.
    const auto in_micros = [](Nanos time) { return time / kNanosPerMicro; };
    CHECK(in_micros(ledger.Read()[static_cast<size_t>(Waited::kLock)]) == 3);
    CHECK(in_micros(others[static_cast<size_t>(Waited::kLock)]) == 7);
    CHECK(others[static_cast<size_t>(Waited::kFrame)] == 0);
  });
  CHECK(ran.ok());
}

TEST_CASE("a wait of a tenth of a second is told as a stall, a shorter one is not") {
  SimulatedRuntime runtime;
  std::vector<std::string> told;
  const LogSink sink(nullptr, [&](LogEvent event, std::string_view message, uint64_t duration_ns) {
    CHECK(event == LogEvent::kStall);
    CHECK(duration_ns == WaitWatch::kLeastStall);
    told.emplace_back(message);
  });
  const WaitWatch watch{.ledger = nullptr, .sink = sink};
  watch.Note(Waited::kFrame, WaitWatch::kLeastStall - 1, "for a frame");
  CHECK(told.empty());
  watch.Note(Waited::kFrame, WaitWatch::kLeastStall, "for a frame");
  CHECK(told == std::vector<std::string>{"a call has waited 100 ms for a frame"});
  WaitWatch().Note(Waited::kFrame, kNanosPerSecond, "for nobody who asks");
}

}  // namespace
}  // namespace latchkey::wait_ledger_test
