// Conformance suite: the invariants of replacement_algorithm.h, for every algorithm of the list and
// several parameters.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "bufferpool/replacement/replacement_list.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/testing/failing_new.h"

namespace latchkey::replacement_conformance_test {
namespace {

std::vector<std::string> AllItems() {
  std::vector<std::string> items = PoolReplacementNames();
  for (const char* item :
       {"gclock:limit=1:initial=0", "gclock:limit=127", "2q:kin=0:kout=0", "2q:kin=1:kout=1",  //
        "s3-fifo:small=0:ghost=0", "s3-fifo:small=1:ghost=2",                                  //
        "w-tinylfu:window=0:protected=0", "w-tinylfu:window=0.5:protected=1",                  //
        "lru2:crp=0.25", "lru2:variant=array", "lru2:crp=0.25:history=0:variant=array",        //
        "mq:queues=1:out=0", "mq:queues=3:lifetime=5:out=0.5",                                 //
        "hot-cold:hot=0", "hot-cold:hot=1",                                                    //
        "lirs:hir=0:stack=1", "lirs:hir=1:stack=1", "lirs:hir=0.25:stack=3"}) {
    items.emplace_back(item);
  }
  return items;
}

constexpr uint32_t kFirstFrame = 101;
constexpr uint32_t kMostFrames = 300;

// One instance over a range of frames, with a record of the calls that it got.
class Bench {
 public:
  Bench(std::string_view item, uint32_t frames, uint64_t seed = 42) : bytes_(1000) {
    for (ReferenceByte& byte : bytes_) {
      byte.Reset(/*unused=*/true);
      byte.SetHits(kUntouched);
    }
    algorithm_ =
        ReplacementAlgorithms().Named(item).Make(ReplacementConfig{.first_frame = kFirstFrame,
                                                                   .frame_capacity = frames,
                                                                   .reference_bytes = bytes_.data(),
                                                                   .seed = seed});
  }

  void Load(FrameId frame, PageId page) {
    REQUIRE(loaded_.emplace(Raw(frame), page).second);
    algorithm_->OnLoad(frame, page, LoadKind::kDemand);
  }
  void LoadAll(uint32_t frames) {
    for (uint32_t i = 0; i < frames; ++i) Load(FrameId{kFirstFrame + i}, PageId{i});
  }
  void Hit(FrameId frame) { algorithm_->OnHit(frame); }
  void Remove(FrameId frame) {
    loaded_.erase(Raw(frame));
    algorithm_->OnRemove(frame);
  }
  FrameId Victim(PageId incoming, const std::set<uint32_t>& pinned) {
    std::set<uint32_t> agreed;
    const FrameId victim = algorithm_->Victim(incoming, [&](FrameId frame) {
      REQUIRE(loaded_.count(Raw(frame)) == 1);
      if (pinned.count(Raw(frame)) == 0) agreed.insert(Raw(frame));
      return pinned.count(Raw(frame)) == 0;
    });
    if (victim == kNoFrame) {
      REQUIRE(agreed.empty());
      for (const auto& [frame, page] : loaded_) REQUIRE(pinned.count(frame) == 1);
    } else {
      REQUIRE(agreed == std::set<uint32_t>{Raw(victim)});  // nothing else was claimed on the way
      REQUIRE(loaded_.erase(Raw(victim)) == 1);
    }
    return victim;
  }
  void Reinstate(FrameId frame, PageId page) {
    REQUIRE(loaded_.emplace(Raw(frame), page).second);
    algorithm_->Reinstate(frame);
  }
  void CheckPeek(size_t wanted) {
    std::vector<FrameId> out(wanted);
    const size_t count = algorithm_->PeekColdest(out);
    REQUIRE(count <= wanted);
    std::set<uint32_t> seen;
    for (size_t i = 0; i < count; ++i) {
      REQUIRE(loaded_.count(Raw(out[i])) == 1);
      REQUIRE(seen.insert(Raw(out[i])).second);
    }
    if (wanted >= loaded_.size()) REQUIRE(count == loaded_.size());
  }
  FrameId AnyLoaded(Rng& rng) const {
    auto it = loaded_.begin();
    std::advance(it, rng.Below(loaded_.size()));
    return FrameId{it->first};
  }
  FrameId AnyEmpty(Rng& rng, uint32_t frames) const {
    const uint32_t start = static_cast<uint32_t>(rng.Below(frames));
    for (uint32_t i = 0; i < frames; ++i) {
      const uint32_t frame = kFirstFrame + (start + i) % frames;
      if (loaded_.count(frame) == 0) return FrameId{frame};
    }
    return kNoFrame;
  }
  // The bytes of other instances are untouched, and so is the pool's mark in all bytes.
  void CheckForeignBytes(uint32_t frames) const {
    for (uint32_t i = 0; i < bytes_.size(); ++i) {
      REQUIRE(bytes_[i].unused());
      if (i < kFirstFrame || i >= kFirstFrame + frames) REQUIRE(bytes_[i].hits() == kUntouched);
    }
  }
  ReplacementAlgorithm& algorithm() { return *algorithm_; }
  const std::map<uint32_t, PageId>& loaded() const { return loaded_; }
  const ReferenceByte* bytes() const { return bytes_.data(); }

 private:
  static constexpr uint8_t kUntouched = 77;
  std::vector<ReferenceByte> bytes_;
  std::unique_ptr<ReplacementAlgorithm> algorithm_;
  std::map<uint32_t, PageId> loaded_;
};

// One random step with pages unique among the loaded ones.
void RandomStep(Bench& bench, Rng& rng, uint32_t frames, uint64_t step) {
  const uint64_t action = rng.Below(100);
  const FrameId empty = bench.AnyEmpty(rng, frames);
  if (empty != kNoFrame && (bench.loaded().empty() || action < 30)) {
    bench.Load(empty, PageId{(step % 3 == 0 ? 1'000'000 + step : rng.Below(2 * frames))});
  } else if (bench.loaded().empty()) {
    return;
  } else if (action < 70) {
    bench.Hit(bench.AnyLoaded(rng));
  } else if (action < 75) {
    bench.Remove(bench.AnyLoaded(rng));
  } else if (action < 80) {
    bench.CheckPeek(rng.Below(2 * frames));
  } else {
    std::set<uint32_t> pinned;
    const uint64_t one_in = rng.Below(5);  // 0: all of them
    for (const auto& [frame, page] : bench.loaded()) {
      if (one_in == 0 || rng.Below(one_in + 1) == 0) pinned.insert(frame);
    }
    const std::map<uint32_t, PageId> before = bench.loaded();
    const bool for_nobody = rng.Below(4) == 0;
    const FrameId victim =
        bench.Victim(for_nobody ? kInvalidPageId : PageId{rng.Below(2 * frames)}, pinned);
    if (victim != kNoFrame && rng.Below(3) == 0) bench.Reinstate(victim, before.at(Raw(victim)));
  }
}

TEST_CASE("Every replacement algorithm keeps its invariants under random operations") {
  for (const std::string& item : AllItems()) {
    for (uint64_t seed = 1; seed <= (kSanitizer ? 2 : 6); ++seed) {
      CAPTURE(item, seed);
      Rng rng(seed);
      const uint32_t frames = static_cast<uint32_t>(seed == 1 ? 1 : 1 + rng.Below(40));
      Bench bench(item, frames, seed);
      for (uint64_t step = 0; step < 3000; ++step) {
        RandomStep(bench, rng, frames, step);
        REQUIRE(bench.algorithm().size() == bench.loaded().size());
      }
      bench.CheckForeignBytes(frames);
    }
  }
}

TEST_CASE("Every replacement algorithm gives up all its frames one after the other") {
  for (const std::string& item : AllItems()) {
    CAPTURE(item);
    Bench bench(item, 50);
    bench.LoadAll(50);
    for (uint32_t i = 0; i < 50; ++i) CHECK(bench.Victim(PageId{1000 + i}, {}) != kNoFrame);
    CHECK(bench.Victim(PageId{2000}, {}) == kNoFrame);
    CHECK(bench.algorithm().size() == 0);
  }
}

TEST_CASE("Every replacement algorithm finds the one frame that is not pinned") {
  for (const std::string& item : AllItems()) {
    CAPTURE(item);
    for (uint32_t free = 0; free < 40; free += 13) {
      Bench bench(item, 40);
      bench.LoadAll(40);
      for (int round = 0; round < 300; ++round) {
        for (uint32_t i = 0; i < 40; ++i) bench.Hit(FrameId{kFirstFrame + i});
      }
      std::set<uint32_t> pinned;
      for (uint32_t i = 0; i < 40; ++i) {
        if (i != free) pinned.insert(kFirstFrame + i);
      }
      CHECK(bench.Victim(PageId{1000}, pinned) == FrameId{kFirstFrame + free});
      CHECK(bench.Victim(PageId{1001}, pinned) == kNoFrame);
    }
  }
}

TEST_CASE("The first frame that a replacement algorithm shows to the cleaners is its next victim") {
  for (const std::string& item : AllItems()) {
    CAPTURE(item);
    Bench bench(item, 40);
    Rng rng(11);
    bench.LoadAll(40);
    for (uint64_t i = 0; i < 1000; ++i) {
      for (uint64_t hits = rng.Below(4); hits > 0; --hits) bench.Hit(bench.AnyLoaded(rng));
      FrameId next = kNoFrame;
      REQUIRE(bench.algorithm().PeekColdest({&next, 1}) == 1);
      const PageId incoming{100 + rng.Below(100)};
      REQUIRE(bench.Victim(kInvalidPageId, {}) == next);
      bench.Load(next, incoming);
    }
  }
}

// A dirty page that could not be written at once got into 2Q's Am in this way: 100,000 new pages
// passed it by.
TEST_CASE("A page whose eviction was given up leaves with the pages that were next to leave") {
  constexpr uint32_t kFrames = 100;
  for (const std::string& item : AllItems()) {
    CAPTURE(item);
    Bench bench(item, kFrames);
    bench.LoadAll(kFrames);
    const auto pages = bench.loaded();
    const FrameId given_up = bench.Victim(PageId{1000}, {});
    bench.Reinstate(given_up, pages.at(Raw(given_up)));
    bool left = false;
    for (uint32_t i = 0; i < 15 * kFrames && !left; ++i) {
      const FrameId victim = bench.Victim(PageId{1000 + i}, {});
      left = victim == given_up;
      bench.Load(victim, PageId{1000 + i});
    }
    CHECK(left);
  }
}

TEST_CASE("Every replacement algorithm takes the memory that it states, and all of it at once") {
  constexpr uint32_t kFrames = 2500;
  for (const std::string& item : AllItems()) {
    CAPTURE(item);
    const ReplacementChoice choice = ReplacementAlgorithms().Named(item);
    std::vector<ReferenceByte> bytes(kFrames + 1);
    AllocationFaults::Arm(AllocationFaults::kNever, false);
    const auto algorithm = choice.Make(ReplacementConfig{
        .first_frame = 1, .frame_capacity = kFrames, .reference_bytes = bytes.data()});
    AllocationFaults::Disarm();
    const uint64_t constructed = AllocationFaults::bytes();
    CHECK(constructed <= kFrames * choice.entry().bytes_per_frame(choice.values()) + 8192);

    for (uint32_t f = 1; f <= kFrames; ++f) {
      algorithm->OnLoad(FrameId{f}, PageId{f}, LoadKind::kDemand);
    }
    Rng rng(3);
    AllocationFaults::Arm(AllocationFaults::kNever, false);
    for (uint64_t i = 0; i < 3 * kFrames; ++i) {
      algorithm->OnHit(FrameId{1 + static_cast<uint32_t>(rng.Below(kFrames))});
      const PageId page{kFrames + (i % 3 == 0 ? rng.Below(kFrames) : i)};
      const FrameId victim = algorithm->Victim(page, [](FrameId) { return true; });
      algorithm->OnLoad(victim, page, LoadKind::kDemand);
    }
    AllocationFaults::Disarm();
    CHECK(AllocationFaults::count() == 0);
  }
}

TEST_CASE("The same seed gives the same choices, with and without prefetching for hits") {
  for (const std::string& item : AllItems()) {
    CAPTURE(item);
    std::vector<FrameId> history[2];
    for (auto& victims : history) {
      const bool prefetches = &victims == &history[1];
      Bench bench(item, 30, 7);
      Rng rng(5);
      bench.LoadAll(30);
      for (uint32_t i = 0; i < 500; ++i) {
        const FrameId hit = bench.AnyLoaded(rng);
        if (prefetches) bench.algorithm().PrefetchForHit(hit, bench.loaded().at(Raw(hit)));
        bench.Hit(hit);
        victims.push_back(bench.Victim(PageId{1000 + i}, {}));
        bench.Load(victims.back(), PageId{1000 + i});
      }
    }
    CHECK(history[0] == history[1]);
  }
}

TEST_CASE("Every replacement algorithm grows and shrinks while pages are loaded") {
  for (const std::string& item : AllItems()) {
    for (uint64_t seed = 1; seed <= (kSanitizer ? 1 : 4); ++seed) {
      CAPTURE(item, seed);
      Rng rng(seed);
      uint32_t frames = 20;
      Bench bench(item, frames, seed);
      for (uint64_t step = 0; step < 1200; ++step) {
        if (step % 100 == 99) {
          frames = static_cast<uint32_t>(1 + rng.Below(kMostFrames));
          bench.algorithm().Resize(frames);  // loaded frames above stay until they are evicted
        }
        RandomStep(bench, rng, frames, step);
        REQUIRE(bench.algorithm().size() == bench.loaded().size());
      }
      bench.CheckForeignBytes(kMostFrames);
    }
  }
}

TEST_CASE("A hit that needs no lock adds one to its frame's reference byte, up to the limit") {
  for (const std::string& item : AllItems()) {
    CAPTURE(item);
    Bench bench(item, 4);
    const std::optional<uint8_t> limit = bench.algorithm().most_counted_hits();
    if (!limit) continue;
    CHECK(*limit <= ReferenceByte::kMostHits);
    const FrameId frame{kFirstFrame + 2};
    bench.Load(frame, PageId{5});
    const ReferenceByte& byte = bench.bytes()[Raw(frame)];
    for (uint32_t i = 0; i < 300 && *limit > 0; ++i) {
      const uint8_t before = byte.hits();
      bench.Hit(frame);
      CHECK(byte.hits() == std::min<int>(before + 1, *limit));
    }
  }
}

TEST_CASE("A frame is marked exactly while a hit of it changes nothing") {
  for (const std::string& item : AllItems()) {
    CAPTURE(item);
    Bench bench(item, 16);
    if (!bench.algorithm().marks_free_hits()) continue;
    Rng rng(5);
    uint64_t marked = 0;
    for (uint64_t step = 0; step < 2000; ++step) {
      RandomStep(bench, rng, 16, step);
      const auto order = [&] {
        std::vector<FrameId> frames(bench.algorithm().size());
        frames.resize(bench.algorithm().PeekColdest(frames));
        return frames;
      };
      for (const FrameId frame : order()) {
        if (bench.bytes()[Raw(frame)].hits() == 0) continue;
        ++marked;
        const std::vector<FrameId> before = order();
        bench.Hit(frame);
        CHECK(order() == before);
      }
    }
    CHECK((marked > 0) == (item != "hot-cold:hot=0"));
  }
}

TEST_CASE("Unknown replacement algorithms and parameters are refused with the known ones") {
  const auto error = [](std::string_view item) {
    const auto choice = ReplacementAlgorithms().Parse(item);
    REQUIRE(absl::IsInvalidArgument(choice.status()));
    return std::string(choice.status().message());
  };
  CHECK(error("mru") ==
        "unknown replacement algorithm 'mru'; known: random, lru, clock, gclock, 2q, "
        "fifo, lfu, lru2, mq, lirs, arc, car, s3-fifo, sieve, w-tinylfu, hot-cold, opt");
  CHECK_THAT(error("2q:k=1"), Catch::Contains("kin") && Catch::Contains("kout"));
  CHECK_THAT(error("gclock:limit=0"), Catch::Contains("from 1 to 127"));
  CHECK_THAT(error("lru:limit=3"), Catch::Contains("takes none"));
}

TEST_CASE("A replacement choice prints in full and reads back") {
  CHECK(ReplacementAlgorithms().Named("2q").ToString() == "2q:kin=0.25:kout=0.5");
  CHECK(ReplacementAlgorithms().Named("gclock:limit=7").ToString() == "gclock:limit=7:initial=1");
  for (const std::string& item : AllItems()) {
    const std::string full = ReplacementAlgorithms().Named(item).ToString();
    CHECK(ReplacementAlgorithms().Named(full).ToString() == full);
  }
}

}  // namespace
}  // namespace latchkey::replacement_conformance_test
