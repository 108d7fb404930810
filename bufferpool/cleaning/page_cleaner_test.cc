#include "bufferpool/cleaning/page_cleaner.h"

#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "bufferpool/cleaning/testing/slow_page_store.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/base/check.h"
#include "storage/base/rng.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::page_cleaner_test {
namespace {

constexpr uint32_t kPageSize = 4096;
constexpr Nanos kService = 9 * kNanosPerMilli;

// A pool over simulated disks. The constructor and all calls run inside the runtime. Calls of
// several actors make no assertions of Catch, which does not know the actors apart.
struct SlowPool {
  SlowPool(Runtime& runtime, uint32_t frames, uint32_t disks = 1, size_t batch_pages = 0,
           bool gathers = false)
      : store(runtime, kPageSize, disks, kService, batch_pages, gathers) {
    auto policy = MakeFixPolicy(runtime, ReplacementAlgorithms().Named("lru"),
                                SynchronizationSchemes().Named("global"), frames, frames, 42);
    REQUIRE(policy.ok());
    auto made = BufferPool::Create(runtime, store, *std::move(policy), frames, frames);
    REQUIRE(made.ok());
    pool = *std::move(made);
  }

  PageId NewPage() {
    ExclusiveGuard guard;
    LATCHKEY_CHECK(pool->NewPage(pool->Here(), &guard).ok());
    guard.Mutable();
    return guard.page();
  }
  std::vector<PageId> NewPages(size_t count) {
    std::vector<PageId> pages;
    for (size_t i = 0; i < count; ++i) pages.push_back(NewPage());
    return pages;
  }
  void Fix(PageId page, bool modify) {
    ExclusiveGuard guard;
    LATCHKEY_CHECK(pool->FixExclusive(pool->Here(), page, &guard).ok());
    if (modify) guard.Mutable();
  }
  std::unique_ptr<PageCleaners> Start(std::unique_ptr<CleaningController> controller,
                                      uint32_t count,
                                      CleaningScope scope = CleaningScope::kColdest) {
    auto cleaners = PageCleaners::Start(*pool, std::move(controller), count, scope, {});
    REQUIRE(cleaners.ok());
    return *std::move(cleaners);
  }
  std::unique_ptr<PageCleaners> Start(const std::string& controller, uint32_t count,
                                      CleaningScope scope = CleaningScope::kColdest) {
    return Start(CleaningControllers().Named(controller).Make(), count, scope);
  }

  SlowPageStore store;
  std::unique_ptr<BufferPool> pool;
};

void RunSimulated(const SimulationOptions& options,
                  const std::function<void(SimulatedRuntime&)>& body) {
  SimulatedRuntime runtime(options);
  const absl::Status ran = runtime.Run([&] { body(runtime); });
  INFO(ran.message());
  REQUIRE(ran.ok());
}

std::vector<PageId> PagesOf(const std::vector<SlowPageStore::Accepted>& writes) {
  std::vector<PageId> pages;
  for (const auto& write : writes) pages.push_back(write.page);
  return pages;
}

// A controller for tests. The test sets N. The controller notes when it is adjusted.
class SetController final : public CleaningController {
 public:
  SetController(Runtime& runtime, Nanos interval) : runtime_(runtime), interval_(interval) {}
  void OnIntervalEnd(const CleaningCounters&) override { adjusted.push_back(runtime_.Now()); }
  uint32_t outstanding_writes() const override { return n; }
  Nanos interval() const override { return interval_; }

  uint32_t n = 1;
  std::vector<Nanos> adjusted;

 private:
  Runtime& runtime_;
  const Nanos interval_;
};

TEST_CASE("A page cleaner writes the coldest dirty pages, the coldest first, and no others") {
  RunSimulated({.seed = 1}, [](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 256);
    std::vector<PageId> pages = slow.NewPages(200);
    for (size_t i = 0; i < 5; ++i) slow.Fix(pages[i], /*modify=*/false);  // now the hottest
    const auto cleaners = slow.Start("fixed:1", 1);
    runtime.SleepFor(10 * kNanosPerSecond);
    // An eighth of the frames is next in line.
    CHECK(PagesOf(slow.store.accepted) ==
          std::vector<PageId>(pages.begin() + 5, pages.begin() + 5 + 32));
  });
}

TEST_CASE("A page cleaner does not wait for pages that gather in an append log") {
  const bool gathers = GENERATE(true, false);
  RunSimulated({.seed = 1}, [&](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 256, /*disks=*/1, /*batch_pages=*/8, gathers);
    slow.NewPages(200);
    const auto cleaners = slow.Start("fixed:1", 1);
    runtime.SleepFor(10 * kNanosPerSecond);
    CHECK(slow.store.accepted.size() == 32);
    // Otherwise it waits for each page when it writes the next one.
    CHECK(slow.store.batches() == (gathers ? 32 / 8 : 32 - 1));
  });
}

TEST_CASE("Clean pages among the coldest are not written") {
  RunSimulated({.seed = 2}, [](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 256);
    const std::vector<PageId> pages = slow.NewPages(200);
    REQUIRE(slow.pool->WriteAllDirty().ok());
    slow.store.accepted.clear();
    // Two changes in the window, and then so many uses of others that the two are cold again.
    slow.Fix(pages[20], /*modify=*/true);
    slow.Fix(pages[10], /*modify=*/true);
    for (size_t i = 30; i < 200; ++i) slow.Fix(pages[i], /*modify=*/false);
    const auto cleaners = slow.Start("fixed:4", 1);
    runtime.SleepFor(10 * kNanosPerSecond);
    CHECK(PagesOf(slow.store.accepted) == std::vector<PageId>{pages[20], pages[10]});
  });
}

TEST_CASE("Each page cleaner writes the pages of a set of its own") {
  constexpr uint32_t kFrames = 2048, kWindow = 256;
  const uint32_t count = GENERATE(2u, 7u, 128u);
  CAPTURE(count);
  RunSimulated({.seed = 3}, [&](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, kFrames, 11);
    slow.NewPages(kFrames);
    const auto cleaners = slow.Start("fixed:1", count);
    runtime.SleepFor(60 * kNanosPerSecond);
    CHECK(slow.store.accepted.size() == kWindow);
    std::set<PageId> pages;
    std::map<size_t, size_t> of_writer;
    for (const auto& write : slow.store.accepted) {
      pages.insert(write.page);
      ++of_writer[write.writer];
    }
    CHECK(pages.size() == kWindow);
    CHECK(of_writer.size() == count);
    for (const auto& [writer, writes] : of_writer) {
      CHECK(writes >= kWindow / count);
      CHECK(writes <= kWindow / count + 1);
    }
  });
}

TEST_CASE("A cleaner has N pages accepted and not yet written, never more, on every layout") {
  const size_t batch_pages = GENERATE(0, 5, 64);  // 0: in place; otherwise as an appending layout
  const uint32_t n = GENERATE(1u, 3u, 16u);
  const uint32_t count = GENERATE(1u, 3u);
  const uint64_t seed = GENERATE(11, 12);
  CAPTURE(batch_pages, n, count, seed);
  RunSimulated({.seed = seed, .preempt_probability = 0.05}, [&](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 512, 4, batch_pages);
    const std::vector<PageId> pages = slow.NewPages(512);
    const auto cleaners = slow.Start("fixed:" + std::to_string(n), count);
    std::vector<std::unique_ptr<Actor>> users;
    for (uint64_t user = 0; user < 3; ++user) {
      users.push_back(runtime.Spawn("user", [&, user] {
        Rng rng(seed * 10 + user);
        for (int i = 0; i < 100; ++i) {
          slow.Fix(pages[rng.Below(pages.size())], rng.Below(2) == 0);
          if (rng.Below(4) == 0) slow.NewPage();
        }
      }));
    }
    for (auto& user : users) user->Join();
    size_t most = 0;
    for (const auto& write : slow.store.accepted) {
      if (write.writer < count) most = std::max(most, write.unwritten);
    }
    CHECK(most == n);
  });
}

TEST_CASE("N is compared at every completed write, up and down") {
  RunSimulated({.seed = 4}, [](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 4096, 8);
    slow.NewPages(4096);
    auto owned = std::make_unique<SetController>(runtime, /*interval=*/0);
    SetController& controller = *owned;
    const auto cleaners = slow.Start(std::move(owned), 1);
    const auto most_since = [&](size_t first) {
      size_t most = 0;
      for (size_t i = first; i < slow.store.accepted.size(); ++i) {
        most = std::max(most, slow.store.accepted[i].unwritten);
      }
      return most;
    };
    // Each change comes in the middle of a pass over 512 pages.
    runtime.SleepFor(10 * kService);
    CHECK(most_since(0) == 1);
    controller.n = 6;
    const size_t raised = slow.store.accepted.size();
    runtime.SleepFor(2 * kService);
    CHECK(slow.store.accepted.size() >= raised + 6);
    CHECK(most_since(raised) == 6);
    controller.n = 2;
    runtime.SleepFor(3 * kService);  // those that were outstanding are done
    const size_t lowered = slow.store.accepted.size();
    runtime.SleepFor(10 * kService);
    CHECK(slow.store.accepted.size() > lowered);
    CHECK(most_since(lowered) == 2);
    CHECK(slow.store.accepted.size() < 512);
  });
}

TEST_CASE("The controller is adjusted by the clock, in the middle of a long pass") {
  static constexpr Nanos kInterval = 50 * kNanosPerMilli;
  RunSimulated({.seed = 5}, [](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 4096);
    slow.NewPages(4096);
    auto owned = std::make_unique<SetController>(runtime, kInterval);
    SetController& controller = *owned;
    const Nanos start = runtime.Now();
    const auto cleaners = slow.Start(std::move(owned), 1);
    runtime.SleepFor(2 * kNanosPerSecond);  // of the 4.6 s that 512 writes take
    REQUIRE(controller.adjusted.size() >= 30);
    Nanos last = start;
    for (const Nanos when : controller.adjusted) {
      CHECK(when - last >= kInterval);
      CHECK(when - last < kInterval + 2 * kService);
      last = when;
    }
  });
}

TEST_CASE("Sleeping cleaners go on adjusting the controller while pages are read, and then stop") {
  RunSimulated({.seed = 6}, [](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 1024);
    const std::vector<PageId> pages = slow.NewPages(1100);
    REQUIRE(slow.pool->WriteAllDirty().ok());
    auto owned = std::make_unique<SetController>(runtime, kNanosPerSecond);
    SetController& controller = *owned;
    const auto cleaners = slow.Start(std::move(owned), 4);
    for (size_t i = 0; i < 60; ++i) {  // misses, but too few evictions to look for dirty pages
      slow.Fix(pages[i], /*modify=*/false);
      runtime.SleepFor(kNanosPerSecond / 5);
    }
    CHECK(controller.adjusted.size() >= 11);
    runtime.SleepFor(3 * kNanosPerSecond);
    const size_t adjusted = controller.adjusted.size();
    const uint64_t hand_overs = runtime.stats().hand_overs;
    const Nanos hour = 3600 * kNanosPerSecond;
    runtime.SleepFor(hour);
    CHECK(controller.adjusted.size() == adjusted);
    CHECK(runtime.stats().hand_overs - hand_overs <= 2);  // the test's own sleep
  });
}

TEST_CASE("With scope all the cleaners write every dirty page, and no clean one") {
  const uint32_t count = GENERATE(1u, 3u, 128u);
  CAPTURE(count);
  RunSimulated({.seed = 8}, [&](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 2500, 11);
    const std::vector<PageId> pages = slow.NewPages(2500);
    REQUIRE(slow.pool->WriteAllDirty().ok());
    slow.store.accepted.clear();
    std::set<PageId> changed;
    for (size_t i = 0; i < pages.size(); i += 1 + i % 3) {
      slow.Fix(pages[i], /*modify=*/true);
      changed.insert(pages[i]);
    }
    const auto cleaners = slow.Start("fixed:2", count, CleaningScope::kAll);
    runtime.SleepFor(60 * kNanosPerSecond);
    const std::vector<PageId> written = PagesOf(slow.store.accepted);
    CHECK(written.size() == changed.size());
    CHECK(std::set<PageId>(written.begin(), written.end()) == changed);
    CHECK(slow.pool->stats().dirty_frames == 0);
  });
}

// Users that fix random pages of a database four times as large as the pool, without think time.
class Users {
 public:
  Users(SimulatedRuntime& runtime, SlowPool& slow, std::vector<PageId> pages, uint32_t count)
      : slow_(slow), pages_(std::move(pages)) {
    for (uint32_t user = 0; user < count; ++user) {
      actors_.push_back(runtime.Spawn("user", [this, user] { Run(user); }));
    }
  }
  ~Users() {
    stop_ = true;
    for (auto& actor : actors_) actor->Join();
  }
  void Modify(bool modify) { modify_ = modify; }
  // For each fix, the longest wait for a frame that has ended since the fix before it.
  std::vector<Nanos>& waits() { return waits_; }

 private:
  void Run(uint32_t user) {
    Rng rng(user);
    while (!stop_) {
      slow_.Fix(pages_[rng.Below(pages_.size())], modify_);
      waits_.push_back(slow_.pool->TakeLongestFrameWait());
    }
  }

  SlowPool& slow_;
  const std::vector<PageId> pages_;
  bool modify_ = false, stop_ = false;
  std::vector<Nanos> waits_;
  std::vector<std::unique_ptr<Actor>> actors_;
};

// w_o of the next `duration`.
double Observe(SimulatedRuntime& runtime, SlowPool& slow, Nanos duration) {
  const BufferPoolStats from = slow.pool->stats();
  runtime.SleepFor(duration);
  const BufferPoolStats to = slow.pool->stats();
  const auto synchronous = static_cast<double>(to.sync_page_writes - from.sync_page_writes);
  return synchronous / (synchronous + static_cast<double>(to.misses - from.misses) +
                        static_cast<double>(to.async_page_writes - from.async_page_writes));
}

TEST_CASE("Under demand, w_o is below its double target 5 s after a step from reads to updates") {
  const uint32_t cleaner_count = GENERATE(1u, 4u);
  CAPTURE(cleaner_count);
  RunSimulated({.seed = 9}, [&](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 1024, 11);
    std::vector<PageId> pages = slow.NewPages(4096);
    REQUIRE(slow.pool->WriteAllDirty().ok());
    const auto cleaners = slow.Start("demand", cleaner_count);
    Users users(runtime, slow, std::move(pages), 8);
    runtime.SleepFor(10 * kNanosPerSecond);
    CHECK(cleaners->outstanding_writes() == 1);
    users.Modify(true);
    runtime.SleepFor(5 * kNanosPerSecond);
    for (int second = 0; second < 20; ++second) {
      CHECK(Observe(runtime, slow, kNanosPerSecond) < 0.1);
    }
    const uint32_t busy = cleaners->outstanding_writes();
    CHECK(busy > 1);
    users.Modify(false);
    runtime.SleepFor(10 * kNanosPerSecond);
    CHECK(cleaners->outstanding_writes() == 1);
  });
}

TEST_CASE(
    "Under demand, no wait for a frame at p99.9 is longer than 10 device writes in overload") {
  RunSimulated({.seed = 10}, [](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 512, 1);
    slow.pool->SetEviction({.batch = 1});
    std::vector<PageId> pages = slow.NewPages(2048);
    const auto cleaners = slow.Start("demand", 1);
    Users users(runtime, slow, std::move(pages), 4);
    users.Modify(true);  // each fix needs a read and a write: twice what it would need without
    runtime.SleepFor(60 * kNanosPerSecond);
    users.waits().clear();
    runtime.SleepFor(600 * kNanosPerSecond);
    std::vector<Nanos> waits = users.waits();
    REQUIRE(waits.size() > 10'000);
    std::ranges::sort(waits);
    CHECK(waits[waits.size() - waits.size() / 1000 - 1] <= 10 * kService);
  });
}

TEST_CASE("More page cleaners than 128 are refused") {
  RunSimulated({.seed = 7}, [](SimulatedRuntime& runtime) {
    SlowPool slow(runtime, 64);
    auto refused = PageCleaners::Start(*slow.pool, CleaningControllers().Named("fixed:1").Make(),
                                       129, CleaningScope::kColdest, {});
    REQUIRE(absl::IsInvalidArgument(refused.status()));
    CHECK(std::string(refused.status().message()).find("0 to 128") != std::string::npos);
  });
}

TEST_CASE("Controllers that change N leave many cleaners a shared number of outstanding writes") {
  const auto fixed = CleaningControllers().Named("fixed:200").Make();
  CHECK(PageCleaners::WriterDepth(*fixed, 128) == 200);
  const auto tuned = CleaningControllers().Named("self-tuning").Make();
  CHECK(PageCleaners::WriterDepth(*tuned, 1) == kMaxOutstandingWrites);
  CHECK(PageCleaners::WriterDepth(*tuned, 11) == PageCleaners::kMostTogether / 11);
  CHECK(PageCleaners::WriterDepth(*tuned, 128) == 8);
}

}  // namespace
}  // namespace latchkey::page_cleaner_test
