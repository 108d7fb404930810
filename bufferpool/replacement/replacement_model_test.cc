// LRU, 2Q and the clocks compared with the simplest implementations of the same algorithms.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <optional>
#include <set>

#include "bufferpool/replacement/replacement_list.h"
#include "storage/base/rng.h"

namespace latchkey {
namespace {

using Pages = std::deque<uint64_t>;  // oldest first

bool Erase(Pages& pages, uint64_t page) {
  const auto it = std::find(pages.begin(), pages.end(), page);
  if (it == pages.end()) return false;
  pages.erase(it);
  return true;
}
std::optional<uint64_t> OldestUnpinned(const Pages& pages, const std::set<uint64_t>& pinned) {
  for (const uint64_t page : pages) {
    if (pinned.count(page) == 0) return page;
  }
  return std::nullopt;
}

class LruModel {
 public:
  explicit LruModel(size_t) {}
  void Hit(uint64_t page) {
    Erase(pages_, page);
    pages_.push_back(page);
  }
  void Load(uint64_t page) { pages_.push_back(page); }
  void Remove(uint64_t page) { Erase(pages_, page); }
  std::optional<uint64_t> Victim(uint64_t, const std::set<uint64_t>& pinned) {
    const auto victim = OldestUnpinned(pages_, pinned);
    if (victim) Erase(pages_, *victim);
    return victim;
  }

 private:
  Pages pages_;
};

class TwoQModel {
 public:
  explicit TwoQModel(size_t frames) : kin_(frames / 4), kout_(frames / 2) {}
  void Hit(uint64_t page) {
    if (Erase(am_, page)) am_.push_back(page);
  }
  void Load(uint64_t page) {
    const bool returned = promoted_ == page || Erase(a1out_, page);
    (returned ? am_ : a1in_).push_back(page);
    promoted_.reset();
  }
  void Remove(uint64_t page) {
    Erase(am_, page);
    Erase(a1in_, page);
  }
  // As in the paper: the incoming page leaves A1out before a victim is chosen.
  std::optional<uint64_t> Victim(uint64_t incoming, const std::set<uint64_t>& pinned) {
    const Pages ghosts_before = a1out_;
    promoted_ = Erase(a1out_, incoming) ? std::optional(incoming) : std::nullopt;
    const bool overfull = a1in_.size() > kin_;
    auto victim = OldestUnpinned(overfull ? a1in_ : am_, pinned);
    if (!victim) victim = OldestUnpinned(overfull ? am_ : a1in_, pinned);
    if (victim && Erase(a1in_, *victim)) {
      a1out_.push_back(*victim);
      while (a1out_.size() > kout_) a1out_.pop_front();
    }
    if (victim) {
      Erase(am_, *victim);
    } else {  // the request is given up: the model is unchanged
      promoted_.reset();
      a1out_ = ghosts_before;
    }
    return victim;
  }

 private:
  const size_t kin_, kout_;
  Pages a1in_, am_, a1out_;
  std::optional<uint64_t> promoted_;
};

// Runs requests, removals and pins through the algorithm and the model; every victim must agree.
template <typename Model>
void CompareWithModel(std::string_view item, uint32_t frames, uint64_t seed) {
  CAPTURE(item, frames, seed);
  std::vector<std::atomic<uint8_t>> bytes(frames + 1);
  const auto algorithm = ReplacementAlgorithms().Named(item).Make(ReplacementConfig{
      .first_frame = 1, .frame_capacity = frames, .reference_bytes = bytes.data()});
  Model model(frames);
  Rng rng(seed);
  std::vector<uint64_t> page_in(frames + 1, UINT64_MAX);
  std::vector<FrameId> free;
  for (uint32_t f = 1; f <= frames; ++f) free.push_back(FrameId{f});
  for (int step = 0; step < 4000; ++step) {
    const uint64_t page = rng.Below(rng.Below(4) == 0 ? 4 * frames : frames + 2);
    const auto place = std::find(page_in.begin() + 1, page_in.end(), page);
    const FrameId frame{static_cast<uint32_t>(place - page_in.begin())};
    if (place != page_in.end() && rng.Below(20) == 0) {
      algorithm->OnRemove(frame);
      model.Remove(page);
      *place = UINT64_MAX;
      free.push_back(frame);
      continue;
    }
    if (place != page_in.end()) {
      algorithm->OnHit(frame);
      model.Hit(page);
      continue;
    }
    if (free.empty()) {
      std::set<uint64_t> pinned;
      for (uint32_t f = 1; f <= frames && rng.Below(2) == 0; ++f) pinned.insert(page_in[f]);
      const FrameId victim = algorithm->Victim(
          PageId{page}, [&](FrameId f) { return pinned.count(page_in[Raw(f)]) == 0; });
      const auto expected = model.Victim(page, pinned);
      REQUIRE((victim != kNoFrame) == expected.has_value());
      if (!expected) continue;
      REQUIRE(page_in[Raw(victim)] == *expected);
      free.push_back(victim);
    }
    algorithm->OnLoad(free.back(), PageId{page}, LoadKind::kDemand);
    model.Load(page);
    page_in[Raw(free.back())] = page;
    free.pop_back();
  }
}

TEST_CASE("LRU chooses what the plainest LRU chooses") {
  for (const uint32_t frames : {1u, 2u, 7u, 32u}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) CompareWithModel<LruModel>("lru", frames, seed);
  }
}

TEST_CASE("2Q chooses what the plainest 2Q chooses") {
  for (const uint32_t frames : {1u, 2u, 4u, 7u, 32u}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) CompareWithModel<TwoQModel>("2q", frames, seed);
  }
}

// Drives a clock over frames 1..4 that hold pages 1..4.
class SmallClock {
 public:
  explicit SmallClock(std::string_view item) : bytes_(5) {
    algorithm_ = ReplacementAlgorithms().Named(item).Make(
        ReplacementConfig{.first_frame = 1, .frame_capacity = 4, .reference_bytes = bytes_.data()});
    for (uint32_t f = 1; f <= 4; ++f) algorithm_->OnLoad(FrameId{f}, PageId{f}, LoadKind::kDemand);
  }
  void Hit(uint32_t frame, int times = 1) {
    for (int i = 0; i < times; ++i) algorithm_->OnHit(FrameId{frame});
  }
  uint32_t Replace() {
    const FrameId victim = algorithm_->Victim(PageId{9}, [](FrameId) { return true; });
    algorithm_->OnLoad(victim, PageId{9}, LoadKind::kDemand);
    return Raw(victim);
  }
  uint8_t byte(uint32_t frame) const { return bytes_[frame].load(); }

 private:
  std::vector<std::atomic<uint8_t>> bytes_;
  std::unique_ptr<ReplacementAlgorithm> algorithm_;
};

TEST_CASE("CLOCK spares a referenced frame once and moves past the frame it refills") {
  SmallClock clock("clock");
  clock.Hit(1);
  clock.Hit(3, 5);
  CHECK(clock.Replace() == 2);
  CHECK(clock.byte(1) == 0);
  CHECK(clock.Replace() == 4);
  CHECK(clock.Replace() == 1);
  CHECK(clock.Replace() == 2);
  CHECK(clock.Replace() == 3);
}

TEST_CASE("GCLOCK counts references and starts a page at 1") {
  SmallClock clock("gclock:limit=3");
  CHECK(clock.byte(1) == 1);
  clock.Hit(1, 9);
  CHECK(clock.byte(1) == 3);
  clock.Hit(2);
  CHECK(clock.Replace() == 3);  // one round takes 3 and 4 to zero, the next finds 3
  CHECK(clock.byte(1) == 1);
  CHECK(clock.byte(2) == 0);
}

}  // namespace
}  // namespace latchkey
