// Estimates how often each page was requested lately: a count-min sketch of four rows with counters
// of 4 bits (Einziger, Friedman and Manes, TinyLFU, ACM TOS 2017). The number of frames is rounded
// up to a power of two: 8 bytes for each. After ten requests for each, every counter is halved, so
// that the past fades.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/base/ids.h"

namespace latchkey {

class FrequencySketch {
 public:
  /// Memory for each frame, at most.
  static constexpr size_t kMostBytesPerFrame = 16;
  static constexpr uint32_t kHighestCount = 15;

  /// Makes the sketch right for `frames` frames. Doubling keeps the counts, shrinking forgets them.
  void Resize(size_t frames);
  /// Counts a request of `page`.
  void Add(PageId page);
  /// The requests of `page`, halved with the counters, at most kHighestCount. Pages that share
  /// counters may raise the estimate; only halving lowers it.
  uint32_t Estimate(PageId page) const;
  /// Asks the processor for the counters of `page`.
  void Prefetch(PageId page) const;

 private:
  static constexpr uint32_t kRows = 4;
  // Each word has 16 counters, four of each row.
  struct Place {
    size_t word;
    uint32_t shift;
  };
  Place PlaceOf(uint64_t hash, uint32_t row) const;
  void Halve();

  std::vector<uint64_t> words_;  // a power of two of them
  uint64_t period_ = 0;          // additions from one halving to the next
  uint64_t additions_ = 0;
};

}  // namespace latchkey
