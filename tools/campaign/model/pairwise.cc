#include "tools/campaign/model/pairwise.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "storage/base/rng.h"

namespace latchkey {
namespace {

using Row = std::vector<uint8_t>;
// Dimension, value, later dimension, its value.
using Pair = std::tuple<size_t, uint8_t, size_t, uint8_t>;

constexpr int kCandidates = 30;
constexpr uint8_t kOpen = 255;

Pair PairOf(size_t a, uint8_t value_a, size_t b, uint8_t value_b) {
  return a < b ? Pair(a, value_a, b, value_b) : Pair(b, value_b, a, value_a);
}

template <typename Visit>
void ForEachPair(const Row& row, const Visit& visit) {
  for (size_t a = 0; a < row.size(); ++a) {
    for (size_t b = a + 1; b < row.size(); ++b) visit(Pair(a, row[a], b, row[b]));
  }
}

class Builder {
 public:
  Builder(std::span<const uint8_t> values, uint64_t seed) : values_(values), rng_(seed) {
    for (size_t a = 0; a < values.size(); ++a) {
      for (size_t b = a + 1; b < values.size(); ++b) {
        for (uint8_t x = 0; x < values[a]; ++x) {
          for (uint8_t y = 0; y < values[b]; ++y) missing_.emplace(a, x, b, y);
        }
      }
    }
  }

  std::vector<Row> Build() {
    std::vector<Row> rows;
    while (!missing_.empty()) {
      Row best;
      size_t most = 0;
      for (int i = 0; i < kCandidates; ++i) {
        Row row = Candidate();
        size_t gain = 0;
        ForEachPair(row, [&](const Pair& pair) { gain += missing_.count(pair); });
        if (gain > most) {
          most = gain;
          best = std::move(row);
        }
      }
      ForEachPair(best, [&](const Pair& pair) { missing_.erase(pair); });
      rows.push_back(std::move(best));
    }
    return rows;
  }

 private:
  // Begins with a missing pair. Then, in random order, each dimension gets the value that adds most
  // missing pairs with the values chosen so far.
  Row Candidate() {
    Row row(values_.size(), kOpen);
    const auto [a, x, b, y] =
        *std::next(missing_.begin(), static_cast<ptrdiff_t>(rng_.Below(missing_.size())));
    row[a] = x;
    row[b] = y;
    std::vector<size_t> order(values_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.Below(i)]);
    for (const size_t dimension : order) {
      if (row[dimension] == kOpen) row[dimension] = BestValue(row, dimension);
    }
    return row;
  }

  uint8_t BestValue(const Row& row, size_t dimension) {
    const uint8_t count = values_[dimension];
    const auto first = static_cast<uint8_t>(rng_.Below(count));
    uint8_t best = first;
    size_t most = 0;
    for (uint8_t i = 0; i < count; ++i) {
      const auto value = static_cast<uint8_t>((first + i) % count);
      size_t gain = 0;
      for (size_t other = 0; other < row.size(); ++other) {
        if (row[other] == kOpen || other == dimension) continue;
        gain += missing_.count(PairOf(dimension, value, other, row[other]));
      }
      if (gain > most) {
        most = gain;
        best = value;
      }
    }
    return best;
  }

  std::span<const uint8_t> values_;
  Rng rng_;
  std::set<Pair> missing_;
};

}  // namespace

std::vector<std::vector<uint8_t>> PairwiseRows(std::span<const uint8_t> values, uint64_t seed) {
  return Builder(values, seed).Build();
}

size_t CountPairs(std::span<const std::vector<uint8_t>> rows) {
  std::set<Pair> pairs;
  for (const Row& row : rows) {
    ForEachPair(row, [&](const Pair& pair) { pairs.insert(pair); });
  }
  return pairs.size();
}

size_t CountAllPairs(std::span<const uint8_t> values) {
  size_t pairs = 0;
  for (size_t a = 0; a < values.size(); ++a) {
    for (size_t b = a + 1; b < values.size(); ++b) pairs += size_t{values[a]} * values[b];
  }
  return pairs;
}

}  // namespace latchkey
