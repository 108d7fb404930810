#include "storage/runtime/simulated_runtime.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/runtime/mutex.h"

namespace latchkey::simulated_runtime_test {
namespace {

using Actors = std::vector<std::unique_ptr<Actor>>;

SimulationOptions Preempting(uint64_t seed, double probability = 0.1) {
  SimulationOptions options;
  options.seed = seed;
  options.preempt_probability = probability;
  return options;
}

void RunOrFail(SimulatedRuntime& runtime, std::function<void()> main) {
  const absl::Status ran = runtime.Run(std::move(main));
  INFO(ran.message());
  REQUIRE(ran.ok());
}

// ---- The same seed gives the same history

struct Outcome {
  uint64_t hash;
  Nanos end;
  std::vector<int> order;  // in which the actors entered the critical section
  bool operator==(const Outcome& other) const {
    return hash == other.hash && end == other.end && order == other.order;
  }
};

// A mixture: mutexes, condition variables, sleeps, time-outs, back-offs, events.
Outcome MixedWorkload(const SimulationOptions& options) {
  SimulatedRuntime runtime(options);
  Outcome outcome{};
  RunOrFail(runtime, [&] {
    Mutex mutex(runtime);
    CondVar turn;
    std::atomic<uint32_t> completed{0};
    Actors actors;
    for (int a = 0; a < 6; ++a) {
      actors.push_back(runtime.Spawn("mixed-" + std::to_string(a), [&, a] {
        for (int i = 0; i < 10; ++i) {
          MutexLock lock(mutex);
          outcome.order.push_back(a);
          if (i % 3 == 0) turn.Wait(mutex, kNanosPerMicro * 50);
          if (i % 4 == 0) runtime.SleepFor(kNanosPerMicro * 7);
          turn.NotifyOne(mutex);
          runtime.ScheduleAt(runtime.Now() + 100, [&] { ++completed; });
        }
      }));
    }
    for (auto& actor : actors) actor->Join();
    Backoff backoff(runtime);
    while (completed < 60) backoff.Pause();
  });
  outcome.hash = runtime.history_hash();
  outcome.end = runtime.Now();
  return outcome;
}

TEST_CASE("The same seed makes the same history, and different seeds make different ones") {
  std::set<uint64_t> hashes;
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimulationOptions options = Preempting(seed);
    options.processors = static_cast<uint32_t>(seed % 3);
    const Outcome first = MixedWorkload(options);
    CHECK(first == MixedWorkload(options));
    hashes.insert(first.hash);
    orders.insert(first.order);
  }
  CHECK(hashes.size() == 20);
  CHECK(orders.size() >= 15);
}

TEST_CASE("What is noted in the history is part of its hash") {
  SimulatedRuntime one, other;
  CHECK(one.history_hash() == other.history_hash());
  one.NoteInHistory(1);
  other.NoteInHistory(2);
  CHECK(one.history_hash() != other.history_hash());
}

// ---- Bugs that the simulation must find

// A consumer that sleeps until a flag is set. The broken one checks the flag before it reads the
// word on which it then sleeps, so a wake-up in between is lost.
absl::Status HandOver(uint64_t seed, bool broken) {
  SimulationOptions options = Preempting(seed);
  options.may_be_abandoned = true;
  SimulatedRuntime runtime(options);
  return runtime.Run([&] {
    std::atomic<uint32_t> word{0};
    std::atomic<bool> ready{false};
    auto producer = runtime.Spawn("producer", [&] {
      runtime.SchedulePoint();
      ready = true;
      ++word;
      runtime.Wake(word, 1);
    });
    for (;;) {
      uint32_t seen = word;
      if (ready) break;
      runtime.SchedulePoint();
      if (broken) seen = word;
      runtime.WaitOnWord(word, seen, kForever);
    }
  });
}

TEST_CASE("Seeded schedules find a lost wake-up, and accuse no sound hand-over") {
  int deadlocks = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const absl::Status broken = HandOver(seed, /*broken=*/true);
    if (!broken.ok()) {
      CHECK(broken.code() == absl::StatusCode::kInternal);
      ++deadlocks;
    }
    CHECK(HandOver(seed, /*broken=*/false).ok());
  }
  CHECK(deadlocks > 0);
}

// Two actors add to a plain counter ten times each.
int CountTo20(uint64_t seed, bool locked) {
  SimulatedRuntime runtime(Preempting(seed));
  int counter = 0;
  RunOrFail(runtime, [&] {
    Mutex mutex(runtime);
    const auto add = [&] {
      for (int i = 0; i < 10; ++i) {
        if (locked) mutex.Lock();
        const int value = counter;
        runtime.SchedulePoint();
        counter = value + 1;
        if (locked) mutex.Unlock();
      }
    };
    auto other = runtime.Spawn("adder", add);
    add();
  });
  return counter;
}

TEST_CASE("Seeded schedules find an unlocked read-modify-write, and accuse no locked one") {
  int lost = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    if (CountTo20(seed, /*locked=*/false) != 20) ++lost;
    CHECK(CountTo20(seed, /*locked=*/true) == 20);
  }
  CHECK(lost > 0);
}

TEST_CASE("A deadlock is reported with every actor and what it waits for") {
  SimulationOptions options;
  options.may_be_abandoned = true;
  SimulatedRuntime runtime(options);
  const absl::Status ran = runtime.Run([&] {
    Mutex a(runtime), b(runtime);
    auto left = runtime.Spawn("left", [&] {
      MutexLock first(a);
      runtime.SleepFor(kNanosPerMicro);
      MutexLock second(b);
    });
    auto right = runtime.Spawn("right", [&] {
      MutexLock first(b);
      runtime.SleepFor(kNanosPerMicro);
      MutexLock second(a);
    });
    left->Join();
  });
  CHECK(ran.code() == absl::StatusCode::kInternal);
  const std::string message(ran.message());
  INFO(message);
  CHECK(message.find("deadlock") != std::string::npos);
  CHECK(message.find("main (actor 0): waits for the end of left") != std::string::npos);
  CHECK(message.find("left (actor 1): waits on a word that was 2 and is 2") != std::string::npos);
  CHECK(message.find("right (actor 2): waits on a word") != std::string::npos);
}

TEST_CASE("An actor that backs off for ever is reported as a livelock") {
  SimulationOptions options;
  options.max_back_offs = 1000;
  options.may_be_abandoned = true;
  SimulatedRuntime runtime(options);
  SpinLatch latch;
  const absl::Status ran = runtime.Run([&] {
    latch.Lock(runtime);
    latch.Lock(runtime);
  });
  CHECK(ran.code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(std::string(ran.message()).find("main (actor 0): backs off, 1002 times") !=
        std::string::npos);
}

TEST_CASE("Actors that only keep each other busy are reported as a livelock") {
  SimulationOptions options;
  options.max_hand_overs = 5000;
  options.may_be_abandoned = true;
  SimulatedRuntime runtime(options);
  const absl::Status ran = runtime.Run([&] {
    auto other = runtime.Spawn("other", [&] {
      for (;;) runtime.SleepFor(1);
    });
    for (;;) runtime.SleepFor(1);
  });
  CHECK(ran.code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(std::string(ran.message()).find("max_hand_overs") != std::string::npos);
}

// ---- Virtual time

TEST_CASE("An hour of virtual time passes at once, exactly when nobody else runs") {
  SimulationOptions options;
  options.step_cost = 0;
  SimulatedRuntime runtime(options);
  RunOrFail(runtime, [&] {
    const Nanos start = runtime.Now();
    const int64_t wall = runtime.WallClockSeconds();
    runtime.SleepFor(3600 * kNanosPerSecond);
    CHECK(runtime.Now() - start - 3600 * kNanosPerSecond <= 1);  // reading a clock takes 1 ns
    CHECK(runtime.WallClockSeconds() == wall + 3600);
  });
}

TEST_CASE("Who polls the clock sees it move") {
  SimulatedRuntime runtime;
  RunOrFail(runtime, [&] {
    const Nanos start = runtime.Now();
    while (runtime.Now() < start + kNanosPerMilli) {
    }
    SUCCEED();
  });
}

// The virtual time in which four actors use a millisecond of processor time each.
Nanos FourMilliseconds(uint32_t processors) {
  SimulationOptions options;
  options.processors = processors;
  options.time_slice = 50 * kNanosPerMicro;
  options.step_cost = 100;
  SimulatedRuntime runtime(options);
  const Nanos start = runtime.Now();
  RunOrFail(runtime, [&] {
    Actors actors;
    for (int a = 0; a < 4; ++a) {
      actors.push_back(runtime.Spawn("worker", [&] {
        for (int i = 0; i < 10'000; ++i) runtime.SchedulePoint();
      }));
    }
    for (auto& actor : actors) actor->Join();
  });
  return runtime.Now() - start;
}

TEST_CASE("Virtual processors are shared: work takes as long as there are processors for it") {
  CHECK(FourMilliseconds(0) == Approx(1 * kNanosPerMilli).epsilon(0.05));
  CHECK(FourMilliseconds(1) == Approx(4 * kNanosPerMilli).epsilon(0.05));
  CHECK(FourMilliseconds(2) == Approx(2 * kNanosPerMilli).epsilon(0.05));
  CHECK(FourMilliseconds(8) == Approx(1 * kNanosPerMilli).epsilon(0.05));
}

TEST_CASE("Events happen at their time, wake who waits, and may schedule more") {
  SimulatedRuntime runtime;
  RunOrFail(runtime, [&] {
    const Nanos start = runtime.Now();
    std::vector<Nanos> happened;
    std::atomic<uint32_t> done{0};
    runtime.ScheduleAt(start + 3000, [&] {
      happened.push_back(runtime.Now() - start);
      runtime.ScheduleAt(runtime.Now() + 1000, [&] {
        happened.push_back(runtime.Now() - start);
        done = 1;
        runtime.Wake(done, 1);
      });
    });
    runtime.ScheduleAt(start + 2000, [&] { happened.push_back(runtime.Now() - start); });
    runtime.ScheduleAt(0, [&] { happened.push_back(0); });  // long past: as soon as possible
    CHECK(happened.empty());
    CHECK(runtime.WaitOnWord(done, 0, kForever));
    CHECK(done == 1);
    CHECK(happened == std::vector<Nanos>{0, 2000, 3000, 4000});
  });
  CHECK(runtime.stats().timer_events == 4);
}

TEST_CASE("The seed decides the order of events of one instant") {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SimulationOptions options;
    options.seed = seed;
    SimulatedRuntime runtime(options);
    std::string order;
    RunOrFail(runtime, [&] {
      const Nanos when = runtime.Now() + 1000;
      for (const char event : {'a', 'b', 'c'}) {
        runtime.ScheduleAt(when, [&order, event] { order += event; });
      }
      runtime.SleepFor(2000);
    });
    orders.insert(order);
  }
  CHECK(orders.size() == 6);
}

TEST_CASE("Waits that were woken long before their time-outs leave nothing behind") {
  SimulatedRuntime runtime;
  RunOrFail(runtime, [&] {
    std::atomic<uint32_t> ping{0}, pong{0};
    constexpr uint32_t kRounds = 20'000;
    auto other = runtime.Spawn("pong", [&] {
      for (uint32_t i = 0; i < kRounds; ++i) {
        while (ping == i) runtime.WaitOnWord(ping, i, 3600 * kNanosPerSecond);
        ++pong;
        runtime.Wake(pong, 1);
      }
    });
    for (uint32_t i = 0; i < kRounds; ++i) {
      ++ping;
      runtime.Wake(ping, 1);
      while (pong == i) runtime.WaitOnWord(pong, i, 3600 * kNanosPerSecond);
    }
    CHECK(runtime.Now() < 10 * kNanosPerSecond);
  });
}

// ---- Ends of a run

struct SetsOnDestruction {
  bool& destroyed;
  ~SetsOnDestruction() { destroyed = true; }
};

TEST_CASE("Stopping everything runs no destructor and no actor any further") {
  for (const bool from_event : {false, true}) {
    SimulationOptions options;
    options.may_be_abandoned = true;
    SimulatedRuntime runtime(options);
    bool destroyed = false, went_on = false;
    int steps = 0;
    const absl::Status ran = runtime.Run([&] {
      const SetsOnDestruction witness{destroyed};
      auto other = runtime.Spawn("other", [&] {
        const SetsOnDestruction other_witness{destroyed};
        for (;; ++steps) runtime.SleepFor(10);
      });
      if (from_event) runtime.ScheduleAt(runtime.Now() + 1000, [&] { runtime.StopAll(); });
      runtime.SleepFor(from_event ? 2000 : 1000);
      if (!from_event) runtime.StopAll();
      went_on = true;
    });
    CHECK(ran.code() == absl::StatusCode::kCancelled);
    CHECK_FALSE(destroyed);
    CHECK_FALSE(went_on);
    CHECK(steps > 10);
    // The next run, on the same clock.
    const int before = steps;
    const Nanos crash = runtime.Now();
    RunOrFail(runtime, [&] {
      CHECK(runtime.ActorIndex() == 0);
      runtime.SleepFor(10'000);
    });
    CHECK(steps == before);
    CHECK(runtime.Now() >= crash + 10'000);
  }
}

TEST_CASE("A run goes on until the last actor has ended") {
  SimulatedRuntime runtime;
  std::vector<std::unique_ptr<Actor>> outlives_main;
  bool ended = false;
  RunOrFail(runtime, [&] {
    outlives_main.push_back(runtime.Spawn("late", [&] {
      runtime.SleepFor(kNanosPerSecond);
      ended = true;
    }));
  });
  CHECK(ended);
  outlives_main[0]->Join();
}

TEST_CASE("An exception comes out of the run, whichever actor it left") {
  SimulatedRuntime runtime;
  bool joined = false;
  const auto fails = [&] {
    const auto other = runtime.Spawn("other", [&] {
      try {
        runtime.SleepFor(500);
        throw std::runtime_error("caught where it belongs");
      } catch (const std::runtime_error&) {
        runtime.SleepFor(500);  // in the handler, while main is unwinding
      }
      joined = true;
    });
    throw std::logic_error("from main");  // unwinding waits for the other actor
  };
  CHECK_THROWS_AS(runtime.Run(fails), std::logic_error);
  CHECK(joined);
  SimulationOptions options;
  options.may_be_abandoned = true;
  SimulatedRuntime abandoning(options);
  CHECK_THROWS_AS(abandoning.Run([&] {
    abandoning.Spawn("thrower", [] { throw std::runtime_error("from an actor"); })->Join();
  }),
                  std::runtime_error);
}

// ---- Fibers

TEST_CASE("Ten thousand actors live at once, and their stacks are used again") {
  // ThreadSanitizer follows at most 8,000.
  const uint32_t count = kThreadSanitizer ? 2'000 : 10'000;
  SimulatedRuntime runtime;
  RunOrFail(runtime, [&] {
    for (int round = 0; round < 2; ++round) {
      std::atomic<uint32_t> arrived{0}, go{0}, sum{0};
      Actors actors;
      for (uint32_t a = 0; a < count; ++a) {
        actors.push_back(runtime.Spawn("one of many", [&, a] {
          ++arrived;
          while (go == 0) runtime.WaitOnWord(go, 0, kForever);
          sum += a;
        }));
      }
      while (arrived < count) runtime.SleepFor(kNanosPerMilli);
      go = 1;
      runtime.Wake(go, UINT32_MAX);
      for (auto& actor : actors) actor->Join();
      CHECK(sum == count * (count - 1) / 2);
    }
  });
  CHECK(runtime.stats().actors == 2 * count + 1);
}

uint64_t Recurse(SimulatedRuntime& runtime, int depth) {
  volatile char frame[1024];
  frame[depth % 1024] = static_cast<char>(depth);
  if (depth == 0) return 1;
  runtime.SchedulePoint();
  return Recurse(runtime, depth - 1) + static_cast<uint64_t>(frame[depth % 1024] != 0);
}

TEST_CASE("Deep stacks and floating-point values survive hand-overs") {
  SimulationOptions options = Preempting(3, 0.5);
  options.quantum = 0;
  SimulatedRuntime runtime(options);
  RunOrFail(runtime, [&] {
    Actors actors;
    std::vector<double> sums(8);
    std::vector<uint64_t> depths(8);
    for (size_t a = 0; a < sums.size(); ++a) {
      actors.push_back(runtime.Spawn("counter", [&, a] {
        double sum = 0;
        for (int i = 0; i < 1000; ++i) {
          sum += 0.5 * static_cast<double>(a);
          runtime.SchedulePoint();
        }
        sums[a] = sum;
        depths[a] = Recurse(runtime, 100);
      }));
    }
    for (auto& actor : actors) actor->Join();
    for (size_t a = 0; a < sums.size(); ++a) {
      CHECK(sums[a] == 500.0 * static_cast<double>(a));
      CHECK(depths[a] == 101);
    }
  });
}

TEST_CASE("Simulations on different runtimes do not disturb each other") {
  SimulatedRuntime outer, inner;
  RunOrFail(outer, [&] {
    auto other = outer.Spawn("other", [&] { outer.SleepFor(100); });
    RunOrFail(inner, [&] { inner.Spawn("inner", [&] { inner.SleepFor(100); })->Join(); });
    outer.SleepFor(1000);
  });
  CHECK(outer.stats().actors == 2);
  CHECK(inner.stats().actors == 2);
}

}  // namespace
}  // namespace latchkey::simulated_runtime_test
