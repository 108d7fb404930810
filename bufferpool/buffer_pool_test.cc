#include "bufferpool/buffer_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bufferpool/cleaning/page_cleaner.h"
#include "bufferpool/testing/pool_fixture.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::buffer_pool_test {
namespace {

TEST_CASE("Pages keep their content when far more of them than frames are fixed in turn") {
  PoolFixture f(32);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 500; ++i) pages.push_back(f.NewPage(i));
  for (uint64_t i = 0; i < 500; ++i) CHECK(f.ReadShared(pages[i]) == i);
  for (uint64_t i = 0; i < 500; ++i) f.Add(pages[i], 1000);
  for (uint64_t i = 0; i < 500; ++i) CHECK(f.ReadShared(pages[i]) == 1000 + i);
}

TEST_CASE("Every fix of a page that is not new is one hit or one miss") {
  PoolFixture f(32);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 100; ++i) pages.push_back(f.NewPage(i));
  const BufferPoolStats before = f.pool->stats();
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) f.ReadShared(pages[rng.Below(pages.size())]);
  const BufferPoolStats after = f.pool->stats();
  CHECK(after.hits + after.misses - before.hits - before.misses == 1000);
  CHECK(after.fixes == before.fixes + 1000);
  CHECK(after.misses > before.misses);
}

TEST_CASE("An optimistic guard validates until its page is modified, and not after") {
  PoolFixture f(32);
  const PageId page = f.NewPage(7);
  OptimisticGuard guard;
  REQUIRE(f.pool->FixOptimistic(f.pool->Here(), page, &guard).ok());
  CHECK(guard.Load<uint64_t>(PoolFixture::kValueAt) == 7);
  CHECK(guard.Validate());
  f.ReadShared(page);
  CHECK(guard.Validate());
  {
    ExclusiveGuard exclusive;
    REQUIRE(f.pool->FixExclusive(f.pool->Here(), page, &exclusive).ok());
    CHECK_FALSE(guard.Validate());
  }
  CHECK(guard.Validate());  // latched exclusively, but not modified
  f.Add(page, 1);
  CHECK_FALSE(guard.Validate());
}

TEST_CASE("An optimistic guard does not survive the eviction of its page, also not its return") {
  PoolFixture f(32);
  const PageId page = f.NewPage(7);
  OptimisticGuard guard;
  REQUIRE(f.pool->FixOptimistic(f.pool->Here(), page, &guard).ok());
  for (uint64_t i = 0; i < 200; ++i) f.NewPage(i);
  CHECK_FALSE(f.pool->IsResident(page));
  CHECK(f.ReadShared(page) == 7);
  CHECK_FALSE(guard.Validate());
}

TEST_CASE("Upgrading an optimistic guard fails when the page has changed meanwhile") {
  PoolFixture f(32);
  const PageId page = f.NewPage(7);
  OptimisticGuard guard;
  REQUIRE(f.pool->FixOptimistic(f.pool->Here(), page, &guard).ok());
  f.Add(page, 1);
  ExclusiveGuard exclusive;
  SharedGuard shared;
  CHECK_FALSE(f.pool->TryUpgrade(guard, &exclusive));
  CHECK_FALSE(f.pool->TryUpgrade(guard, &shared));
  REQUIRE(f.pool->FixOptimistic(f.pool->Here(), page, &guard).ok());
  CHECK(f.pool->TryUpgrade(guard, &shared));
  shared.Unfix();
  CHECK(f.pool->TryUpgrade(guard, &exclusive));
}

TEST_CASE(
    "An invalidated page stays clean and fails the optimistic guards that were taken before") {
  PoolFixture f(32);
  const PageId page = f.NewPage(7);
  REQUIRE(f.pool->WriteAllDirty().ok());
  OptimisticGuard guard;
  REQUIRE(f.pool->FixOptimistic(f.pool->Here(), page, &guard).ok());
  ExclusiveGuard exclusive;
  REQUIRE(f.pool->FixExclusive(f.pool->Here(), page, &exclusive).ok());
  exclusive.Invalidate();
  ExclusiveGuard moved = std::move(exclusive);
  moved.Unfix();
  CHECK_FALSE(guard.Validate());
  CHECK_FALSE(f.pool->TryUpgrade(guard, &exclusive));
  CHECK(f.pool->stats().dirty_frames == 0);
  CHECK(f.ReadShared(page) == 7);
}

TEST_CASE("A page is invalidated by its id, in a frame or not, behind those that have it latched") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    PoolFixture f(32, "clock", "global", 32, runtime);
    const PageId page = f.NewPage(7);
    const bool is_resident = GENERATE(true, false);
    OptimisticGuard guard;
    REQUIRE(f.pool->FixOptimistic(f.pool->Here(), page, &guard).ok());
    ExclusiveGuard latched;
    REQUIRE(f.pool->FixExclusive(f.pool->Here(), page, &latched).ok());
    bool done = false;
    const auto actor = runtime.Spawn("invalidates", [&] {
      f.pool->Invalidate(page);
      done = true;
    });
    runtime.SleepFor(kNanosPerMilli);
    CHECK_FALSE(done);
    latched.Unfix();
    actor->Join();
    CHECK(done);
    CHECK_FALSE(guard.Validate());
    if (!is_resident) {
      for (uint64_t i = 0; i < 200; ++i) f.NewPage(i);
      CHECK_FALSE(f.pool->IsResident(page));
      f.pool->Invalidate(page);
    }
    CHECK(f.ReadShared(page) == 7);
  });
  REQUIRE(ran.ok());
}

TEST_CASE("A freed page's id and frame are used again, and its old content is not") {
  PoolFixture f(32);
  const PageId page = f.NewPage(7);
  ExclusiveGuard guard;
  REQUIRE(f.pool->FixExclusive(f.pool->Here(), page, &guard).ok());
  f.pool->FreePage(f.pool->Here(), std::move(guard));
  ExclusiveGuard again;
  REQUIRE(f.pool->NewPage(f.pool->Here(), &again).ok());
  CHECK(again.page() == page);
  CHECK(RacyLoad<uint64_t>(again.data() + PoolFixture::kValueAt) == 0);
}

TEST_CASE("Fixing a page that was never written is NotFound and leaves nothing latched") {
  PoolFixture f(32);
  SharedGuard guard;
  for (int i = 0; i < 100; ++i) {
    CHECK(absl::IsNotFound(f.pool->FixShared(f.pool->Here(), PageId{12345}, &guard)));
  }
  for (uint64_t i = 0; i < 100; ++i) f.NewPage(i);  // no frame was lost
}

TEST_CASE("When every frame is latched a fix fails with ResourceExhausted, and works again later") {
  PoolFixture f(BufferPool::kMinFrames);
  std::vector<ExclusiveGuard> held(BufferPool::kMinFrames);
  const PageId other = f.NewPage(1);
  for (ExclusiveGuard& guard : held) {
    REQUIRE(f.pool->NewPage(f.pool->Here(), &guard).ok());
  }
  f.pool->Prefetch(f.pool->Here(), std::vector<PageId>{other});  // a hint does not wait for frames
  CHECK_FALSE(f.pool->IsResident(other));
  held.clear();
  CHECK(f.ReadShared(other) == 1);
}

TEST_CASE("A victim that cannot be written stays resident and dirty, and the fix names the cause") {
  PoolFixture f(BufferPool::kMinFrames);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < BufferPool::kMinFrames; ++i) pages.push_back(f.NewPage(i));
  f.store.fail_writes = true;
  ExclusiveGuard guard;
  CHECK(absl::IsUnavailable(f.pool->NewPage(f.pool->Here(), &guard)));
  for (uint64_t i = 0; i < pages.size(); ++i) CHECK(f.ReadShared(pages[i]) == i);
  f.store.fail_writes = false;
  f.NewPage(1);
  for (uint64_t i = 0; i < pages.size(); ++i) CHECK(f.ReadShared(pages[i]) == i);
}

// A fix failed although clean pages were there, because the policy's victim was dirty.
TEST_CASE("While no page can be written, clean pages make room for those that are read") {
  constexpr uint32_t kFrames = 64, kPages = 4 * kFrames, kClean = 3;
  const std::string synchronization = GENERATE("global", "regions:4");
  CAPTURE(synchronization);
  PoolFixture f(kFrames, "clock", synchronization);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < kPages; ++i) pages.push_back(f.NewPage(i));
  REQUIRE(f.pool->WriteAllDirty().ok());
  for (uint64_t i = 0; i < kFrames - kClean; ++i) f.Add(pages[i], kPages);
  f.store.fail_writes = true;
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < kPages; ++i) {
      const bool changed = i < kFrames - kClean;
      CHECK(f.ReadShared(pages[i]) == (changed ? i + kPages : i));
    }
  }
}

TEST_CASE("A page that was read ahead is one miss, at its first fix, and no hit") {
  PoolFixture f(64);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 300; ++i) pages.push_back(f.NewPage(i));
  const std::vector<PageId> wanted(pages.begin(), pages.begin() + 40);
  const BufferPoolStats before = f.pool->stats();
  CHECK(before.new_pages == 300);
  f.pool->Prefetch(f.pool->Here(), wanted);
  const BufferPoolStats ahead = f.pool->stats();
  CHECK(ahead.ahead_reads == 40);
  CHECK(ahead.fixes == before.fixes);
  CHECK(ahead.misses == before.misses);
  const auto read_twenty = [&] {
    for (uint64_t i = 0; i < 20; ++i) CHECK(f.ReadShared(wanted[i]) == i);
    return f.pool->stats();
  };
  const BufferPoolStats first = read_twenty();
  CHECK(first.misses == before.misses + 20);
  CHECK(first.hits == before.hits);
  CHECK(first.fixes == before.fixes + 20);
  const BufferPoolStats second = read_twenty();
  CHECK(second.misses == first.misses);
  CHECK(second.hits == first.hits + 20);
  CHECK(second.demand_reads == before.demand_reads);
}

TEST_CASE("CopyIfClean gives clean resident pages only") {
  PoolFixture f(32);
  const PageId page = f.NewPage(7);
  std::vector<std::byte> copy(PoolFixture::kPageSize);
  CHECK_FALSE(f.pool->CopyIfClean(page, copy.data()));
  REQUIRE(f.pool->WriteAllDirty().ok());
  CHECK(f.pool->stats().dirty_frames == 0);
  REQUIRE(f.pool->CopyIfClean(page, copy.data()));
  CHECK(RacyLoad<uint64_t>(copy.data() + PoolFixture::kValueAt) == 7);
}

TEST_CASE("Concurrent writers lose no update, under every policy, with page cleaners at work",
          "[concurrency]") {
  const std::string replacement = GENERATE("clock", "lru", "2q", "random", "gclock");
  const std::string synchronization = GENERATE("global", "regions:4", "separate:actors=2");
  CAPTURE(replacement, synchronization);
  PoolFixture f(64, replacement, synchronization);
  f.pool->SetPageIn(GENERATE(PageIn::kBlocking, PageIn::kOptimistic));
  auto cleaners = PageCleaners::Start(*f.pool, CleaningControllers().Named("self-tuning").Make(), 2,
                                      CleaningScope::kColdest, {});
  REQUIRE(cleaners.ok());
  constexpr uint64_t kPages = 200, kActors = 3, kAdds = kThreadSanitizer ? 1000 : 3000;
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < kPages; ++i) pages.push_back(f.NewPage(0));
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t seed = 0; seed < kActors; ++seed) {
    actors.push_back(ThreadRuntime().Spawn("writer", [&, seed] {
      Rng rng(seed);
      for (uint64_t i = 0; i < kAdds; ++i) {
        const PageId page = pages[rng.Below(kPages)];
        ExclusiveGuard guard;
        if (rng.Below(2) == 0) {
          if (!f.pool->FixExclusive(f.pool->Here(), page, &guard).ok()) std::abort();
        } else {
          OptimisticGuard seen;
          do {
            if (!f.pool->FixOptimistic(f.pool->Here(), page, &seen).ok()) std::abort();
          } while (!f.pool->TryUpgrade(seen, &guard));
        }
        std::byte* bytes = guard.Mutable();
        RacyStore<uint64_t>(bytes + PoolFixture::kValueAt,
                            RacyLoad<uint64_t>(bytes + PoolFixture::kValueAt) + 1);
      }
    }));
  }
  actors.clear();
  uint64_t sum = 0;
  for (const PageId page : pages) sum += f.ReadShared(page);
  CHECK(sum == kActors * kAdds);
}

// ---- With a write-ahead log

struct KeptIds final : FreedPages {
  explicit KeptIds(BufferPool& target) : pool(target) {}
  bool Defer(PageId page) override {
    ids.push_back(page);
    return true;
  }
  bool ReturnAll() override {
    const std::vector<PageId> now = std::exchange(ids, {});
    for (const PageId page : now) pool.ReturnPageId(pool.Here(), page);
    return !now.empty();
  }
  BufferPool& pool;
  std::vector<PageId> ids;
};

uint64_t StoredLsn(MapPageStore& store, PageId page) {
  std::vector<std::byte> bytes(PoolFixture::kPageSize);
  if (!store.ReadPage(page, bytes.data()).ok()) return 0;
  return RacyLoad<uint64_t>(bytes.data() + offsetof(PageHeader, lsn));
}

TEST_CASE("A page reaches the store only when the log is durable up to its LSN") {
  PoolFixture f(16);
  FakeLog log;
  f.pool->SetWriteAheadLog(&log);
  const PageId page = f.NewPage(1);
  Change(*f.pool, page, 100);
  auto writer = f.store.NewWriter(1);
  REQUIRE(writer.ok());
  for (uint32_t frame = 1; frame <= 16; ++frame) {
    const absl::StatusOr<bool> cleaned = f.pool->TryClean(FrameId{frame}, **writer);
    REQUIRE(cleaned.ok());
    CHECK_FALSE(*cleaned);
  }
  REQUIRE(f.pool->WriteAllDirty().ok());
  CHECK(Raw(log.durable()) > 100);
  CHECK(StoredLsn(f.store, page) == 100);

  Change(*f.pool, page, 200);
  log.broken = true;
  CHECK(absl::IsUnavailable(f.pool->WriteAllDirty()));
  CHECK(StoredLsn(f.store, page) == 100);
}

TEST_CASE("Eviction takes pages that may be written, and waits for the log only without any") {
  PoolFixture f(16);
  FakeLog log;
  f.pool->SetWriteAheadLog(&log);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 12; ++i) pages.push_back(f.NewPage(i));
  for (size_t i = 6; i < 12; ++i) Change(*f.pool, pages[i], 1000 + i);
  for (uint64_t i = 0; i < 6; ++i) f.NewPage(100 + i);
  CHECK(log.waits == 0);
  for (size_t i = 6; i < 12; ++i) CHECK(StoredLsn(f.store, pages[i]) == 0);
  for (uint64_t i = 0; i < 40; ++i) Change(*f.pool, f.NewPage(i), 2000 + i);
  CHECK(log.waits > 0);
  for (size_t i = 6; i < 12; ++i) CHECK(f.ReadShared(pages[i]) == i);
}

TEST_CASE("While the log is scarce one flush serves as many evictions as there are frames") {
  for (const char* replacement : {"random", "lru", "clock", "gclock", "2q"}) {
    CAPTURE(replacement);
    constexpr uint32_t kFrames = 64, kChanges = 2000;
    PoolFixture f(kFrames, replacement);
    FakeLog log;
    log.is_scarce = true;
    f.pool->SetWriteAheadLog(&log);
    std::vector<PageId> pages;
    for (uint64_t i = 0; i < kChanges; ++i) {
      pages.push_back(f.NewPage(i));
      log.end = 1000 + i;
      Change(*f.pool, pages.back(), log.end++);
    }
    CHECK(log.waits <= static_cast<int>(2 * kChanges / kFrames));
    for (uint64_t i = 0; i < kChanges; ++i) REQUIRE(f.ReadShared(pages[i]) == i);
  }
}

TEST_CASE("A checkpoint writes what changed before it, and nothing else") {
  PoolFixture f(32);
  FakeLog log;
  f.pool->SetWriteAheadLog(&log);
  const PageId old = f.NewPage(1), both = f.NewPage(2), fresh = f.NewPage(3);
  REQUIRE(f.pool->WriteAllDirty().ok());
  Change(*f.pool, old, 100);
  Change(*f.pool, both, 200);
  Change(*f.pool, both, 700);
  Change(*f.pool, fresh, 600);
  f.Add(fresh, 1);
  REQUIRE(f.pool->WriteDirtyBefore(Lsn{500}).ok());
  CHECK(StoredLsn(f.store, old) == 100);
  CHECK(StoredLsn(f.store, both) == 700);
  CHECK(StoredLsn(f.store, fresh) == 0);
  // An unlogged change needs no redo. So its page is not written, although the page LSN is below
  // 500.
  f.Add(old, 1);
  const uint64_t writes = f.store.stats().user_page_writes;
  REQUIRE(f.pool->WriteDirtyBefore(Lsn{500}).ok());
  CHECK(f.store.stats().user_page_writes == writes);
}

TEST_CASE("Ids of freed pages wait until they are returned, or until the store is full") {
  PoolFixture f(16);
  KeptIds kept(*f.pool);
  f.pool->SetFreedPages(&kept);
  const PageId first = f.NewPage(1), second = f.NewPage(2);
  {
    ExclusiveGuard guard;
    REQUIRE(f.pool->FixExclusive(f.pool->Here(), first, &guard).ok());
    f.pool->FreePage(f.pool->Here(), std::move(guard));
  }
  REQUIRE(f.pool->FreePageById(f.pool->Here(), second).ok());
  CHECK(kept.ids == std::vector<PageId>{first, second});
  CHECK(f.store.IsAllocated(first));
  CHECK_FALSE(f.pool->IsResident(first));
  f.store.full = true;
  ExclusiveGuard guard;
  CHECK(absl::IsResourceExhausted(f.pool->NewPage(f.pool->Here(), &guard)));
  CHECK(kept.ids.empty());
  CHECK_FALSE(f.store.IsAllocated(first));
}

TEST_CASE("Redo gets pages that the store does not know, zeroed") {
  PoolFixture f(16);
  FakeLog log;
  f.pool->SetWriteAheadLog(&log);
  const PageId known = f.NewPage(7);
  {
    ExclusiveGuard guard;
    REQUIRE(f.pool->FixForRedo(f.pool->Here(), PageId{900}, false, &guard).ok());
    CHECK(guard.page() == PageId{900});
    CHECK(RacyLoad<uint64_t>(guard.data() + PoolFixture::kValueAt) == 0);
    CHECK(RacyLoad<uint64_t>(guard.data() + offsetof(PageHeader, lsn)) == 0);
  }
  CHECK(f.store.IsAllocated(PageId{900}));
  ExclusiveGuard guard;
  REQUIRE(f.pool->FixForRedo(f.pool->Here(), known, false, &guard).ok());
  CHECK(RacyLoad<uint64_t>(guard.data() + PoolFixture::kValueAt) == 7);
  CHECK(absl::IsDataLoss(f.pool->FixForRedo(f.pool->Here(), PageId{kMaxPageIds}, false, &guard)));
}

}  // namespace
}  // namespace latchkey::buffer_pool_test
