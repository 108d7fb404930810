#include "bufferpool/replacement/frequency_sketch.h"

#include <algorithm>
#include <bit>

#include "storage/base/hash.h"

namespace latchkey {
namespace {

constexpr uint64_t kCounterMask = 15;
constexpr uint64_t kLowestBits = 0x1111111111111111;
constexpr uint64_t kHalfMask = 0x7777777777777777;

}  // namespace

void FrequencySketch::Resize(size_t frames) {
  const size_t words = std::bit_ceil(std::max<size_t>(frames, 1));
  if (words < words_.size()) {
    words_ = std::vector<uint64_t>(words);
  } else if (words > words_.size()) {
    std::vector<uint64_t> grown(words);
    for (size_t i = 0; i < words && !words_.empty(); ++i) grown[i] = words_[i % words_.size()];
    words_ = std::move(grown);
  }
  period_ = 10 * words;
  additions_ = std::min(additions_, period_ - 1);
}

// A word number per row, by double hashing, and one of the row's four counters in that word.
FrequencySketch::Place FrequencySketch::PlaceOf(uint64_t hash, uint32_t row) const {
  const uint64_t step = (hash >> 32) | 1;
  return {.word = (hash + row * step) & (words_.size() - 1),
          .shift = 4 * (4 * row + static_cast<uint32_t>((hash >> (56 + 2 * row)) & 3))};
}

void FrequencySketch::Add(PageId page) {
  const uint64_t hash = MixHash(Raw(page));
  bool added = false;
  for (uint32_t row = 0; row < kRows; ++row) {
    const auto [word, shift] = PlaceOf(hash, row);
    if (((words_[word] >> shift) & kCounterMask) == kHighestCount) continue;
    words_[word] += uint64_t{1} << shift;
    added = true;
  }
  if (added && ++additions_ >= period_) Halve();
}

uint32_t FrequencySketch::Estimate(PageId page) const {
  const uint64_t hash = MixHash(Raw(page));
  uint64_t estimate = kHighestCount;
  for (uint32_t row = 0; row < kRows; ++row) {
    const auto [word, shift] = PlaceOf(hash, row);
    estimate = std::min(estimate, (words_[word] >> shift) & kCounterMask);
  }
  return static_cast<uint32_t>(estimate);
}

void FrequencySketch::Prefetch(PageId page) const {
  const uint64_t hash = MixHash(Raw(page));
  for (uint32_t row = 0; row < kRows; ++row) {
    __builtin_prefetch(&words_[PlaceOf(hash, row).word], 1);
  }
}

void FrequencySketch::Halve() {
  uint64_t odd = 0;  // counters that lose half a request
  for (uint64_t& word : words_) {
    odd += static_cast<uint64_t>(std::popcount(word & kLowestBits));
    word = (word >> 1) & kHalfMask;
  }
  additions_ = (additions_ - odd / kRows) / 2;
}

}  // namespace latchkey
