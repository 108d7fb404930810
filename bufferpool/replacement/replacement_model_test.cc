// LRU, 2Q, hot-cold and the clocks compared with the simplest implementations of the same algorithms.
#include "bufferpool/testing/replacement_model.h"

namespace latchkey::replacement_model_test {
namespace {

class LruModel {
 public:
  explicit LruModel(size_t) {}
  void Hit(uint64_t page) {
    Erase(pages_, page);
    pages_.push_back(page);
  }
  void Load(uint64_t page) { pages_.push_back(page); }
  void Remove(uint64_t page) { Erase(pages_, page); }
  void Reinstate(uint64_t page) { pages_.push_front(page); }
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
    ghosts_before_ = a1out_;
    promoted_ = Erase(a1out_, incoming) ? std::optional(incoming) : std::nullopt;
    const bool overfull = a1in_.size() > kin_;
    auto victim = OldestUnpinned(overfull ? a1in_ : am_, pinned);
    if (!victim) victim = OldestUnpinned(overfull ? am_ : a1in_, pinned);
    left_am_ = victim && Erase(am_, *victim);
    if (victim && Erase(a1in_, *victim)) {
      a1out_.push_back(*victim);
      while (a1out_.size() > kout_) a1out_.pop_front();
    }
    if (!victim) {  // the request is given up: the model is unchanged
      promoted_.reset();
      a1out_ = ghosts_before_;
    }
    return victim;
  }
  // The incoming page is a ghost again, the newest one unless the victim comes from Am.
  void Reinstate(uint64_t page) {
    (left_am_ ? am_ : a1in_).push_front(page);
    Erase(a1out_, page);
    if (left_am_) {
      a1out_ = ghosts_before_;
    } else if (promoted_) {
      a1out_.push_back(*promoted_);
    }
    promoted_.reset();
  }

 private:
  const size_t kin_, kout_;
  Pages a1in_, am_, a1out_, ghosts_before_;
  bool left_am_ = false;
  std::optional<uint64_t> promoted_;
};

class HotColdModel {
 public:
  explicit HotColdModel(size_t frames) : most_hot_(frames / 2) {}
  void Hit(uint64_t page) {
    if (!Erase(cold_, page)) return;
    hot_.push_back(page);
    if (hot_.size() <= most_hot_) return;
    cold_.push_back(hot_.front());
    hot_.pop_front();
  }
  void Load(uint64_t page) { cold_.push_back(page); }
  void Remove(uint64_t page) {
    Erase(cold_, page);
    Erase(hot_, page);
  }
  void Reinstate(uint64_t page) { cold_.push_front(page); }
  std::optional<uint64_t> Victim(uint64_t, const std::set<uint64_t>& pinned) {
    auto victim = OldestUnpinned(cold_, pinned);
    if (!victim) victim = OldestUnpinned(hot_, pinned);
    if (victim) Remove(*victim);
    return victim;
  }

 private:
  const size_t most_hot_;
  Pages hot_, cold_;
};

TEST_CASE("LRU chooses what the plainest LRU chooses") { CompareWithModel<LruModel>("lru"); }

TEST_CASE("2Q chooses what the plainest 2Q chooses") { CompareWithModel<TwoQModel>("2q"); }

TEST_CASE("A hot region above a cold one chooses what the plainest pair of lists chooses") {
  CompareWithModel<HotColdModel>("hot-cold");
}

TEST_CASE("Without a hot region what is left is LRU") {
  CompareWithModel<LruModel>("hot-cold:hot=0");
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
  uint8_t byte(uint32_t frame) const { return bytes_[frame].hits(); }

 private:
  std::vector<ReferenceByte> bytes_;
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
}  // namespace latchkey::replacement_model_test
