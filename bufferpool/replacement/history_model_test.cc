// LFU, LRU-2, MQ and LIRS compared with the simplest implementations of the same algorithms.
#include <map>
#include <tuple>

#include "bufferpool/testing/replacement_model.h"

namespace latchkey::history_model_test {
namespace {

// Evicted pages with a number each, the newest last. An incoming page leaves before the victim
// enters; if the eviction is given up, it is the newest again.
class GhostModel {
 public:
  explicit GhostModel(size_t limit) : limit_(limit) {}
  void SetAside(uint64_t incoming) {
    aside_.reset();
    if (Erase(pages_, incoming)) aside_ = incoming;
  }
  void GiveUp() {
    if (aside_) pages_.push_back(*aside_);
    aside_.reset();
  }
  void Push(uint64_t page, uint64_t number) {
    numbers_[page] = number;
    pages_.push_back(page);
    while (pages_.size() > limit_) pages_.pop_front();
  }
  void Forget(uint64_t page) { Erase(pages_, page); }
  std::optional<uint64_t> Take(uint64_t page) {
    const bool found = aside_ == page || Erase(pages_, page);
    aside_.reset();
    return found ? std::optional(numbers_.at(page)) : std::nullopt;
  }

 private:
  const size_t limit_;
  Pages pages_;
  std::map<uint64_t, uint64_t> numbers_;
  std::optional<uint64_t> aside_;
};

// The unpinned page of `ranks` with the smallest rank.
template <typename Ranks>
std::optional<uint64_t> Smallest(const Ranks& ranks, const std::set<uint64_t>& pinned) {
  auto smallest = ranks.end();
  for (auto it = ranks.begin(); it != ranks.end(); ++it) {
    if (pinned.count(it->first) == 1) continue;
    if (smallest == ranks.end() || it->second < smallest->second) smallest = it;
  }
  return smallest == ranks.end() ? std::nullopt : std::optional(smallest->first);
}

class LfuModel {
 public:
  explicit LfuModel(size_t) {}
  void Hit(uint64_t page) { use_[page] = {use_[page].first + 1, ++now_}; }
  void Load(uint64_t page) { use_[page] = {1, ++now_}; }
  void Remove(uint64_t page) { use_.erase(page); }
  void Reinstate(uint64_t page) { use_[page] = evicted_; }
  std::optional<uint64_t> Victim(uint64_t, const std::set<uint64_t>& pinned) {
    const auto victim = Smallest(use_, pinned);
    if (victim) evicted_ = use_.at(*victim);
    if (victim) use_.erase(*victim);
    return victim;
  }

 private:
  using Use = std::pair<uint64_t, uint64_t>;  // count, since
  uint64_t now_ = 0;
  std::map<uint64_t, Use> use_;
  Use evicted_;
};

TEST_CASE("LFU chooses what the plainest LFU chooses") { CompareWithModel<LfuModel>("lfu"); }

template <int kCrpPercent, int kHistoryPercent>
class Lru2Model {
 public:
  explicit Lru2Model(size_t frames)
      : crp_(frames * kCrpPercent / 100), ghosts_(frames * kHistoryPercent / 100) {}
  void Hit(uint64_t page) {
    History& history = resident_.at(page);
    ++now_;
    if (now_ - history.last > crp_) {
      history.second = history.last;
      history.first = now_;
    }
    history.last = now_;
    history.spared = true;
  }
  void Load(uint64_t page) {
    ++now_;
    resident_[page] = {now_, now_, ghosts_.Take(page).value_or(0), true};
  }
  void Remove(uint64_t page) { resident_.erase(page); }
  std::optional<uint64_t> Victim(uint64_t incoming, const std::set<uint64_t>& pinned) {
    std::map<uint64_t, std::tuple<bool, uint64_t, uint64_t>> ranks;
    for (const auto& [page, h] : resident_) {
      const bool spared = h.spared && now_ + 1 - h.last <= crp_;
      ranks[page] = {spared, spared ? h.last : h.second, spared ? 0 : h.first};
    }
    const auto victim = Smallest(ranks, pinned);
    if (!victim) return victim;
    ghosts_.SetAside(incoming);
    evicted_ = resident_.at(*victim);
    ghosts_.Push(*victim, evicted_.first);
    resident_.erase(*victim);
    return victim;
  }
  void Reinstate(uint64_t page) {
    ghosts_.Forget(page);
    ghosts_.GiveUp();
    resident_[page] = {evicted_.last, evicted_.first, evicted_.second, false};
  }

 private:
  struct History {
    uint64_t last, first, second;
    bool spared;
  };
  const uint64_t crp_;
  uint64_t now_ = 0;
  GhostModel ghosts_;
  std::map<uint64_t, History> resident_;
  History evicted_ = {};
};

TEST_CASE("LRU-2 chooses what the plainest LRU-2 chooses, by heap and by array") {
  CompareWithModel<Lru2Model<0, 50>>("lru2");
  CompareWithModel<Lru2Model<0, 50>>("lru2:variant=array");
  CompareWithModel<Lru2Model<25, 200>>("lru2:crp=0.25:history=2");
  CompareWithModel<Lru2Model<25, 200>>("lru2:crp=0.25:history=2:variant=array");
  CompareWithModel<Lru2Model<100, 0>>("lru2:crp=1:history=0");
  CompareWithModel<Lru2Model<100, 0>>("lru2:crp=1:history=0:variant=array");
}

template <size_t kQueues, uint64_t kLifetime, int kOutPercent>
class MqModel {
 public:
  explicit MqModel(size_t frames) : ghosts_(frames * kOutPercent / 100) {}
  void Hit(uint64_t page) {
    Remove(page);
    Use(page, count_[page] + 1);
  }
  void Load(uint64_t page) { Use(page, ghosts_.Take(page).value_or(0) + 1); }
  void Remove(uint64_t page) {
    for (Pages& queue : queues_) Erase(queue, page);
  }
  std::optional<uint64_t> Victim(uint64_t incoming, const std::set<uint64_t>& pinned) {
    for (size_t q = 0; q < kQueues; ++q) {
      const auto victim = OldestUnpinned(queues_[q], pinned);
      if (!victim) continue;
      Erase(queues_[q], *victim);
      left_queue_ = q;
      ghosts_.SetAside(incoming);
      ghosts_.Push(*victim, count_[*victim]);
      return victim;
    }
    return std::nullopt;
  }
  void Reinstate(uint64_t page) {
    ghosts_.Forget(page);
    ghosts_.GiveUp();
    queues_[left_queue_].push_front(page);
  }

 private:
  void Use(uint64_t page, uint64_t count) {
    count_[page] = count;
    size_t queue = 0;
    while (queue + 1 < kQueues && (uint64_t{2} << queue) <= count) ++queue;
    Put(page, queue);
    ++now_;
    for (size_t q = 1; q < kQueues; ++q) {
      if (queues_[q].empty() || expires_[queues_[q].front()] >= now_) continue;
      const uint64_t falls = queues_[q].front();
      queues_[q].pop_front();
      Put(falls, q - 1);
    }
  }
  void Put(uint64_t page, size_t queue) {
    queues_[queue].push_back(page);
    expires_[page] = now_ + kLifetime;
  }

  uint64_t now_ = 0;
  Pages queues_[kQueues];
  std::map<uint64_t, uint64_t> count_, expires_;
  GhostModel ghosts_;
  size_t left_queue_ = 0;
};

TEST_CASE("MQ chooses what the plainest MQ chooses") {
  CompareWithModel<MqModel<8, 10'000, 400>>("mq");
  CompareWithModel<MqModel<8, 20, 400>>("mq:lifetime=20");
  CompareWithModel<MqModel<3, 1, 50>>("mq:queues=3:lifetime=1:out=0.5");
  CompareWithModel<MqModel<1, 5, 0>>("mq:queues=1:lifetime=5:out=0");
}

template <int kHirPercent, size_t kStack>
class LirsModel {
 public:
  explicit LirsModel(size_t frames)
      : lir_limit_(frames - std::min(std::max<size_t>(2, frames * kHirPercent / 100), frames - 1)),
        stack_limit_(kStack * frames) {}
  void Hit(uint64_t page) {
    if (last_ == page) return;
    const bool was_in_stack = Erase(stack_, page);
    if (lir_.count(page) == 1) {
      stack_.push_back(page);
      Prune();
    } else {
      Erase(queue_, page);
      Enter(page, was_in_stack);
    }
    last_ = page;
  }
  void Load(uint64_t page) {
    const bool was_in_stack = Erase(stack_, page);
    Enter(page, was_in_stack);
    last_ = page;
  }
  void Remove(uint64_t page) {
    Erase(stack_, page);
    Erase(queue_, page);
    lir_.erase(page);
    Prune();
    if (last_ == page) last_.reset();
  }
  std::optional<uint64_t> Victim(uint64_t, const std::set<uint64_t>& pinned) {
    auto victim = OldestUnpinned(queue_, pinned);
    if (victim) {
      const bool has_ghost = InStack(*victim);
      // The room for ghosts is what the stack has beyond all LIR pages, and one.
      if (has_ghost && Ghosts().size() == stack_limit_ - lir_limit_ + 1) {
        Erase(stack_, Ghosts().front());
      }
      Erase(queue_, *victim);
    } else {
      Pages lir;
      for (const uint64_t page : stack_) {
        if (lir_.count(page) == 1) lir.push_back(page);
      }
      victim = OldestUnpinned(lir, pinned);
      if (victim) Remove(*victim);
    }
    if (victim && last_ == *victim) last_.reset();
    return victim;
  }
  void Reinstate(uint64_t page) { queue_.push_front(page); }

 private:
  bool InStack(uint64_t page) const {
    return std::find(stack_.begin(), stack_.end(), page) != stack_.end();
  }
  Pages Ghosts() const {
    Pages ghosts;
    for (const uint64_t page : stack_) {
      const bool resident = std::find(queue_.begin(), queue_.end(), page) != queue_.end();
      if (lir_.count(page) == 0 && !resident) ghosts.push_back(page);
    }
    return ghosts;
  }
  void Enter(uint64_t page, bool was_in_stack) {
    stack_.push_back(page);
    if (was_in_stack || lir_.size() < lir_limit_) {
      lir_.insert(page);
    } else {
      queue_.push_back(page);
    }
    if (lir_.size() > lir_limit_) {
      lir_.erase(stack_.front());
      queue_.push_back(stack_.front());
    }
    Prune();
    while (stack_.size() > stack_limit_) {
      const auto hir = std::find_if(stack_.begin(), stack_.end(),
                                    [&](uint64_t p) { return lir_.count(p) == 0; });
      if (hir == stack_.end()) break;
      stack_.erase(hir);
    }
  }
  void Prune() {
    while (!stack_.empty() && lir_.count(stack_.front()) == 0) stack_.pop_front();
  }

  const size_t lir_limit_, stack_limit_;
  Pages stack_, queue_;
  std::set<uint64_t> lir_;
  std::optional<uint64_t> last_;
};

TEST_CASE("LIRS chooses what the plainest LIRS chooses") {
  CompareWithModel<LirsModel<1, 2>>("lirs");
  CompareWithModel<LirsModel<25, 3>>("lirs:hir=0.25:stack=3");
  CompareWithModel<LirsModel<25, 1>>("lirs:hir=0.25:stack=1");
  CompareWithModel<LirsModel<100, 2>>("lirs:hir=1:stack=2");
}

}  // namespace
}  // namespace latchkey::history_model_test
