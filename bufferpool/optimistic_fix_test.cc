// Optimistic fixes under seeded schedules: bytes that validate were in the page.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/base/rng.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/testing/map_page_store.h"

namespace latchkey::optimistic_fix_test {
namespace {

constexpr uint32_t kPageSize = 4096, kFrames = 16;
constexpr uint64_t kPages = 24;
constexpr size_t kPageAt = 64, kCountAt = 72, kTwiceAt = 80;  // offsets of the numbers in a page

struct Simulation {
  explicit Simulation(uint64_t seed, PageIn page_in = PageIn::kBlocking,
                      const char* synchronization = "global")
      : runtime({.seed = seed, .quantum = 0, .preempt_probability = 0.3}),
        store(runtime, kPageSize) {
    auto policy =
        MakeFixPolicy(runtime, ReplacementAlgorithms().Named("random"),
                      SynchronizationSchemes().Named(synchronization), kFrames, kFrames, seed);
    REQUIRE(policy.ok());
    auto made = BufferPool::Create(runtime, store, *std::move(policy), kFrames, kFrames);
    REQUIRE(made.ok());
    pool = *std::move(made);
    pool->SetPageIn(page_in);
  }

  void MakePages() {
    for (uint64_t i = 0; i < kPages; ++i) {
      ExclusiveGuard guard;
      if (!pool->NewPage(pool->Here(), &guard).ok()) std::abort();
      RacyStore<uint64_t>(guard.Mutable() + kPageAt, 1000 + Raw(guard.page()));
      pages.push_back(guard.page());
    }
  }
  void Change(PageId page) {
    ExclusiveGuard guard;
    if (count_of_changes++ % 2 == 0) {
      if (!pool->FixExclusive(pool->Here(), page, &guard).ok()) std::abort();
    } else {
      OptimisticGuard seen;
      do {
        if (!pool->FixOptimistic(pool->Here(), page, &seen).ok()) std::abort();
      } while (!pool->TryUpgrade(seen, &guard));
    }
    std::byte* bytes = guard.Mutable();
    const auto count = RacyLoad<uint64_t>(bytes + kCountAt) + 1;
    RacyStore<uint64_t>(bytes + kCountAt, count);
    runtime.SchedulePoint();
    RacyStore<uint64_t>(bytes + kTwiceAt, 2 * count);
  }
  /// Whether the bytes read by an optimistic fix were the page at some moment, or did not validate.
  bool LookAt(PageId page) {
    OptimisticGuard guard;
    if (!pool->FixOptimistic(pool->Here(), page, &guard).ok()) std::abort();
    const auto id = guard.Load<uint64_t>(kPageAt);
    const auto count = guard.Load<uint64_t>(kCountAt);
    runtime.SchedulePoint();
    const auto twice = guard.Load<uint64_t>(kTwiceAt);
    return !guard.Validate() || (id == 1000 + Raw(page) && twice == 2 * count);
  }

  SimulatedRuntime runtime;
  MapPageStore store;
  std::unique_ptr<BufferPool> pool;
  std::vector<PageId> pages;
  uint64_t count_of_changes = 0;
};

TEST_CASE(
    "What an optimistic fix shows and validates was in the page, also when it was just loaded") {
  // Regression: the page was latched between its load and the reader's read. After the latch was
  // released, the reader took it for a page of zeros.
  const PageIn page_in = GENERATE(PageIn::kBlocking, PageIn::kOptimistic);
  const char* synchronization = GENERATE("global", "separate:actors=2");
  uint64_t failed_page_ins = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Simulation s(seed, page_in, synchronization);
    bool wrong = false;
    const absl::Status ran = s.runtime.Run([&] {
      s.MakePages();
      std::vector<std::unique_ptr<Actor>> actors;
      for (uint64_t a = 0; a < 4; ++a) {
        actors.push_back(s.runtime.Spawn("actor", [&, a] {
          Rng rng(seed * 16 + a);
          for (int i = 0; i < 300; ++i) {
            const PageId page = s.pages[rng.Below(kPages)];
            if (a % 2 == 0) s.Change(page);
            if (a % 2 == 1 && !s.LookAt(page)) wrong = true;
          }
        }));
      }
      actors.clear();
    });
    if (!ran.ok()) FAIL(ran.message());
    REQUIRE_FALSE(wrong);
    failed_page_ins += s.pool->stats().failed_page_ins;
  }
  const bool has_races = page_in == PageIn::kOptimistic || synchronization[0] == 's';
  CHECK((failed_page_ins > 0) == has_races);
}

TEST_CASE("A page that is freed while a stale reader pages it in does not come back") {
  const char* synchronization = GENERATE("global", "separate:actors=2");
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Simulation s(seed, PageIn::kOptimistic, synchronization);
    const absl::Status ran = s.runtime.Run([&] {
      s.MakePages();
      std::vector<std::unique_ptr<Actor>> actors;
      actors.push_back(s.runtime.Spawn("owner", [&] {
        Rng rng(seed);
        for (int i = 0; i < 200; ++i) {
          const size_t at = rng.Below(kPages);
          if (!s.pool->FreePageById(s.pool->Here(), s.pages[at]).ok()) std::abort();
          ExclusiveGuard guard;  // NewPage checks that no frame holds the page
          if (!s.pool->NewPage(s.pool->Here(), &guard).ok()) std::abort();
          s.pages[at] = guard.page();
        }
      }));
      for (uint64_t a = 0; a < 3; ++a) {
        actors.push_back(s.runtime.Spawn("reader", [&, a] {
          Rng rng(seed * 16 + a);
          for (int i = 0; i < 300; ++i) {
            OptimisticGuard guard;
            s.pool->FixOptimistic(s.pool->Here(), PageId{rng.Below(kPages)}, &guard).IgnoreError();
          }
        }));
      }
      actors.clear();
    });
    if (!ran.ok()) FAIL(ran.message());
  }
}

}  // namespace
}  // namespace latchkey::optimistic_fix_test
