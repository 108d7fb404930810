// Combinations that hold every pair of values of every two dimensions. Most mistakes that need more
// than one option need two. The greedy choice is that of Cohen et al., "The AETG System", TSE 1997.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace latchkey {

/// Two values of two dimensions, a.dimension < b.dimension.
struct ValuePair {
  struct Value {
    size_t dimension;
    uint8_t value;
    auto operator<=>(const Value&) const = default;
  };
  Value a, b;
  auto operator<=>(const ValuePair&) const = default;
};
/// Whether two values may be combined.
using IsPossiblePair = absl::FunctionRef<bool(const ValuePair&)>;

/// Rows with one value (0 to values - 1) for each dimension, which together hold all possible pairs
/// and no other. `values`: number of values of each dimension, 1 to 64. Same arguments, same rows.
/// REQUIRES: whatever other dimensions have, each dimension has a value that may be combined.
std::vector<std::vector<uint8_t>> PairwiseRows(std::span<const uint8_t> values,
                                               IsPossiblePair possible, uint64_t seed);

/// Number of different pairs of values of two dimensions in `rows`.
size_t CountPairs(std::span<const std::vector<uint8_t>> rows);
/// Number of possible pairs.
size_t CountAllPairs(std::span<const uint8_t> values, IsPossiblePair possible);

}  // namespace latchkey
