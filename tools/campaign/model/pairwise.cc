#include "tools/campaign/model/pairwise.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "storage/base/check.h"
#include "storage/base/rng.h"

namespace latchkey {
namespace {

using Row = std::vector<uint8_t>;
constexpr int kCandidates = 30;
constexpr uint8_t kOpen = 255;

ValuePair PairOf(ValuePair::Value a, ValuePair::Value b) {
  return a.dimension < b.dimension ? ValuePair{a, b} : ValuePair{b, a};
}

// All pairs of the dimensions, with those that are impossible.
template <typename Visit>
void ForEachPairOf(std::span<const uint8_t> values, const Visit& visit) {
  for (size_t a = 0; a < values.size(); ++a) {
    for (size_t b = a + 1; b < values.size(); ++b) {
      for (uint8_t x = 0; x < values[a]; ++x) {
        for (uint8_t y = 0; y < values[b]; ++y) visit(ValuePair{{a, x}, {b, y}});
      }
    }
  }
}

template <typename Visit>
void ForEachPair(const Row& row, const Visit& visit) {
  for (size_t a = 0; a < row.size(); ++a) {
    for (size_t b = a + 1; b < row.size(); ++b) visit(ValuePair{{a, row[a]}, {b, row[b]}});
  }
}

class Builder {
 public:
  Builder(std::span<const uint8_t> values, IsPossiblePair possible, uint64_t seed)
      : values_(values), possible_(possible), rng_(seed) {
    ForEachPairOf(values, [&](const ValuePair& pair) {
      if (possible(pair)) missing_.insert(pair);
    });
  }

  std::vector<Row> Build() {
    std::vector<Row> rows;
    while (!missing_.empty()) {
      Row best;
      size_t most = 0;
      for (int i = 0; i < kCandidates; ++i) {
        Row row = Candidate();
        size_t gain = 0;
        ForEachPair(row, [&](const ValuePair& pair) { gain += missing_.count(pair); });
        if (gain > most) {
          most = gain;
          best = std::move(row);
        }
      }
      ForEachPair(best, [&](const ValuePair& pair) { missing_.erase(pair); });
      rows.push_back(std::move(best));
    }
    return rows;
  }

 private:
  // Begins with a missing pair. Then, in random order, each dimension gets the value that adds most
  // missing pairs with the values chosen so far.
  Row Candidate() {
    Row row(values_.size(), kOpen);
    const auto [a, b] =
        *std::next(missing_.begin(), static_cast<ptrdiff_t>(rng_.Below(missing_.size())));
    row[a.dimension] = a.value;
    row[b.dimension] = b.value;
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
    uint8_t best = kOpen;
    size_t most = 0;
    for (uint8_t i = 0; i < count; ++i) {
      const auto value = static_cast<uint8_t>((first + i) % count);
      size_t gain = 0;
      bool possible = true;
      for (size_t other = 0; other < row.size(); ++other) {
        if (row[other] == kOpen || other == dimension) continue;
        const ValuePair pair = PairOf({dimension, value}, {other, row[other]});
        possible = possible && possible_(pair);
        gain += missing_.count(pair);
      }
      if (possible && (best == kOpen || gain > most)) {
        most = gain;
        best = value;
      }
    }
    LATCHKEY_CHECK(best != kOpen);
    return best;
  }

  std::span<const uint8_t> values_;
  IsPossiblePair possible_;
  Rng rng_;
  std::set<ValuePair> missing_;
};

}  // namespace

std::vector<std::vector<uint8_t>> PairwiseRows(std::span<const uint8_t> values,
                                               IsPossiblePair possible, uint64_t seed) {
  return Builder(values, possible, seed).Build();
}

size_t CountPairs(std::span<const std::vector<uint8_t>> rows) {
  std::set<ValuePair> pairs;
  for (const Row& row : rows) {
    ForEachPair(row, [&](const ValuePair& pair) { pairs.insert(pair); });
  }
  return pairs.size();
}

size_t CountAllPairs(std::span<const uint8_t> values, IsPossiblePair possible) {
  size_t pairs = 0;
  ForEachPairOf(values, [&](const ValuePair& pair) { pairs += possible(pair) ? 1 : 0; });
  return pairs;
}

}  // namespace latchkey
