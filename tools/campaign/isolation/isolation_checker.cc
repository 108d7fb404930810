#include "tools/campaign/isolation/isolation_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace latchkey {
namespace {

constexpr size_t kNobody = SIZE_MAX;
enum EdgeKind : uint8_t { kWw = 1, kWr = 2, kRw = 4 };

struct Edge {
  size_t to;
  EdgeKind kind;
};

std::string Show(const std::vector<Element>& list) {
  return fmt::format("[{}]", fmt::join(list, " "));
}

// Strongly connected components of at least two nodes, over the edges of `kinds`. Iterative:
// recursion over a long history would overflow the stack.
class Tarjan {
 public:
  Tarjan(const std::vector<std::vector<Edge>>& edges, unsigned kinds)
      : edges_(edges),
        kinds_(kinds),
        index_(edges.size(), 0),
        low_(edges.size(), 0),
        on_stack_(edges.size(), false) {
    for (size_t node = 0; node < edges.size(); ++node) {
      if (index_[node] == 0) Visit(node);
    }
  }
  const std::vector<std::vector<size_t>>& components() const { return components_; }

 private:
  struct Call {
    size_t node;
    size_t next_edge = 0;
  };
  void Visit(size_t root) {
    std::vector<Call> calls;
    Enter(root, calls);
    while (!calls.empty()) {
      Call& call = calls.back();
      const size_t node = call.node;
      if (call.next_edge == edges_[node].size()) {
        calls.pop_back();
        if (!calls.empty()) low_[calls.back().node] = std::min(low_[calls.back().node], low_[node]);
        if (low_[node] == index_[node]) TakeComponent(node);
        continue;
      }
      const Edge edge = edges_[node][call.next_edge++];
      if ((edge.kind & kinds_) == 0) continue;
      if (index_[edge.to] == 0) {
        Enter(edge.to, calls);
      } else if (on_stack_[edge.to]) {
        low_[node] = std::min(low_[node], index_[edge.to]);
      }
    }
  }
  void Enter(size_t node, std::vector<Call>& calls) {
    index_[node] = low_[node] = ++counter_;
    stack_.push_back(node);
    on_stack_[node] = true;
    calls.push_back({node});
  }
  void TakeComponent(size_t root) {
    std::vector<size_t> component;
    size_t node;
    do {
      node = stack_.back();
      stack_.pop_back();
      on_stack_[node] = false;
      component.push_back(node);
    } while (node != root);
    if (component.size() > 1) components_.push_back(std::move(component));
  }

  const std::vector<std::vector<Edge>>& edges_;
  const unsigned kinds_;
  std::vector<size_t> index_, low_;
  std::vector<bool> on_stack_;
  std::vector<size_t> stack_;
  size_t counter_ = 0;
  std::vector<std::vector<size_t>> components_;
};

class Checker {
 public:
  explicit Checker(const ListHistory& history) : history_(history), edges_(history.size()) {
    result_.transactions = history.size();
    FindWriters();
    for (size_t t = 0; t < history_.size(); ++t) CheckInside(t);
    FindOrders();
    CheckLost();
    for (size_t t = 0; t < history_.size(); ++t) {
      if (history_[t].committed) CheckReads(t);
    }
    AddWriteEdges();
    for (const auto& from : edges_) result_.edges += from.size();
  }

  CheckerResult Run() {
    FindCycles(kWw, Anomaly::kG0);
    FindCycles(kWw | kWr, Anomaly::kG1c);
    FindReadCycles();
    return std::move(result_);
  }
  const std::vector<std::vector<size_t>>& read_components() const { return read_components_; }

 private:
  void Report(Anomaly kind, std::string what) {
    constexpr size_t kMostPerKind = 5;
    if (reported_[kind]++ < kMostPerKind) result_.found.push_back({kind, std::move(what)});
  }

  struct Append {
    size_t by = kNobody;
    bool is_last = true;  // the transaction's last append to this key
  };
  void FindWriters() {
    for (size_t t = 0; t < history_.size(); ++t) {
      std::map<uint32_t, Element> last;
      for (const ListOperation& op : history_[t].operations) {
        if (!op.is_append) continue;
        if (!appends_.emplace(op.element, Append{t, true}).second) {
          Report(Anomaly::kMalformed, fmt::format("element {} was appended twice", op.element));
        }
        if (const auto before = last.find(op.key); before != last.end()) {
          appends_[before->second].is_last = false;
        }
        last[op.key] = op.element;
      }
    }
  }

  // A transaction must read what it read before, plus its own appends since.
  void CheckInside(size_t t) {
    std::map<uint32_t, std::vector<Element>> expected;
    for (const ListOperation& op : history_[t].operations) {
      const auto known = expected.find(op.key);
      if (op.is_append) {
        if (known != expected.end()) known->second.push_back(op.element);
        continue;
      }
      if (known != expected.end() && known->second != op.list) {
        Report(Anomaly::kInternal, fmt::format("T{} read {} from key {} where it knew {}", t,
                                               Show(op.list), op.key, Show(known->second)));
      }
      expected[op.key] = op.list;
    }
  }

  void FindOrders() {
    for (const ListTransaction& txn : history_) {
      if (!txn.committed) continue;
      for (const ListOperation& op : txn.operations) {
        if (op.is_append) continue;
        std::vector<Element>& order = orders_[op.key];
        if (op.list.size() > order.size()) order = op.list;
      }
    }
  }

  void CheckLost() {
    for (const auto& [key, order] : orders_) {
      std::vector<Element> sorted = order;
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
        Report(Anomaly::kMalformed, fmt::format("key {} repeats an element: {}", key, Show(order)));
      }
    }
    if (history_.empty()) return;
    // An append that no read shows is lost only if the last transaction has read the key.
    std::map<uint32_t, const std::vector<Element>*> last;
    for (const ListOperation& op : history_.back().operations) {
      if (!op.is_append) last[op.key] = &op.list;
    }
    for (size_t t = 0; t < history_.size(); ++t) {
      if (!history_[t].committed) continue;
      for (const ListOperation& op : history_[t].operations) {
        const auto read = op.is_append ? last.find(op.key) : last.end();
        if (read == last.end() || t + 1 == history_.size()) continue;
        if (std::find(read->second->begin(), read->second->end(), op.element) ==
            read->second->end()) {
          Report(Anomaly::kLost, fmt::format("T{} appended {} to key {}, which ends as {}", t,
                                             op.element, op.key, Show(*read->second)));
        }
      }
    }
  }

  // The part of a read list that other transactions appended.
  std::vector<Element> Foreign(size_t t, const std::vector<Element>& list) const {
    std::vector<Element> foreign = list;
    while (!foreign.empty()) {
      const auto append = appends_.find(foreign.back());
      if (append == appends_.end() || append->second.by != t) break;
      foreign.pop_back();
    }
    return foreign;
  }

  void CheckReads(size_t t) {
    for (const ListOperation& op : history_[t].operations) {
      if (op.is_append) continue;
      const std::vector<Element> seen = Foreign(t, op.list);
      for (const Element element : seen) CheckSeen(t, op.key, element);
      const std::vector<Element>& order = orders_[op.key];
      if (!std::equal(
              seen.begin(), seen.end(), order.begin(),
              order.begin() + static_cast<ptrdiff_t>(std::min(seen.size(), order.size())))) {
        Report(Anomaly::kForked, fmt::format("T{} read {} from key {}, others {}", t, Show(op.list),
                                             op.key, Show(order)));
        continue;
      }
      if (!seen.empty()) {
        const auto last = appends_.find(seen.back());
        if (last != appends_.end()) {
          if (!last->second.is_last) {
            Report(Anomaly::kG1b, fmt::format("T{} read {} from key {}: T{} appended more", t,
                                              seen.back(), op.key, last->second.by));
          }
          AddEdge(last->second.by, t, kWr);
        }
      }
      if (seen.size() < order.size()) {
        const auto next = appends_.find(order[seen.size()]);
        if (next != appends_.end()) AddEdge(t, next->second.by, kRw);
      }
    }
  }
  void CheckSeen(size_t t, uint32_t key, Element element) {
    const auto append = appends_.find(element);
    if (append == appends_.end()) {
      Report(Anomaly::kMalformed,
             fmt::format("T{} read {} from key {}, which nobody appended", t, element, key));
    } else if (!history_[append->second.by].committed) {
      Report(Anomaly::kG1a, fmt::format("T{} read {} from key {}, appended by T{}, which aborted",
                                        t, element, key, append->second.by));
    }
  }

  void AddWriteEdges() {
    for (const auto& [key, order] : orders_) {
      for (size_t i = 1; i < order.size(); ++i) {
        const auto before = appends_.find(order[i - 1]), after = appends_.find(order[i]);
        if (before == appends_.end() || after == appends_.end()) continue;
        AddEdge(before->second.by, after->second.by, kWw);
      }
    }
  }
  void AddEdge(size_t from, size_t to, EdgeKind kind) {
    if (from != to) edges_[from].push_back({to, kind});
  }

  void FindCycles(unsigned kinds, Anomaly kind) {
    const Tarjan tarjan(edges_, kinds);
    for (const std::vector<size_t>& component : tarjan.components()) {
      // A component of ww edges alone is G0 and was reported as such.
      if (kind == Anomaly::kG1c && ShortestPath(component, component[0], component[0], kWw, true)) {
        continue;
      }
      Report(kind, DescribeCycle(component, component[0], component[0], kinds));
    }
  }

  void FindReadCycles() {
    const Tarjan tarjan(edges_, kWw | kWr | kRw);
    read_components_ = tarjan.components();
    for (const std::vector<size_t>& component : read_components_) {
      std::vector<bool> inside = Inside(component);
      bool has_rw = false, single = false;
      for (const size_t from : component) {
        for (const Edge& edge : edges_[from]) {
          if (edge.kind != kRw || !inside[edge.to] || single) continue;
          has_rw = true;
          if (ShortestPath(component, edge.to, from, kWw | kWr, false)) {
            single = true;
            Report(Anomaly::kGSingle,
                   fmt::format("T{} -rw-> {}", from,
                               DescribeCycle(component, edge.to, from, kWw | kWr)));
          }
        }
      }
      if (has_rw && !single) {
        g2_components_.push_back(component);
        Report(Anomaly::kG2, DescribeCycle(component, component[0], component[0], kWw | kWr | kRw));
      }
    }
  }

  std::vector<bool> Inside(const std::vector<size_t>& component) const {
    std::vector<bool> inside(edges_.size(), false);
    for (const size_t node : component) inside[node] = true;
    return inside;
  }

  // Breadth-first search from `from` to `to` within the component. A path from a node to itself has
  // at least one edge. nullopt: no path.
  std::optional<std::vector<std::pair<size_t, EdgeKind>>> ShortestPath(
      const std::vector<size_t>& component, size_t from, size_t to, unsigned kinds,
      bool at_least_one_edge) const {
    if (from == to && !at_least_one_edge) return std::vector<std::pair<size_t, EdgeKind>>();
    const std::vector<bool> inside = Inside(component);
    std::unordered_map<size_t, std::pair<size_t, EdgeKind>> came_from;
    std::deque<size_t> queue{from};
    while (!queue.empty()) {
      const size_t node = queue.front();
      queue.pop_front();
      for (const Edge& edge : edges_[node]) {
        if ((edge.kind & kinds) == 0 || !inside[edge.to]) continue;
        if (!came_from.emplace(edge.to, std::pair(node, edge.kind)).second) continue;
        if (edge.to == to) return Unwind(came_from, from, to);
        queue.push_back(edge.to);
      }
    }
    return std::nullopt;
  }
  static std::vector<std::pair<size_t, EdgeKind>> Unwind(
      const std::unordered_map<size_t, std::pair<size_t, EdgeKind>>& came_from, size_t from,
      size_t to) {
    std::vector<std::pair<size_t, EdgeKind>> path;
    size_t node = to;
    do {
      const auto [before, kind] = came_from.at(node);
      path.emplace_back(node, kind);
      node = before;
    } while (node != from);
    std::reverse(path.begin(), path.end());
    return path;
  }
  std::string DescribeCycle(const std::vector<size_t>& component, size_t from, size_t to,
                            unsigned kinds) const {
    std::string text = fmt::format("T{}", from);
    const auto path = ShortestPath(component, from, to, kinds, from == to);
    if (!path) return text;
    for (const auto& [node, kind] : *path) {
      text += fmt::format(" -{}-> T{}", kind == kWw ? "ww" : kind == kWr ? "wr" : "rw", node);
    }
    return text;
  }

 public:
  const std::vector<std::vector<size_t>>& g2_components() const { return g2_components_; }

 private:
  const ListHistory& history_;
  CheckerResult result_;
  std::map<Anomaly, size_t> reported_;
  std::unordered_map<Element, Append> appends_;
  std::map<uint32_t, std::vector<Element>> orders_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::vector<size_t>> read_components_, g2_components_;
};

bool Writes(const ListTransaction& txn) {
  return std::any_of(txn.operations.begin(), txn.operations.end(),
                     [](const ListOperation& op) { return op.is_append; });
}

}  // namespace

const char* NameOf(Anomaly anomaly) {
  switch (anomaly) {
    case Anomaly::kMalformed:
      return "malformed";
    case Anomaly::kInternal:
      return "internal";
    case Anomaly::kForked:
      return "forked";
    case Anomaly::kLost:
      return "lost append";
    case Anomaly::kG0:
      return "G0";
    case Anomaly::kG1a:
      return "G1a";
    case Anomaly::kG1b:
      return "G1b";
    case Anomaly::kG1c:
      return "G1c";
    case Anomaly::kGSingle:
      return "G-single";
    case Anomaly::kG2:
      return "G2";
  }
  return "?";
}

bool CheckerResult::Has(Anomaly kind) const {
  return std::any_of(found.begin(), found.end(),
                     [kind](const FoundAnomaly& f) { return f.kind == kind; });
}

CheckerResult CheckHistory(const ListHistory& history) { return Checker(history).Run(); }

CheckerResult CheckPromises(const ListHistory& history) {
  Checker checker(history);
  CheckerResult result = checker.Run();
  const bool promised = std::any_of(
      checker.g2_components().begin(), checker.g2_components().end(), [&](const auto& component) {
        return std::all_of(component.begin(), component.end(), [&](size_t t) {
          return history[t].serializable || !Writes(history[t]);
        });
      });
  if (!promised) {
    std::erase_if(result.found, [](const FoundAnomaly& f) { return f.kind == Anomaly::kG2; });
  }
  return result;
}

}  // namespace latchkey
