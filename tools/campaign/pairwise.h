// Combinations that hold every pair of values of every two dimensions: most mistakes that take more
// than one option take two (Cohen et al., "The AETG System", TSE 1997, whose greedy choice this
// is).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace latchkey {

/// Rows of one value (0 to values - 1) for each dimension. `values`: how many each dimension has,
/// 1 to 64. Same arguments, same rows.
std::vector<std::vector<uint8_t>> PairwiseRows(std::span<const uint8_t> values, uint64_t seed);

/// How many different pairs of values of two dimensions `rows` hold.
size_t CountPairs(std::span<const std::vector<uint8_t>> rows);
/// How many there are.
size_t CountAllPairs(std::span<const uint8_t> values);

}  // namespace latchkey
