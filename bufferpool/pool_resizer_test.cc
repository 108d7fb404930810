// Growing and shrinking the pool while actors use it.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bufferpool/testing/pool_fixture.h"
#include "storage/base/rng.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::pool_resizer_test {
namespace {

// The step of Runtime::BackOff that yields the processor. An actor that never waits takes this step
// after each round. On one core under SCHED_FIFO the other actors would not run otherwise.
constexpr uint32_t kYields = 6;

TEST_CASE("The pool grows and shrinks while running and keeps every page", "[concurrency]") {
  const std::string synchronization = GENERATE("global", "regions:4");
  PoolFixture f(64, "clock", synchronization);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 400; ++i) pages.push_back(f.NewPage(i));
  std::atomic<bool> stop{false};
  std::atomic<bool> wrong{false};
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t seed = 0; seed < 2; ++seed) {
    actors.push_back(ThreadRuntime().Spawn("reader", [&, seed] {
      Rng rng(seed);
      while (!stop) {
        const uint64_t i = rng.Below(pages.size());
        SharedGuard guard;
        if (!f.pool->FixShared(f.pool->Here(), pages[i], &guard).ok() ||
            RacyLoad<uint64_t>(guard.data() + PoolFixture::kValueAt) != i) {
          wrong = true;
        }
        ThreadRuntime().BackOff(kYields);
      }
    }));
  }
  for (const uint32_t frames : {512u, 48u, 200u, 32u, 64u}) {
    const absl::Status resized = f.pool->Resize(frames);
    INFO(resized.message());
    CHECK(resized.ok());
    CHECK(f.pool->stats().frames == frames);
    ThreadRuntime().SleepFor(10 * kNanosPerMilli);
  }
  stop = true;
  actors.clear();
  CHECK_FALSE(wrong);
  CHECK(absl::IsInvalidArgument(f.pool->Resize(1)));
}

// A shrink once needed a moment in which none of the frames to give up was latched or had got a new
// page. Readers that held some page at all times kept it from ever finishing.
TEST_CASE("A cache shrinks though readers hold pages at all times, and no frame is lost") {
  const std::string synchronization = GENERATE("global", "regions:4");
  constexpr uint32_t kFrames = 200, kSmaller = 32, kHeld = 4;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(synchronization, seed);
    SimulatedRuntime runtime({.seed = seed, .quantum = 0, .preempt_probability = 0.3});
    absl::Status resized;
    LeakedFrames leaked;
    bool wrong = false;
    const absl::Status ran = runtime.Run([&] {
      PoolFixture f(kFrames, "clock", synchronization, kFrames, runtime);
      std::vector<PageId> pages;
      for (uint64_t i = 0; i < 400; ++i) pages.push_back(f.NewPage(i));
      bool stop = false;
      std::vector<std::unique_ptr<Actor>> readers;
      for (uint64_t r = 0; r < 2; ++r) {
        readers.push_back(runtime.Spawn("reader", [&, r] {
          Rng rng(2 * seed + r);
          std::array<SharedGuard, kHeld> held;
          for (size_t i = 0; !stop; i = (i + 1) % kHeld) {
            const uint64_t page = rng.Below(pages.size());
            SharedGuard next;
            wrong |= !f.pool->FixShared(f.pool->Here(), pages[page], &next).ok() ||
                     RacyLoad<uint64_t>(next.data() + PoolFixture::kValueAt) != page;
            held[i] = std::move(next);
            runtime.SleepFor(100 * kNanosPerMicro);
          }
        }));
      }
      resized = f.pool->Resize(kSmaller);
      stop = true;
      readers.clear();
      leaked = f.pool->CountLeaks();
    });
    REQUIRE(ran.ok());
    CHECK(resized == absl::OkStatus());
    CHECK_FALSE(wrong);
    CHECK(leaked.latched == 0);
    CHECK(leaked.lost == 0);
  }
}

TEST_CASE("A cache that could not shrink keeps all its frames") {
  SimulatedRuntime runtime({.seed = 1});
  const absl::Status ran = runtime.Run([&] {
    PoolFixture f(64, "clock", "global", 64, runtime);
    std::vector<PageId> pages;
    for (uint64_t i = 0; i < 64; ++i) pages.push_back(f.NewPage(i));
    SharedGuard held;
    REQUIRE(f.pool->FixShared(f.pool->Here(), pages[63], &held).ok());
    CHECK(absl::IsResourceExhausted(f.pool->Resize(16)));
    CHECK(f.pool->frames() == 64);
    held.Unfix();
    CHECK(f.pool->CountLeaks().lost == 0);
    CHECK(f.pool->Resize(16).ok());
  });
  REQUIRE(ran.ok());
}

// Found by the model campaign: the cache was resized while an active transaction had changed pages,
// and no other actor made the log durable for them.
TEST_CASE("A cache shrinks though the log is behind the pages of the frames that it gives up") {
  PoolFixture f(64);
  FakeLog log;
  f.pool->SetWriteAheadLog(&log);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 48; ++i) {
    pages.push_back(f.NewPage(i));
    Change(*f.pool, pages.back(), 1000 + i);
  }
  const absl::Status shrunk = f.pool->Resize(16);
  INFO(shrunk.ToString());
  REQUIRE(shrunk.ok());
  for (uint64_t i = 0; i < pages.size(); ++i) CHECK(f.ReadShared(pages[i]) == i);
  REQUIRE(f.pool->Resize(64).ok());
  for (const PageId page : pages) Change(*f.pool, page, 6000);
  log.broken = true;
  CHECK(absl::IsUnavailable(f.pool->Resize(16)));
}

TEST_CASE("A cache that cannot shrink because a page cannot be written says why") {
  PoolFixture f(64);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 64; ++i) pages.push_back(f.NewPage(i));
  f.store.fail_writes = true;
  const absl::Status shrunk = f.pool->Resize(16);
  CHECK(absl::IsUnavailable(shrunk));
  CHECK(f.pool->stats().frames == 64);
  f.store.fail_writes = false;
  REQUIRE(f.pool->Resize(16).ok());
  for (uint64_t i = 0; i < pages.size(); ++i) CHECK(f.ReadShared(pages[i]) == i);
}

}  // namespace
}  // namespace latchkey::pool_resizer_test
