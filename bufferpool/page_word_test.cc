// Each arrow of the state machine of a page word: when it is taken, and what it leaves.
#include "bufferpool/page_word.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "storage/base/rng.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::page_word_test {
namespace {

constexpr FrameId kFrame{7}, kOther{8};

/// Leads `word` from its first state to (frame, free, version 0).
void LoadInto(PageWord& word, FrameId frame) {
  REQUIRE(word.TryBeginLoad(word.Read()));
  word.SetFrame(frame);
  word.EndLoad(PageState::kFree);
}

TEST_CASE("A page word of zeros is not resident, free and of version 0") {
  const PageWord word;
  CHECK(word.Read() == PageState(0));
  CHECK_FALSE(word.Read().resident());
  CHECK(word.Read().free());
  CHECK(word.Read().version() == 0);
}

TEST_CASE("The fields of a page word do not touch each other at their limits") {
  PageState state = PageState(~uint64_t{0}).WithFrame(FrameId{PageState::kMaxFrames});
  CHECK(state.frame() == FrameId{PageState::kMaxFrames});
  CHECK(state.exclusive());
  state = state.WithLatch(PageState::kFree);
  const uint64_t last = state.version();
  CHECK(last == (uint64_t{1} << 30) - 1);
  CHECK(state.NextVersion().version() == 0);
  CHECK(state.NextVersion().FreeIn(FrameId{PageState::kMaxFrames}));
}

TEST_CASE("One thread loads a page, and leaves the latch that it wants") {
  const uint64_t latch = GENERATE(as<uint64_t>{}, PageState::kFree, 1, PageState::kExclusive);
  PageWord word;
  const PageState seen = word.Read();
  REQUIRE(word.TryBeginLoad(seen));
  CHECK_FALSE(word.TryBeginLoad(seen));
  CHECK((word.Read().exclusive() && !word.Read().resident()));
  word.SetFrame(kFrame);
  CHECK((word.Read().exclusive() && word.Read().frame() == kFrame));
  word.EndLoad(latch);
  CHECK(word.Read() == PageState(0).WithFrame(kFrame).WithLatch(latch));
}

TEST_CASE("A load that is given up leaves the page word as it was") {
  PageWord word;
  const PageState before = word.Read();
  REQUIRE(word.TryBeginLoad(before));
  word.AbandonLoad();
  CHECK(word.Read() == before);
}

TEST_CASE("Shared holders exclude a writer until the last of them leaves") {
  PageWord word;
  LoadInto(word, kFrame);
  const PageState free = word.Read();
  REQUIRE(word.TryLatchShared(free));
  CHECK_FALSE(word.TryLatchShared(free));  // no longer as seen
  REQUIRE(word.TryLatchShared(word.Read()));
  CHECK(word.Read().latch() == 2);
  PageState now = free;
  CHECK_FALSE(word.TryUpgrade(free, &now));
  CHECK(now.latch() == 2);
  CHECK(free.ValidatedBy(now));
  word.ReleaseShared();
  word.ReleaseShared();
  CHECK(word.TryUpgrade(free, &now));
}

TEST_CASE("A page has at most 254 shared holders") {
  PageWord word;
  LoadInto(word, kFrame);
  const PageState seen = word.Read();
  for (uint64_t i = 0; i < PageState::kMaxShared; ++i) REQUIRE(word.TryUpgradeShared(seen));
  CHECK_FALSE(word.TryUpgradeShared(seen));
  CHECK(word.Read() == seen.WithLatch(PageState::kMaxShared));
  for (uint64_t i = 0; i < PageState::kMaxShared; ++i) word.ReleaseShared();
  CHECK(word.Read() == seen);
}

TEST_CASE("Only a holder that modified the page changes its version") {
  PageWord word;
  LoadInto(word, kFrame);
  const PageState seen = word.Read();
  REQUIRE(word.TryLatchExclusive(seen));
  CHECK_FALSE(seen.ValidatedBy(word.Read()));
  CHECK(word.ReleaseUnmodified() == seen);
  CHECK(seen.ValidatedBy(word.Read()));
  REQUIRE(word.TryLatchExclusive(seen));
  CHECK(word.ReleaseModified() == seen.NextVersion());
  CHECK_FALSE(seen.ValidatedBy(word.Read()));
}

TEST_CASE("A page word that has changed since it was seen cannot be upgraded or claimed") {
  PageWord word;
  LoadInto(word, kFrame);
  const PageState seen = word.Read();
  REQUIRE(word.TryLatchExclusive(seen));
  word.ReleaseModified();
  PageState now = seen;
  CHECK_FALSE(word.TryUpgrade(seen, &now));
  CHECK_FALSE(seen.ValidatedBy(now));
  CHECK_FALSE(word.TryUpgradeShared(seen));
  CHECK_FALSE(word.TryClaim(seen));
  CHECK_FALSE(word.TryLatchExclusive(seen));
  CHECK_FALSE(word.TryLatchShared(seen));
  CHECK(word.Read() == seen.NextVersion());
}

TEST_CASE("An upgrade ignores the latch of the state that it starts from") {
  PageWord word;
  LoadInto(word, kFrame);
  REQUIRE(word.TryLatchShared(word.Read()));
  const PageState seen = word.Read();  // one shared holder
  word.ReleaseShared();
  PageState now = seen;
  REQUIRE(word.TryUpgrade(seen, &now));
  CHECK(word.Read().exclusive());
}

TEST_CASE("A page that returns to its frame after an eviction does not validate") {
  PageWord word;
  LoadInto(word, kFrame);
  const PageState seen = word.Read();
  REQUIRE(seen.FreeIn(kFrame));
  CHECK_FALSE(seen.FreeIn(kOther));
  REQUIRE(word.TryClaim(seen));
  word.ReleaseEvicted();
  CHECK(word.Read() == PageState(0).NextVersion());
  LoadInto(word, kFrame);
  CHECK(word.Read().frame() == seen.frame());
  CHECK_FALSE(seen.ValidatedBy(word.Read()));
}

/// Four actors take the arrows of one word in turn. It counts what they hold, so that the latch is
/// judged by its effect.
struct SharedWord {
  explicit SharedWord(Runtime& runtime) : runtime(runtime) {}

  void Hold(int& holders) {
    ++holders;
    wrong |= writers > 1 || (writers == 1 && readers > 0);
    runtime.SchedulePoint();
    wrong |= writers > 1 || (writers == 1 && readers > 0);
    --holders;
  }
  void LoadPage(PageState seen, Rng& rng) {
    if (!seen.free() || !word.TryBeginLoad(seen)) return;
    Hold(writers);
    if (rng.Below(4) == 0) return word.AbandonLoad();
    word.SetFrame(kFrame);
    word.EndLoad(PageState::kFree);
  }
  void Read(PageState seen) {
    if (!word.TryUpgradeShared(seen)) return;
    Hold(readers);
    word.ReleaseShared();
  }
  void Write(PageState seen, Rng& rng) {
    PageState now = seen;
    if (!word.TryUpgrade(seen, &now)) return;
    Hold(writers);
    const uint64_t end = rng.Below(4);
    if (end == 0) return void(word.ReleaseUnmodified());
    ++changes;
    if (end == 1) return word.ReleaseEvicted();
    word.ReleaseModified();
  }
  void Step(Rng& rng) {
    const PageState seen = word.Read();
    runtime.SchedulePoint();
    if (!seen.resident()) return LoadPage(seen, rng);
    if (seen.exclusive()) return;
    if (rng.Below(2) == 0) return Read(seen);
    Write(seen, rng);
  }

  Runtime& runtime;
  PageWord word;
  int readers = 0, writers = 0;
  uint64_t changes = 0;  ///< arrows that change the version
  bool wrong = false;
};

TEST_CASE("Under seeded schedules a page word admits one writer or many readers") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    SimulatedRuntime runtime({.seed = seed, .quantum = 0, .preempt_probability = 0.3});
    SharedWord shared(runtime);
    const absl::Status ran = runtime.Run([&] {
      std::vector<std::unique_ptr<Actor>> actors;
      for (uint64_t a = 0; a < 4; ++a) {
        actors.push_back(runtime.Spawn("actor", [&, a] {
          Rng rng(seed * 16 + a);
          for (int i = 0; i < 300; ++i) shared.Step(rng);
        }));
      }
      actors.clear();
    });
    REQUIRE(ran.ok());
    CHECK_FALSE(shared.wrong);
    CHECK(shared.word.Read().free());
    CHECK(shared.changes > 20);
    CHECK(shared.word.Read().version() == shared.changes);
  }
}

}  // namespace
}  // namespace latchkey::page_word_test
