#include "tools/campaign/isolation/isolation_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace latchkey {
namespace {

class Replay {
 public:
  explicit Replay(const ListHistory& history) : history_(history) {
    std::vector<size_t> order;
    for (size_t t = 0; t < history.size(); ++t) {
      if (history[t].committed && history[t].commit_ts != 0) order.push_back(t);
    }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return history[a].commit_ts < history[b].commit_ts; });
    for (size_t i = 1; i < order.size(); ++i) {
      if (history[order[i]].commit_ts == history[order[i - 1]].commit_ts) {
        Wrong("T{} and T{} have one timestamp", order[i - 1], order[i]);
      }
    }
    for (const size_t t : order) Commit(t);
  }

  std::vector<std::string> Run() {
    for (size_t t = 0; t < history_.size(); ++t) {
      const ListTransaction& txn = history_[t];
      // A transaction that rolled back after all its reads must have seen one snapshot, too.
      if (txn.read_ts != 0 || txn.committed) CheckReads(t, txn.read_ts, "its snapshot");
      if (txn.serializable && txn.commit_ts != 0) {
        CheckReads(t, txn.commit_ts - 1, "its place in the serial order");
      }
      if (txn.commit_ts != 0) CheckFirstCommitter(t);
    }
    return std::move(wrong_);
  }

 private:
  struct Version {
    uint64_t ts;
    std::vector<Element> list;
  };
  using Versions = std::vector<Version>;  // in ascending order of timestamps

  template <typename... Args>
  void Wrong(fmt::format_string<Args...> format, Args&&... args) {
    constexpr size_t kMost = 20;
    if (wrong_.size() < kMost) wrong_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void Commit(size_t t) {
    std::map<uint32_t, std::vector<Element>> written;
    for (const ListOperation& op : history_[t].operations) {
      if (!op.is_append) continue;
      const auto found = written.find(op.key);
      std::vector<Element> list = found != written.end() ? found->second : Newest(op.key);
      list.push_back(op.element);
      written[op.key] = std::move(list);
    }
    for (auto& [key, list] : written) {
      versions_[key].push_back({history_[t].commit_ts, std::move(list)});
    }
  }
  std::vector<Element> Newest(uint32_t key) {
    const Versions& versions = versions_[key];
    return versions.empty() ? std::vector<Element>() : versions.back().list;
  }
  const std::vector<Element>& At(uint32_t key, uint64_t ts) const {
    static const std::vector<Element> kNothing;
    const auto found = versions_.find(key);
    if (found == versions_.end()) return kNothing;
    const auto after = std::upper_bound(found->second.begin(), found->second.end(), ts,
                                        [](uint64_t at, const Version& v) { return at < v.ts; });
    return after == found->second.begin() ? kNothing : std::prev(after)->list;
  }

  void CheckReads(size_t t, uint64_t ts, const char* what) {
    std::map<uint32_t, std::vector<Element>> own;
    for (const ListOperation& op : history_[t].operations) {
      if (op.is_append) {
        own[op.key].push_back(op.element);
        continue;
      }
      std::vector<Element> expected = At(op.key, ts);
      if (const auto mine = own.find(op.key); mine != own.end()) {
        expected.insert(expected.end(), mine->second.begin(), mine->second.end());
      }
      if (op.list != expected) {
        Wrong("T{} (snapshot {}, commit {}) read [{}] from key {}; at {}, {}, it held [{}]", t,
              history_[t].read_ts, history_[t].commit_ts, fmt::join(op.list, " "), op.key, what, ts,
              fmt::join(expected, " "));
      }
    }
  }

  void CheckFirstCommitter(size_t t) {
    const ListTransaction& txn = history_[t];
    for (const ListOperation& op : txn.operations) {
      if (!op.is_append) continue;
      for (const Version& version : versions_[op.key]) {
        if (version.ts > txn.read_ts && version.ts < txn.commit_ts) {
          Wrong("T{} wrote key {} at {}, which was committed at {} after its snapshot {}", t,
                op.key, txn.commit_ts, version.ts, txn.read_ts);
        }
      }
    }
  }

  const ListHistory& history_;
  std::unordered_map<uint32_t, Versions> versions_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> ReplayCommitOrder(const ListHistory& history) {
  return Replay(history).Run();
}

}  // namespace latchkey
