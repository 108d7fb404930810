// ARC, CAR, S3-FIFO and SIEVE compared with the simplest implementations of the same algorithms.
#include <map>

#include "bufferpool/testing/replacement_model.h"

namespace latchkey::adaptive_model_test {
namespace {

// Pages that were ghosts when a frame was sought for them: the latest 16, loaded since or not.
class Returning {
 public:
  void Add(uint64_t page, int ghosts) {
    latest_.emplace_back(page, ghosts);
    if (latest_.size() > 16) latest_.pop_front();
  }
  // The ghosts in which `page` was, or 0.
  int Find(uint64_t page) const {
    for (const auto& [other, ghosts] : latest_) {
      if (other == page && ghosts != 0) return ghosts;
    }
    return 0;
  }
  bool Take(uint64_t page) {
    const bool found = Find(page) != 0;
    for (auto& [other, ghosts] : latest_) {
      if (other == page) ghosts = 0;
    }
    return found;
  }

 private:
  std::deque<std::pair<uint64_t, int>> latest_;
};

// B1, B2 and p of ARC and CAR.
struct AdaptiveModel {
  explicit AdaptiveModel(size_t frames) : c(frames) {}
  int GhostsOf(uint64_t page) const {
    if (std::count(b1.begin(), b1.end(), page) > 0) return 1;
    return std::count(b2.begin(), b2.end(), page) > 0 ? 2 : 0;
  }
  double Adapted(int ghosts) const {
    const auto size1 = static_cast<double>(b1.size());
    const auto size2 = static_cast<double>(b2.size());
    if (ghosts == 1) return std::min<double>(p + std::max(1.0, size2 / size1), c);
    if (ghosts == 2) return std::max(p - std::max(1.0, size1 / size2), 0.0);
    return p;
  }
  // False if `page` is no ghost.
  bool TakeMiss(uint64_t page) {
    p = Adapted(GhostsOf(page));
    return Erase(b1, page) || Erase(b2, page);
  }
  void MakeRoom(size_t t1, size_t t2) {
    while (!b1.empty() && t1 + b1.size() >= c) b1.pop_front();
    while (!b2.empty() && t1 + t2 + b1.size() + b2.size() >= 2 * c) b2.pop_front();
  }
  void Remember(uint64_t page, int ghosts) {
    Pages& list = ghosts == 1 ? b1 : b2;
    list.push_back(page);
    if (list.size() > c + 1) list.pop_front();
  }

  size_t c;
  double p = 0;
  Pages b1, b2;
};

class ArcModel {
 public:
  explicit ArcModel(size_t frames) : ghosts_(frames) {}
  void Hit(uint64_t page) {
    Remove(page);
    t2_.push_back(page);
  }
  void Remove(uint64_t page) {
    Erase(t1_, page);
    Erase(t2_, page);
  }
  void Load(uint64_t page) {
    if (returning_.Take(page) || ghosts_.TakeMiss(page)) {
      t2_.push_back(page);
    } else {
      ghosts_.MakeRoom(t1_.size(), t2_.size());
      t1_.push_back(page);
    }
  }
  std::optional<uint64_t> Victim(uint64_t incoming, const std::set<uint64_t>& pinned) {
    const int ghosts = ghosts_.GhostsOf(incoming);
    const double p = ghosts_.Adapted(ghosts);
    const bool in_b2 = ghosts == 2 || returning_.Find(incoming) == 2;
    const auto t1 = static_cast<double>(t1_.size());
    const bool from_t1 = t1 > p || (t1 == p && in_b2);
    auto victim = OldestUnpinned(from_t1 ? t1_ : t2_, pinned);
    if (!victim) victim = OldestUnpinned(from_t1 ? t2_ : t1_, pinned);
    if (!victim) return victim;
    if (ghosts_.TakeMiss(incoming)) returning_.Add(incoming, ghosts);
    left_t1_ = Erase(t1_, *victim);
    Erase(t2_, *victim);
    ghosts_.Remember(*victim, left_t1_ ? 1 : 2);
    return victim;
  }
  void Reinstate(uint64_t page) {
    (left_t1_ ? t1_ : t2_).push_front(page);
    Erase(left_t1_ ? ghosts_.b1 : ghosts_.b2, page);
  }

 private:
  AdaptiveModel ghosts_;
  Returning returning_;
  Pages t1_, t2_;
  bool left_t1_ = false;
};

// A queue of new pages and a main queue with counts of hits: CAR and S3-FIFO.
struct TwoClocksModel {
  int limit;
  int promote_at;
  Pages fresh = {}, main = {};
  std::map<uint64_t, int> hits = {};
  bool left_fresh = false;

  void Hit(uint64_t page) { hits[page] = std::min(hits[page] + 1, limit); }
  void Remove(uint64_t page) {
    Erase(fresh, page);
    Erase(main, page);
  }
  void Load(uint64_t page, bool to_main) {
    hits[page] = 0;
    (to_main ? main : fresh).push_back(page);
  }
  template <typename PrefersFresh>
  std::optional<uint64_t> Victim(const std::set<uint64_t>& pinned, PrefersFresh prefers_fresh) {
    std::set<uint64_t> passed;
    while (true) {
      const auto next_fresh = OldestUnpinned(fresh, passed);
      const auto next_main = OldestUnpinned(main, passed);
      const bool from_fresh = next_fresh && (prefers_fresh() || !next_main);
      const auto page = from_fresh ? next_fresh : next_main;
      if (!page) return page;
      int& count = hits[*page];
      if (count >= (from_fresh ? promote_at : 1)) {
        count = from_fresh ? 0 : count - 1;
        Remove(*page);
        main.push_back(*page);
      } else if (pinned.count(*page) > 0) {
        passed.insert(*page);
      } else {
        left_fresh = from_fresh;
        Remove(*page);
        return page;
      }
    }
  }
  void Reinstate(uint64_t page) { (left_fresh ? fresh : main).push_front(page); }
};

class CarModel {
 public:
  explicit CarModel(size_t frames) : ghosts_(frames) {}
  void Hit(uint64_t page) { clocks_.Hit(page); }
  void Remove(uint64_t page) { clocks_.Remove(page); }
  void Load(uint64_t page) {
    const bool returns = ghosts_.TakeMiss(page);
    if (!returns) ghosts_.MakeRoom(clocks_.fresh.size(), clocks_.main.size());
    clocks_.Load(page, returns);
  }
  std::optional<uint64_t> Victim(uint64_t, const std::set<uint64_t>& pinned) {
    const auto victim = clocks_.Victim(pinned, [&] {
      return static_cast<double>(clocks_.fresh.size()) >= std::max(1.0, ghosts_.p);
    });
    if (victim) ghosts_.Remember(*victim, clocks_.left_fresh ? 1 : 2);
    return victim;
  }
  void Reinstate(uint64_t page) {
    clocks_.Reinstate(page);
    Erase(clocks_.left_fresh ? ghosts_.b1 : ghosts_.b2, page);
  }

 private:
  AdaptiveModel ghosts_;
  TwoClocksModel clocks_{.limit = 1, .promote_at = 1};
};

class S3FifoModel {
 public:
  explicit S3FifoModel(size_t frames)
      : small_(frames / 10), main_(frames - small_), most_ghosts_(frames * 9 / 10) {}
  void Hit(uint64_t page) { clocks_.Hit(page); }
  void Remove(uint64_t page) { clocks_.Remove(page); }
  void Load(uint64_t page) {
    const bool returns = returning_.Take(page) || Erase(ghosts_, page);
    clocks_.Load(page, returns || (!has_evicted_ && clocks_.fresh.size() >= small_));
  }
  std::optional<uint64_t> Victim(uint64_t incoming, const std::set<uint64_t>& pinned) {
    const bool prefers_fresh = clocks_.main.size() <= main_;
    const auto victim = clocks_.Victim(pinned, [&] { return prefers_fresh; });
    if (!victim) return victim;
    has_evicted_ = true;
    if (Erase(ghosts_, incoming)) returning_.Add(incoming, 1);
    if (clocks_.left_fresh) ghosts_.push_back(*victim);
    if (ghosts_.size() > most_ghosts_) ghosts_.pop_front();
    return victim;
  }
  void Reinstate(uint64_t page) {
    clocks_.Reinstate(page);
    Erase(ghosts_, page);
  }

 private:
  const size_t small_, main_, most_ghosts_;
  bool has_evicted_ = false;
  TwoClocksModel clocks_{.limit = 3, .promote_at = 2};
  Returning returning_;
  Pages ghosts_;
};

class SieveModel {
 public:
  explicit SieveModel(size_t) {}
  void Hit(uint64_t page) { visited_.insert(page); }
  void Load(uint64_t page) {
    queue_.push_back(page);
    visited_.erase(page);
  }
  void Remove(uint64_t page) {
    if (hand_ == page) Advance();
    Erase(queue_, page);
  }
  std::optional<uint64_t> Victim(uint64_t, const std::set<uint64_t>& pinned) {
    for (size_t looks = 2 * queue_.size(); looks > 0; --looks) {
      const uint64_t page = hand_.value_or(queue_.front());
      hand_ = page;
      if (visited_.erase(page) == 0 && pinned.count(page) == 0) {
        Remove(page);
        return page;
      }
      Advance();
    }
    return std::nullopt;
  }
  void Reinstate(uint64_t page) {
    queue_.insert(hand_ ? std::find(queue_.begin(), queue_.end(), *hand_) : queue_.end(), page);
    hand_ = page;
  }

 private:
  void Advance() {
    const auto newer = std::find(queue_.begin(), queue_.end(), *hand_) + 1;
    hand_ = newer == queue_.end() ? std::nullopt : std::optional(*newer);
  }

  Pages queue_;
  std::optional<uint64_t> hand_;  // the page to look at next; none: the oldest
  std::set<uint64_t> visited_;
};

TEST_CASE("ARC chooses what the plainest ARC chooses") { CompareWithModel<ArcModel>("arc"); }

TEST_CASE("CAR chooses what the plainest CAR chooses") { CompareWithModel<CarModel>("car"); }

TEST_CASE("S3-FIFO chooses what the plainest S3-FIFO chooses") {
  CompareWithModel<S3FifoModel>("s3-fifo");
}

TEST_CASE("SIEVE chooses what the plainest SIEVE chooses") {
  CompareWithModel<SieveModel>("sieve");
}

}  // namespace
}  // namespace latchkey::adaptive_model_test
