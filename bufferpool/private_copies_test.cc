// Private read copies: of one actor, and in a pool whose pages change.
#include "bufferpool/private_copies.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "bufferpool/testing/pool_fixture.h"
#include "storage/base/racy_memory.h"
#include "storage/base/reserved_memory.h"
#include "storage/base/rng.h"

namespace latchkey::private_copies_test {
namespace {

constexpr uint32_t kPageSize = 4096, kMost = 64;

struct OneActor {
  explicit OneActor(const char* replacement, uint32_t limit)
      : memory(size_t{kMost} * kPageSize),
        copies(ReplacementAlgorithms().Named(replacement), kPageSize, memory.data(), limit, kMost,
               1) {}

  /// Returns whether the actor had a copy.
  bool Read(uint64_t page, uint64_t version, uint32_t limit) {
    if (const std::byte* found = copies.Find(PageId{page}, version, /*is_hit=*/true)) {
      REQUIRE(RacyLoad<uint64_t>(found) == page * 1000 + version);
      return true;
    }
    std::byte* out = copies.TakeFrame(PageId{page}, limit);
    RacyStore<uint64_t>(out, page * 1000 + version);
    copies.Keep(PageId{page}, version);
    return false;
  }

  ReservedBuffer memory;
  ActorCopies copies;
};

TEST_CASE("An actor finds its copies of the present version, as many as it has frames") {
  const std::string replacement = GENERATE(from_range(PoolReplacementNames()));
  CAPTURE(replacement);
  OneActor actor(replacement.c_str(), 16);
  for (uint64_t page = 0; page < 16; ++page) CHECK_FALSE(actor.Read(page, 1, 16));
  for (uint64_t page = 0; page < 16; ++page) CHECK(actor.Read(page, 1, 16));
  CHECK_FALSE(actor.Read(3, 2, 16));  // the page has changed
  CHECK(actor.Read(3, 2, 16));
  CHECK(actor.copies.size() == 16);
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) actor.Read(rng.Below(40), rng.Below(2), 16);
  CHECK(actor.copies.size() <= 16);
}

TEST_CASE("An actor's frames become more or fewer at its next read") {
  const std::string replacement = GENERATE(from_range(PoolReplacementNames()));
  CAPTURE(replacement);
  OneActor actor(replacement.c_str(), 16);
  Rng rng(2);
  for (const uint32_t limit : {16, 64, 9, 40, 8, 64}) {
    for (int i = 0; i < 500; ++i) actor.Read(rng.Below(100), 1, limit);
    actor.Read(1000 + limit, 1, limit);  // no copy: a frame is taken
    CHECK(actor.copies.size() <= limit);
    for (uint64_t page = 0; page < 8; ++page) actor.Read(200 + page, 1, limit);
  }
}

TEST_CASE("A copy that is not kept leaves its frame empty") {
  OneActor actor("clock", 8);
  actor.copies.TakeFrame(PageId{1}, 8);
  CHECK(actor.copies.Find(PageId{1}, 0, true) == nullptr);
  for (uint64_t page = 0; page < 8; ++page) actor.Read(page, 1, 8);
  for (uint64_t page = 0; page < 8; ++page) CHECK(actor.Read(page, 1, 8));
}

// ---- In a pool

struct SeparatePool : PoolFixture {
  explicit SeparatePool(uint32_t frames = 32)
      : PoolFixture(frames, "gclock", "separate:actors=2:private=1") {
    for (uint64_t i = 0; i < 100; ++i) pages.push_back(NewPage(i));
  }
  /// Reads as an actor with private copies does. Returns whether the guard saw one.
  bool Read(PageId page, uint64_t expected, OptimisticGuard* guard) {
    REQUIRE(pool->FixOptimistic(pool->Here(), page, guard).ok());
    CHECK(guard->Load<uint64_t>(kValueAt) == expected);
    CHECK(guard->Validate());
    return !guard->state().resident();
  }
  /// A page that is in no shared frame.
  PageId NotResident() {
    for (const PageId page : pages) {
      if (!pool->IsResident(page)) return page;
    }
    FAIL("all pages are resident");
    return kInvalidPageId;
  }

  std::vector<PageId> pages;
};

TEST_CASE("A read of a page in no shared frame makes a private copy, and the next one is a hit") {
  SeparatePool f;
  const PageId page = f.NotResident();
  const PageState before = [&] {
    OptimisticGuard guard;
    REQUIRE(f.Read(page, Raw(page), &guard));
    return guard.state();
  }();
  const BufferPoolStats first = f.pool->stats();
  OptimisticGuard guard;
  REQUIRE(f.Read(page, Raw(page), &guard));
  CHECK(guard.state() == before);  // readers write nothing to the page's word
  CHECK_FALSE(f.pool->IsResident(page));
  const BufferPoolStats second = f.pool->stats();
  CHECK(second.hits == first.hits + 1);
  CHECK(second.misses == first.misses);
  CHECK(second.demand_reads == first.demand_reads);
}

TEST_CASE("A private copy ends with a change of its page in the shared frame") {
  SeparatePool f;
  const PageId page = f.NotResident();
  OptimisticGuard guard;
  REQUIRE(f.Read(page, Raw(page), &guard));
  f.Add(page, 5000);
  CHECK_FALSE(guard.Validate());
  OptimisticGuard changed;
  CHECK_FALSE(f.Read(page, Raw(page) + 5000, &changed));   // from the shared frame
  for (const PageId other : f.pages) f.ReadShared(other);  // evicts the page
  for (const PageId other : f.pages) {
    f.Read(other, Raw(other) + (other == page ? 5000 : 0), &changed);
  }
}

TEST_CASE("An upgrade brings a private copy into a shared frame without a read") {
  SeparatePool f;
  const PageId page = f.NotResident();
  OptimisticGuard guard;
  REQUIRE(f.Read(page, Raw(page), &guard));
  const uint64_t reads = f.store.stats().page_reads;
  {
    ExclusiveGuard exclusive;
    REQUIRE(f.pool->TryUpgrade(guard, &exclusive));
    CHECK(RacyLoad<uint64_t>(exclusive.data() + PoolFixture::kValueAt) == Raw(page));
    CHECK(f.pool->IsResident(page));
    RacyStore<uint64_t>(exclusive.Mutable() + PoolFixture::kValueAt, uint64_t{77});
  }
  CHECK(f.store.stats().page_reads == reads);
  CHECK_FALSE(guard.Validate());
  CHECK(f.ReadShared(page) == 77);
  ExclusiveGuard late;
  CHECK_FALSE(f.pool->TryUpgrade(guard, &late));
  const PageId other = f.NotResident();
  REQUIRE(f.Read(other, Raw(other), &guard));
  SharedGuard shared;
  REQUIRE(f.pool->TryUpgrade(guard, &shared));
  CHECK(RacyLoad<uint64_t>(shared.data() + PoolFixture::kValueAt) == Raw(other));
}

TEST_CASE("A guard of a private copy is not fixed again, because its frame may have been reused") {
  SeparatePool f;
  const PageId page = f.NotResident();
  OptimisticGuard guard;
  REQUIRE(f.Read(page, Raw(page), &guard));
  CHECK(guard.Validate());
  CHECK_FALSE(f.pool->TryRefix(f.pool->Here(), guard));
}

TEST_CASE("An upgrade without its copy fails, and the page's next fix is in a shared frame") {
  SeparatePool f;
  const PageId page = f.NotResident();
  OptimisticGuard guard, other;
  REQUIRE(f.Read(page, Raw(page), &guard));
  for (int i = 0; i < 3; ++i) {
    for (const PageId more : f.pages) {
      if (more != page) f.Read(more, Raw(more), &other);
    }
  }
  ExclusiveGuard exclusive;
  CHECK_FALSE(f.pool->TryUpgrade(guard, &exclusive));
  REQUIRE_FALSE(f.Read(page, Raw(page), &other));
  CHECK(f.pool->TryUpgrade(other, &exclusive));
}

TEST_CASE("The fix after an upgrade that found no frame says why") {
  SeparatePool f;
  const PageId page = f.NotResident();
  for (const PageId other : f.pages) f.Add(other, 0);  // all frames are dirty
  OptimisticGuard guard;
  const PageId wanted = f.NotResident();
  REQUIRE(f.Read(wanted, Raw(wanted), &guard));
  f.store.fail_writes = true;
  ExclusiveGuard exclusive;
  CHECK_FALSE(f.pool->TryUpgrade(guard, &exclusive));
  CHECK(absl::IsUnavailable(f.pool->FixOptimistic(f.pool->Here(), wanted, &guard)));
  f.store.fail_writes = false;
  CHECK(f.Read(wanted, Raw(wanted), &guard));
  CHECK(f.pool->TryUpgrade(guard, &exclusive));
  (void)page;
}

TEST_CASE("A page that fails its proof is reported to a reader with private copies") {
  SeparatePool f;
  const PageId page = f.NotResident();
  f.store.Damage(page);
  OptimisticGuard guard;
  CHECK(absl::IsDataLoss(f.pool->FixOptimistic(f.pool->Here(), page, &guard)));
  CHECK(absl::IsDataLoss(f.pool->FixOptimistic(f.pool->Here(), page, &guard)));
}

TEST_CASE("Actors beyond those with private frames read in the shared frames") {
  SeparatePool f;
  std::atomic<int> with_copies{0};
  std::atomic<bool> wrong{false};
  std::vector<std::unique_ptr<Actor>> actors;
  std::atomic<int> ready{0}, done{0};
  for (int a = 0; a < 4; ++a) {
    actors.push_back(ThreadRuntime().Spawn("reader", [&, a] {
      bool saw_copy = false;
      ready.fetch_add(1);
      for (Backoff backoff(ThreadRuntime()); ready.load() < 4;) backoff.Pause();
      // The first two come first. Once the others had brought all pages into shared frames, one of the
      // first two had nothing left to copy.
      for (Backoff backoff(ThreadRuntime()); a >= 2 && done.load() < 2;) backoff.Pause();
      for (int round = 0; round < 3; ++round) {
        for (const PageId page : f.pages) {
          OptimisticGuard guard;
          uint64_t value = 0;
          do {
            if (!f.pool->FixOptimistic(f.pool->Here(), page, &guard).ok()) std::abort();
            value = guard.Load<uint64_t>(PoolFixture::kValueAt);
          } while (!guard.Validate());
          if (value != Raw(page)) wrong = true;
          saw_copy = saw_copy || !guard.state().resident();
        }
      }
      with_copies.fetch_add(saw_copy ? 1 : 0);
      done.fetch_add(1);
      ready.fetch_add(1);  // all stay until all have read, so that no index is used twice
      for (Backoff backoff(ThreadRuntime()); ready.load() < 8;) backoff.Pause();
    }));
  }
  actors.clear();
  CHECK_FALSE(wrong);
  CHECK(with_copies == 2);
}

TEST_CASE("Pages keep their content while a pool with private copies is resized") {
  PoolFixture f(64, "lru", "separate:actors=2:private=1", 256);
  std::vector<PageId> pages;
  for (uint64_t i = 0; i < 300; ++i) pages.push_back(f.NewPage(i));
  Rng rng(3);
  for (const uint32_t frames : {256, 16, 100, 64}) {
    REQUIRE(f.pool->Resize(frames).ok());
    for (int i = 0; i < 1000; ++i) {
      const PageId page = pages[rng.Below(pages.size())];
      OptimisticGuard guard;
      REQUIRE(f.pool->FixOptimistic(f.pool->Here(), page, &guard).ok());
      REQUIRE(guard.Load<uint64_t>(PoolFixture::kValueAt) == Raw(page));
      REQUIRE(guard.Validate());
    }
  }
}

TEST_CASE("Private frames are part of the pool's memory, and of the minimum that is asked for") {
  const auto bytes = [](const char* scheme) {
    PoolFixture f(64, "gclock", scheme);
    return f.pool->memory_bytes();
  };
  CHECK(bytes("separate:actors=2:private=1") >= bytes("global") + 64 * kPageSize);
  const auto refused =
      MakeFixPolicy(ThreadRuntime(), ReplacementAlgorithms().Named("gclock"),
                    SynchronizationSchemes().Named("separate:actors=10:private=0.5"), 100, 100, 1);
  REQUIRE(absl::IsInvalidArgument(refused.status()));
  CHECK_THAT(std::string(refused.status().message()), Catch::Contains("at least 160"));
  CHECK(MakeFixPolicy(ThreadRuntime(), ReplacementAlgorithms().Named("gclock"),
                      SynchronizationSchemes().Named("separate:actors=10:private=0.5"), 160, 160, 1)
            .ok());
  CHECK_FALSE(CheckFixMode(SynchronizationSchemes().Named("separate"), FixMode::kLatched).ok());
}

}  // namespace
}  // namespace latchkey::private_copies_test
