// Processor time in the simulation: charges, processors, and the costs of single events.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/runtime/mutex.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::simulated_processors_test {
namespace {

using Actors = std::vector<std::unique_ptr<Actor>>;

// Nothing costs time but what a test charges.
SimulationOptions OnlyCharges(uint32_t processors = 0) {
  SimulationOptions options;
  options.step_cost = 0;
  options.quantum = 0;
  options.processors = processors;
  options.first_come_first_served = true;
  return options;
}

// The virtual time from the first to the last moment in `body`, which runs as the main actor.
Nanos TimeOf(SimulatedRuntime& runtime, const std::function<void()>& body) {
  const Nanos start = runtime.Now();
  const absl::Status ran = runtime.Run(body);
  INFO(ran.message());
  REQUIRE(ran.ok());
  return runtime.Now() - start;
}

void RunTogether(SimulatedRuntime& runtime, uint32_t count,
                 const std::function<void(uint32_t)>& body) {
  Actors actors;
  for (uint32_t a = 0; a < count; ++a) {
    actors.push_back(runtime.Spawn("worker", [&body, a] { body(a); }));
  }
  for (auto& actor : actors) actor->Join();
}

TEST_CASE("Charged time passes under a lock, so its requests happen one after the other") {
  SimulatedRuntime runtime(OnlyCharges());
  Mutex mutex(runtime);
  uint32_t slept = 0;
  const Nanos taken = TimeOf(runtime, [&] {
    RunTogether(runtime, 4, [&](uint32_t) {
      for (int i = 0; i < 10; ++i) {
        slept += mutex.Lock() ? 1 : 0;
        runtime.Charge(20 * kNanosPerMicro);
        mutex.Unlock();
      }
    });
  });
  CHECK(taken >= 40 * 20 * kNanosPerMicro);
  CHECK(slept > 0);
}

TEST_CASE("Charged time passes at once outside a lock") {
  SimulatedRuntime runtime(OnlyCharges());
  const Nanos taken =
      TimeOf(runtime, [&] { RunTogether(runtime, 4, [&](uint32_t) { runtime.Charge(1000); }); });
  CHECK(taken == 1000);
}

TEST_CASE("On threads a charge takes no time, and a hot word is not written") {
  Runtime& runtime = ThreadRuntime();
  const Nanos start = runtime.Now();
  HotWord word;
  runtime.Charge(3600 * kNanosPerSecond);
  runtime.TakeOver(word);
  CHECK(runtime.Now() - start < 3600 * kNanosPerSecond);
  CHECK(word.owner == HotWord::kNobody);
}

TEST_CASE("With P processors at most P actors use processor time at once") {
  for (const uint32_t processors : {1, 2, 3, 8}) {
    CAPTURE(processors);
    SimulatedRuntime runtime(OnlyCharges(processors));
    uint32_t running = 0, most = 0;
    const Nanos taken = TimeOf(runtime, [&] {
      RunTogether(runtime, 6, [&](uint32_t) {
        for (int i = 0; i < 5; ++i) {
          most = std::max(most, ++running);
          runtime.Charge(100);
          --running;
          runtime.SleepFor(1);
        }
      });
    });
    CHECK(most == std::min(processors, 6u));
    CHECK(taken >= 6 * 5 * 100 / processors);
  }
}

// The order in which five actors get the only processor. They ask for it one after the other.
std::vector<uint32_t> OrderOfService(uint64_t seed, bool first_come_first_served) {
  SimulationOptions options = OnlyCharges(1);
  options.seed = seed;
  options.first_come_first_served = first_come_first_served;
  SimulatedRuntime runtime(options);
  std::vector<uint32_t> order;
  TimeOf(runtime, [&] {
    Actors actors;
    for (uint32_t a = 0; a < 5; ++a) {
      actors.push_back(runtime.Spawn("worker", [&, a] {
        runtime.SleepFor(100 * (5 - a));
        order.push_back(a);
        runtime.Charge(1000);
      }));
    }
    for (auto& actor : actors) actor->Join();
  });
  return order;
}

TEST_CASE("Processors serve actors first come, first served, or as the seed decides") {
  bool other_order = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const std::vector<uint32_t> arrivals{4, 3, 2, 1, 0};
    CHECK(OrderOfService(seed, true) == arrivals);
    other_order = other_order || OrderOfService(seed, false) != arrivals;
  }
  CHECK(other_order);
}

// The virtual time in which one actor wakes another, which sleeps on a word.
Nanos HandOverTime(const SimulationOptions& options) {
  SimulatedRuntime runtime(options);
  return TimeOf(runtime, [&] {
    std::atomic<uint32_t> word{0};
    auto sleeper = runtime.Spawn("sleeper", [&] {
      while (word == 0) runtime.WaitOnWord(word, 0, kForever);
    });
    runtime.SleepFor(10'000);
    word = 1;
    runtime.Wake(word, 1);
    sleeper->Join();
  });
}

TEST_CASE("A wake-up, a sleep and a switch take the processor time that they are said to cost") {
  const Nanos free = HandOverTime(OnlyCharges(4));
  SimulationOptions options = OnlyCharges(4);
  options.wake_cost = 300;
  CHECK(HandOverTime(options) == free + 300);
  options = OnlyCharges(4);
  options.sleep_cost = 2000;  // is over when the wake-up comes
  CHECK(HandOverTime(options) == free);
  options.sleep_cost = 20'000;  // the word has changed before the actor is asleep
  CHECK(HandOverTime(options) >= 20'000);
  options = OnlyCharges(4);
  options.switch_cost = 500;  // main begins, sleeps and goes on, the sleeper wakes, main joins it
  CHECK(HandOverTime(options) == free + 4 * 500);
}

TEST_CASE("A processor that takes over a hot word pays for the transfer, one after the other") {
  SimulationOptions options = OnlyCharges(4);
  options.transfer_cost = 100;
  SimulatedRuntime runtime(options);
  HotWord word;
  std::vector<Nanos> arrivals;
  TimeOf(runtime, [&] {
    const Nanos start = runtime.Now();
    RunTogether(runtime, 3, [&](uint32_t) {
      runtime.TakeOver(word);
      arrivals.push_back(runtime.Now() - start);
    });
    runtime.TakeOver(word);
    const Nanos mine = runtime.Now();
    runtime.TakeOver(word);  // is the owner still
    CHECK(runtime.Now() - mine < 100);
  });
  REQUIRE(arrivals.size() == 3);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    CHECK(arrivals[i] >= 100 * (i + 1));
    CHECK(arrivals[i] < 100 * (i + 1) + 50);
  }
}

// A processor once lost the line at once. So the holder of a lock could not unlock it before
// another one's try had failed.
TEST_CASE("A processor still has the line of a hot word while the request for it travels") {
  SimulationOptions options = OnlyCharges(2);
  options.transfer_cost = 100;
  SimulatedRuntime runtime(options);
  HotWord word;
  Nanos uses_again = 0, comes_back = 0;
  TimeOf(runtime, [&] {
    const auto taken_for = [&] {
      const Nanos start = runtime.Now();
      runtime.TakeOver(word);
      return runtime.Now() - start;
    };
    RunTogether(runtime, 2, [&](uint32_t a) {
      if (a == 0) {
        runtime.TakeOver(word);  // at 100
        runtime.Charge(50);
        uses_again = taken_for();
        runtime.Charge(100);
        comes_back = taken_for();
      } else {
        runtime.Charge(110);
        runtime.TakeOver(word);  // has it at 210
      }
    });
  });
  CHECK(uses_again < 50);
  CHECK(comes_back >= 100);
}

TEST_CASE("The same seed makes the same run, also with costs") {
  const auto run = [](uint64_t seed) {
    SimulationOptions options = OnlyCharges(3);
    options.seed = seed;
    options.step_cost = 7;
    options.switch_cost = 90;
    options.sleep_cost = 50;
    options.wake_cost = 120;
    options.transfer_cost = 60;
    SimulatedRuntime runtime(options);
    Mutex mutex(runtime);
    HotWord word;
    const Nanos taken = TimeOf(runtime, [&] {
      RunTogether(runtime, 5, [&](uint32_t a) {
        for (uint32_t i = 0; i < 50; ++i) {
          const MutexLock lock(mutex);
          runtime.TakeOver(word);
          runtime.Charge(10 * a + i);
        }
      });
    });
    return std::make_pair(runtime.history_hash(), taken);
  };
  CHECK(run(1) == run(1));
  CHECK(run(2) == run(2));
  CHECK(run(1).first != run(2).first);
}

}  // namespace
}  // namespace latchkey::simulated_processors_test
