#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "storage/runtime/simulated_runtime.h"
#include "tools/contention/access_pattern.h"
#include "tools/contention/lock_benchmark.h"
#include "tools/contention/pool_emulator.h"

namespace latchkey::contention_test {
namespace {

std::unique_ptr<AccessStream> Stream(const char* item, const AccessPatternConfig& config) {
  return AccessPatterns().Named(item).Make(config);
}

TEST_CASE("Every access pattern stays below the number of pages and repeats with its seed") {
  PageTrace trace;
  for (uint32_t i = 0; i < 100; ++i) trace.pages.push_back(i * 7 % 50);
  trace.unique_pages = 50;
  for (const AccessPatternInfo& info : AccessPatterns()) {
    CAPTURE(std::string(info.description.name));
    const AccessPatternConfig config{
        .pages = 50, .thread = 1, .threads = 3, .seed = 9, .trace = &trace};
    const std::string item(info.description.name);
    const auto one = Stream(item.c_str(), config), other = Stream(item.c_str(), config);
    std::set<uint64_t> pages;
    for (int i = 0; i < 5000; ++i) {
      const uint64_t page = one->Next();
      REQUIRE(page < 50);
      REQUIRE(other->Next() == page);
      pages.insert(page);
    }
    CHECK(pages.size() > (item == "tpc-w" ? 10 : 40));  // that one reads few pages most of the time
  }
}

TEST_CASE("A thread walks over all pages from a place of its own") {
  const auto stream = Stream("sequential", {.pages = 9, .thread = 2, .threads = 3});
  for (const uint64_t page : {6, 7, 8, 0, 1}) CHECK(stream->Next() == page);
}

TEST_CASE("Scans make the share of the accesses that was asked for") {
  const auto stream = Stream("scans:share=0.3:length=20", {.pages = 1'000'000, .seed = 4});
  uint64_t last = 0, neighbours = 0;
  constexpr int kAccesses = 200'000;
  for (int i = 0; i < kAccesses; ++i) {
    const uint64_t page = stream->Next();
    neighbours += page == last + 1 ? 1 : 0;
    last = page;
  }
  // All pages of a scan but its first.
  CHECK(static_cast<double>(neighbours) / kAccesses == Approx(0.3 * 19 / 20).margin(0.02));
}

PoolEmulatorResult Emulate(const char* replacement, const char* synchronization,
                           const char* accesses, uint64_t pages, uint32_t frames) {
  SimulatedRuntime runtime({.seed = 1});
  PoolEmulatorConfig config{
      .replacement = ReplacementAlgorithms().Named(replacement),
      .synchronization = SynchronizationSchemes().Named(synchronization),
      .accesses = AccessPatterns().Named(accesses),
      .pages = pages,
      .frames = frames,
      .latches = true,
      .work = 100,
      .times = {.threads = 3, .warmup = kNanosPerMilli, .duration = 4 * kNanosPerMilli}};
  PoolEmulatorResult result;
  REQUIRE(runtime
              .Run([&] {
                auto run = RunPoolEmulator(runtime, config);
                REQUIRE(run.ok());
                result = *run;
              })
              .ok());
  CHECK(result.interval.seconds >= 0.004);
  CHECK(result.hits + result.misses > 100);
  return result;
}

TEST_CASE("The emulator counts the lock requests of each scheme") {
  const PoolEmulatorResult global = Emulate("lru", "global", "zipf", 200, 200);
  CHECK(global.locks >= global.hits);
  const PoolEmulatorResult wrapped = Emulate("lru", "bp-wrapper:free_lists=1", "zipf", 200, 200);
  CHECK(wrapped.locks < wrapped.hits / 16);
  const PoolEmulatorResult lock_free = Emulate("gclock", "nb-gclock", "zipf", 400, 100);
  CHECK(lock_free.misses > 0);
  CHECK(lock_free.locks == 0);
}

TEST_CASE("A walk over more pages than frames misses every time under LRU") {
  const PoolEmulatorResult walk = Emulate("lru", "global", "sequential", 10'000, 32);
  CHECK(walk.hits == 0);
}

TEST_CASE("A pool that is too small for its threads is refused with the minimum") {
  const PoolEmulatorConfig config{.replacement = ReplacementAlgorithms().Named("lru"),
                                  .synchronization = SynchronizationSchemes().Named("global"),
                                  .accesses = AccessPatterns().Named("zipf"),
                                  .frames = 30,
                                  .times = {.threads = 20}};
  const absl::Status refused = CheckPoolEmulator(config);
  REQUIRE(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("40 frames or more"));
}

TEST_CASE("A batch of accesses under one lock shares the lock's request") {
  for (const LockKind lock : {LockKind::kSleep, LockKind::kSpin, LockKind::kTtas}) {
    SimulatedRuntime runtime({.seed = 2});
    LockBenchmarkResult result;
    REQUIRE(runtime
                .Run([&] {
                  result = RunLockBenchmark(
                      runtime, {.lock = lock,
                                .batch = 8,
                                .hold = 200,
                                .work = 500,
                                .times = {.threads = 2, .duration = 5 * kNanosPerMilli}});
                })
                .ok());
    CHECK(result.requests > 100);
    CHECK(result.accesses == 8 * result.requests);
    CHECK(result.held_ns >= 8 * 200);
    CHECK(result.contentions <= result.requests);
  }
}

}  // namespace
}  // namespace latchkey::contention_test
