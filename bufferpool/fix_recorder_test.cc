// What the pool reports to a recorder of fixes.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/testing/pool_fixture.h"
#include "storage/base/rng.h"

namespace latchkey::fix_recorder_test {
namespace {

struct ListRecorder final : FixRecorder {
  void Record(uint32_t actor, const FixEvent& event) override {
    CHECK(actor == ThreadRuntime().ActorIndex());
    events.push_back(event);
  }
  /// The kinds since the last call.
  std::vector<FixKind> Kinds() {
    std::vector<FixKind> kinds;
    for (const FixEvent& event : std::exchange(events, {})) kinds.push_back(event.kind);
    return kinds;
  }
  std::vector<FixEvent> events;
};

TEST_CASE("A recorder gets each kind of fix once, and the unfixes of modified pages") {
  ListRecorder recorder;
  PoolFixture f(64);
  BufferPool& pool = *f.pool;
  pool.SetFixRecorder(&recorder);
  PoolActor& actor = pool.Here();
  const PageId page = f.NewPage(1);
  CHECK(recorder.Kinds() == std::vector{FixKind::kNew, FixKind::kModified});
  f.ReadShared(page);
  OptimisticGuard seen;
  REQUIRE(pool.FixOptimistic(actor, page, &seen).ok());
  REQUIRE(pool.TryRefix(actor, seen));
  CHECK(recorder.Kinds() == std::vector(3, FixKind::kShared));
  ExclusiveGuard exclusive;
  REQUIRE(pool.TryRefix(actor, seen, &exclusive));
  CHECK(recorder.Kinds() == std::vector{FixKind::kExclusive});
  exclusive.Unfix();
  CHECK(recorder.Kinds().empty());
  REQUIRE(pool.TryUpgrade(seen, &exclusive));
  exclusive.Mutable();
  exclusive.Unfix();
  CHECK(recorder.Kinds() == std::vector{FixKind::kUpgrade, FixKind::kModified});
  f.Add(page, 1);
  CHECK(recorder.Kinds() == std::vector{FixKind::kExclusive, FixKind::kModified});
  pool.SetFixRecorder(nullptr);
  f.ReadShared(page);
  CHECK(recorder.Kinds().empty());
}

TEST_CASE("The fixes and misses that a recorder gets are those that the pool counts") {
  ListRecorder recorder;
  PoolFixture f(16);
  f.pool->SetFixRecorder(&recorder);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 64; ++i) pages.push_back(f.NewPage(i));
  Rng rng(7);
  for (int i = 0; i < 5000; ++i) {
    const PageId page = pages[rng.Below(pages.size())];
    if (i % 11 == 0) f.pool->Prefetch(f.pool->Here(), std::span(&page, 1));
    if (i % 3 == 0) {
      f.Add(page, 1);
    } else {
      f.ReadShared(page);
    }
  }
  uint64_t fixes = 0, misses = 0, fresh = 0;
  for (const FixEvent& event : recorder.events) {
    fixes += IsFix(event.kind) ? 1 : 0;
    misses += event.missed ? 1 : 0;
    fresh += event.kind == FixKind::kNew ? 1 : 0;
  }
  const BufferPoolStats stats = f.pool->stats();
  CHECK(fixes == stats.fixes);
  CHECK(misses == stats.misses);
  CHECK(fresh == stats.new_pages);
  CHECK(stats.ahead_reads > 0);
  f.pool->SetFixRecorder(nullptr);
}

TEST_CASE("A recorder may be set and taken away while actors fix pages, and others begin") {
  struct CountingRecorder final : FixRecorder {
    void Record(uint32_t, const FixEvent&) override { ++count; }
    std::atomic<uint64_t> count{0};
  };
  CountingRecorder recorder;  // outlives the pool
  PoolFixture f(64);
  const PageId page = f.NewPage(0);
  constexpr int kActors = 3, kFixes = 2000;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::unique_ptr<Actor>> actors;
    for (int a = 0; a < kActors; ++a) {
      actors.push_back(ThreadRuntime().Spawn("fixing", [&] {
        for (int i = 0; i < kFixes; ++i) f.Add(page, 1);
      }));
    }
    f.pool->SetFixRecorder(&recorder);
    f.Add(page, 1);
    if (round % 2 == 0) f.pool->SetFixRecorder(nullptr);
  }
  f.pool->SetFixRecorder(nullptr);
  const uint64_t recorded = recorder.count;
  CHECK(recorded >= 4 * 2);  // a fix and an unfix of this actor in each round
  f.Add(page, 1);
  CHECK(recorder.count == recorded);
  CHECK(f.ReadShared(page) == 4 * (kActors * kFixes + 1) + 1);
}

}  // namespace
}  // namespace latchkey::fix_recorder_test
