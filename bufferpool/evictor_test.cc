// Claims, evictions and removals of single frames.
#include "bufferpool/evictor.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "bufferpool/testing/pool_fixture.h"
#include "bufferpool/testing/pool_parts.h"
#include "storage/base/check.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::evictor_test {
namespace {

constexpr uint32_t kFrames = 16;

TEST_CASE("A page is claimed if no actor has latched it, and only once") {
  PoolParts parts(kFrames);
  const FrameId frame = parts.NewPage();
  PageWord& word = parts.WordOf(frame);
  const PageState before = word.Read();
  CHECK_FALSE(parts.evictor.TryClaimFrame(FrameId{kFrames}));  // empty
  REQUIRE(word.TryLatchShared(before));
  CHECK_FALSE(parts.evictor.TryClaimFrame(frame));
  word.ReleaseShared();
  CHECK(parts.evictor.TryClaimFrame(frame));
  CHECK_FALSE(parts.evictor.TryClaimFrame(frame));
  parts.evictor.GiveUpClaim(frame);
  CHECK(word.Read() == before);
}

TEST_CASE("A removed page is latched until it has left, and its changes are forgotten") {
  PoolParts parts(kFrames);
  const FrameId frame = parts.NewPage();
  PageWord& word = parts.WordOf(frame);
  const uint64_t version = word.Read().version();
  parts.frames.MarkDirty(frame);
  REQUIRE(parts.evictor.TryClaimFrame(frame));
  bool latched = false;
  parts.evictor.Remove(frame, 0, [&] { latched = word.Read().exclusive(); });
  CHECK(latched);
  CHECK(parts.frames.IsEmpty(frame));
  CHECK(parts.frames.dirty_count() == 0);
  CHECK((word.Read().free() && !word.Read().resident()));
  CHECK(word.Read().version() == version + 1);
}

TEST_CASE("Frames are handed out while there are free ones, then those of clean victims") {
  PoolParts parts(kFrames);
  std::set<FrameId> used;
  for (uint32_t i = 0; i < kFrames; ++i) used.insert(parts.NewPage());
  CHECK(used.size() == kFrames);
  const absl::StatusOr<FrameId> frame =
      parts.evictor.ObtainFrame(parts.actors.Here(), PageId{100}, true);
  REQUIRE(frame.ok());
  CHECK(parts.frames.IsEmpty(*frame));
  CHECK(used.contains(*frame));
  CHECK(parts.store.stats().user_page_writes == 0);
}

TEST_CASE(
    "With clean victims first, an eviction passes over dirty pages, and takes one if all are") {
  PoolParts parts(kFrames);
  std::vector<FrameId> frames;
  for (uint32_t i = 0; i < kFrames; ++i) frames.push_back(parts.NewPage());
  const bool all_dirty = GENERATE(false, true);
  const FrameId clean = frames[5];
  for (const FrameId frame : frames) {
    if (all_dirty || frame != clean) parts.frames.MarkDirty(frame);
  }
  parts.evictor.SetOptions({.clean_first = true});
  const absl::StatusOr<FrameId> taken =
      parts.evictor.ObtainFrame(parts.actors.Here(), PageId{100}, true);
  REQUIRE(taken.ok());
  CHECK(parts.frames.IsEmpty(*taken));
  if (!all_dirty) CHECK(*taken == clean);
  CHECK(parts.store.stats().user_page_writes == (all_dirty ? 1 : 0));
}

TEST_CASE("An eviction takes as many victims as the options say") {
  constexpr uint32_t kMany = 256;
  for (const uint32_t batch : {1u, 5u, 32u}) {
    PoolParts parts(kMany);
    for (uint32_t i = 0; i < kMany; ++i) parts.NewPage();
    parts.evictor.SetOptions({.batch = batch});
    REQUIRE(parts.evictor.ObtainFrame(parts.actors.Here(), PageId{1000}, true).ok());
    CHECK(parts.policy->free_frames() == batch - 1);
  }
}

TEST_CASE("The longest wait for a frame is that since the last question, and 0 without evictions") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    PoolParts parts(kFrames, runtime);
    for (uint32_t i = 0; i < kFrames; ++i) parts.NewPage();
    CHECK(parts.evictor.TakeLongestWait() == 0);
    // No frame can be had until another actor releases a latch.
    const FrameId frame{1};
    for (uint32_t f = 1; f <= kFrames; ++f) LATCHKEY_CHECK(parts.evictor.TryClaimFrame(FrameId{f}));
    const auto other = runtime.Spawn("other", [&] {
      runtime.SleepFor(kNanosPerMilli);
      parts.evictor.GiveUpClaim(frame);
    });
    LATCHKEY_CHECK(parts.evictor.ObtainFrame(parts.actors.Here(), PageId{100}, true).ok());
    other->Join();
    const Nanos wait = parts.evictor.TakeLongestWait();
    CHECK(wait >= kNanosPerMilli);
    CHECK(wait < 2 * kNanosPerMilli);
    CHECK(parts.evictor.TakeLongestWait() == 0);
    for (uint32_t f = 2; f <= kFrames; ++f) parts.evictor.GiveUpClaim(FrameId{f});
  });
  INFO(ran.message());
  CHECK(ran.ok());
}

TEST_CASE("The scheme chooses how many victims an eviction takes") {
  const auto free_after_eviction = [](const char* synchronization) {
    PoolFixture f(2048, "lru", synchronization);
    uint64_t page = 0;
    while (f.pool->stats().free_frames > 0) f.NewPage(page++);
    REQUIRE(f.pool->WriteAllDirty().ok());
    f.NewPage(page);
    return f.pool->stats().free_frames;
  };
  CHECK(free_after_eviction("global") == 3);
  CHECK(free_after_eviction("bp-wrapper:free_lists=1:refill=64") == 63);
  CHECK(free_after_eviction("bp-wrapper:free_lists=1:refill=1") == 0);
}

TEST_CASE("An impatient actor gets no frame while all pages are latched") {
  PoolParts parts(kFrames);
  for (uint32_t i = 0; i < kFrames; ++i) {
    const FrameId frame = parts.NewPage();
    PageWord& word = parts.WordOf(frame);
    REQUIRE(word.TryLatchShared(word.Read()));
  }
  const auto obtain = [&] {
    return parts.evictor.ObtainFrame(parts.actors.Here(), PageId{100}, /*patient=*/false);
  };
  CHECK(absl::IsResourceExhausted(obtain().status()));
  parts.WordOf(FrameId{5}).ReleaseShared();
  CHECK(*obtain() == FrameId{5});
}

/// Adds up what evictions report.
struct CountingSignal final : CleanerSignal {
  void OnEviction(size_t evicted_now, size_t dirty_now) override {
    evicted += evicted_now;
    dirty += dirty_now;
  }
  size_t evicted = 0, dirty = 0;
};

TEST_CASE("The page cleaners learn of each eviction, and of each victim that was dirty") {
  PoolParts parts(kFrames);
  for (uint32_t i = 0; i < kFrames; ++i) parts.NewPage();
  CountingSignal signal;
  parts.evictor.SetSignal(&signal);
  const auto evict = [&] {
    return parts.evictor.ObtainFrame(parts.actors.Here(), PageId{100}, true).ok();
  };
  REQUIRE(evict());
  CHECK(signal.evicted == 1);
  CHECK(signal.dirty == 0);
  for (uint32_t f = 1; f <= kFrames; ++f) {
    if (!parts.frames.IsEmpty(FrameId{f})) parts.frames.MarkDirty(FrameId{f});
  }
  REQUIRE(evict());
  CHECK(signal.evicted == 2);
  CHECK(signal.dirty == 1);
  CHECK(parts.actors.Sum().sync_writes == 1);
  CHECK(parts.store.stats().user_page_writes == 1);
}

}  // namespace
}  // namespace latchkey::evictor_test
