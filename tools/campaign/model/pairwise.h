// Combinations that hold every pair of values of every two dimensions. Most mistakes that need more
// than one option need two. The greedy choice is that of Cohen et al., "The AETG System", TSE 1997.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace latchkey {

/// Rows with one value (0 to values - 1) for each dimension. `values`: number of values of each
/// dimension, 1 to 64. Same arguments, same rows.
std::vector<std::vector<uint8_t>> PairwiseRows(std::span<const uint8_t> values, uint64_t seed);

/// Number of different pairs of values of two dimensions in `rows`.
size_t CountPairs(std::span<const std::vector<uint8_t>> rows);
/// Number of possible pairs.
size_t CountAllPairs(std::span<const uint8_t> values);

}  // namespace latchkey
