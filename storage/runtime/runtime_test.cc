#include "storage/runtime/runtime.h"

#include <sched.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <vector>

#include "storage/runtime/testing/every_runtime.h"

namespace latchkey::runtime_test {
namespace {

TEST_CASE("Spawned actors run, and joining twice is harmless") {
  OnEveryRuntime([](Runtime& runtime) {
    std::atomic<int> runs{0};
    auto actor = runtime.Spawn("a name longer than fifteen bytes", [&] { ++runs; });
    actor->Join();
    actor->Join();
    CHECK(runs == 1);
  });
}

TEST_CASE("An actor is joined when its handle goes away") {
  OnEveryRuntime([](Runtime& runtime) {
    std::atomic<bool> done{false};
    {
      auto actor = runtime.Spawn("actor", [&] {
        runtime.SleepFor(kNanosPerMilli);
        done = true;
      });
    }
    CHECK(done);
  });
}

TEST_CASE("The clock never goes back, and sleeping takes at least as long as asked") {
  OnEveryRuntime([](Runtime& runtime) {
    Nanos last = runtime.Now();
    for (int i = 0; i < 1000; ++i) {
      const Nanos now = runtime.Now();
      REQUIRE(now >= last);
      last = now;
    }
    runtime.SleepFor(2 * kNanosPerMilli);
    CHECK(runtime.Now() - last >= 2 * kNanosPerMilli);
    CHECK(runtime.WallClockSeconds() > 1'600'000'000);
  });
}

TEST_CASE("Waiting on a word that has changed already returns at once") {
  OnEveryRuntime([](Runtime& runtime) {
    std::atomic<uint32_t> word{1};
    CHECK(runtime.WaitOnWord(word, 0, kForever));
  });
}

TEST_CASE("Waiting on a word that nobody changes times out") {
  OnEveryRuntime([](Runtime& runtime) {
    std::atomic<uint32_t> word{0};
    const Nanos start = runtime.Now();
    bool in_time = true;
    while (in_time) in_time = runtime.WaitOnWord(word, 0, 2 * kNanosPerMilli);
    CHECK(runtime.Now() - start >= 2 * kNanosPerMilli);
  });
}

TEST_CASE("A change of the word followed by a wake-up ends every wait") {
  OnEveryRuntime([](Runtime& runtime) {
    std::atomic<uint32_t> word{0};
    std::atomic<int> woken{0};
    std::vector<std::unique_ptr<Actor>> actors;
    for (int i = 0; i < 3; ++i) {
      actors.push_back(runtime.Spawn("waiter", [&] {
        while (word.load() == 0) runtime.WaitOnWord(word, 0, kForever);
        ++woken;
      }));
    }
    runtime.SleepFor(kNanosPerMilli);
    word = 1;
    runtime.Wake(word, UINT32_MAX);
    for (auto& actor : actors) actor->Join();
    CHECK(woken == 3);
  });
}

TEST_CASE("Backing off counts its steps and lets another actor make progress") {
  OnEveryRuntime([](Runtime& runtime) {
    std::atomic<bool> flag{false};
    auto actor = runtime.Spawn("setter", [&] { flag = true; });
    Backoff backoff(runtime);
    uint32_t steps = 0;
    for (; !flag; ++steps) backoff.Pause();
    CHECK(backoff.attempts() == steps);
    // Steps far into a wait still sleep for a bounded time.
    runtime.BackOff(1000);
    runtime.BackOff(UINT32_MAX);
  });
}

TEST_CASE("Actors that live at once have different, dense indexes, which stay theirs") {
  OnEveryRuntime([](Runtime& runtime) {
    constexpr uint32_t kActors = 8;
    std::atomic<uint32_t> arrived{0}, leave{0};
    const uint32_t own_index = runtime.ActorIndex();
    std::vector<uint32_t> indexes(kActors);
    std::atomic<int> changed{0};
    std::vector<std::unique_ptr<Actor>> actors;
    for (uint32_t i = 0; i < kActors; ++i) {
      actors.push_back(runtime.Spawn("indexed", [&, i] {
        indexes[i] = runtime.ActorIndex();
        ++arrived;
        while (leave.load() == 0) runtime.WaitOnWord(leave, 0, kForever);
        if (runtime.ActorIndex() != indexes[i]) ++changed;
      }));
    }
    Backoff backoff(runtime);
    while (arrived < kActors) backoff.Pause();
    leave = 1;
    runtime.Wake(leave, UINT32_MAX);
    for (auto& actor : actors) actor->Join();
    std::set<uint32_t> distinct(indexes.begin(), indexes.end());
    distinct.insert(own_index);
    CHECK(runtime.ActorIndex() == own_index);
    CHECK(distinct.size() == kActors + 1);
    CHECK(changed == 0);
    CHECK(*distinct.rbegin() < 2 * kActors + 2);  // dense: other threads take only a few
  });
}

TEST_CASE("The index of an actor that ended is used again") {
  OnEveryRuntime([](Runtime& runtime) {
    std::set<uint32_t> seen;
    for (int i = 0; i < 50; ++i) {
      uint32_t index = 0;
      runtime.Spawn("short", [&] { index = runtime.ActorIndex(); })->Join();
      seen.insert(index);
    }
    CHECK(seen.size() == 1);
  });
}

/// Puts the calling actor on the first of its processors under SCHED_FIFO, where it runs until it
/// waits, gives its turn away, or one of higher priority wants to run. False when that is
/// forbidden.
bool RunInOrder(int priority) {
  cpu_set_t allowed, one;
  CPU_ZERO(&allowed);
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  size_t cpu = 0;
  while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed)) ++cpu;
  CPU_SET(cpu, &one);
  const sched_param parameters = {.sched_priority = priority};
  return sched_setaffinity(0, sizeof one, &one) == 0 &&
         sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}

TEST_CASE("An actor that backs off on one core leaves it to actors of lower priority, too") {
  constexpr uint32_t kMostAttempts = 100'000;
  std::atomic<bool> waiting{false}, released{false}, forbidden{false}, given_up{false};
  auto waiter = ThreadRuntime().Spawn("waiter", [&] {
    forbidden = !RunInOrder(2);
    waiting = true;
    Backoff backoff(ThreadRuntime());
    while (!released && backoff.attempts() < kMostAttempts) backoff.Pause();
    given_up = !released;
  });
  for (Backoff backoff(ThreadRuntime()); !waiting;) backoff.Pause();
  auto releaser = ThreadRuntime().Spawn("releaser", [&] {
    RunInOrder(1);
    released = true;
  });
  releaser->Join();
  waiter->Join();
  if (forbidden) WARN("real-time scheduling is forbidden here: tested with the usual one");
  CHECK_FALSE(given_up);
}

}  // namespace
}  // namespace latchkey::runtime_test
