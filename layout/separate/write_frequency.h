// Write frequency of each page: a decayed counter per page, and the distribution of writes over
// pages that a separator decides by.
//
// An epoch is a number of writes. A page has a count for the present epoch and a history, an
// exponentially weighted mean over about the last kMemory epochs. The distribution is measured out
// of sample (LAYOUT_REFERENCE 6.7, A11): pages are ranked by their history at the beginning of the
// epoch, and weighed by their writes during it. So noise in the counters does not look like skew.
#pragma once

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "layout/separate/page_words.h"

namespace latchkey {

/// Thread-safe; one actor at a time calls EndEpoch. 4 bytes per page.
class WriteFrequency {
 public:
  static constexpr uint32_t kMemory = 8;  ///< epochs
  static constexpr uint32_t kUnit = 256;  ///< history of one write an epoch
  static constexpr size_t kBuckets = 1 + 16 * 4;

  /// Pages, and their writes in the epoch, by bucket of history; coldest first.
  struct Distribution {
    std::array<double, kBuckets> pages{};
    std::array<double, kBuckets> writes{};
  };

  explicit WriteFrequency(Runtime& runtime) : words_(runtime) {}

  void OnWrite(PageId id);
  /// The history alone, in units of 1/kUnit writes per epoch. Distribution ranks by it.
  uint32_t History(PageId id) const;
  /// History and present count together.
  uint32_t Rate(PageId id) const;
  void Forget(PageId id) { words_.Forget(id); }

  /// Ends the epoch and returns its distribution, over those ids below `limit` that `is_live`.
  Distribution EndEpoch(uint64_t limit, absl::FunctionRef<bool(PageId)> is_live);

  /// Writes of one epoch of a store with `live` pages.
  static uint64_t EpochOf(uint64_t live) { return std::max<uint64_t>(1024, live / 2); }

  static size_t BucketOf(uint32_t history);
  /// The least history of a bucket.
  static uint32_t LowerBound(size_t bucket);

  size_t memory_bytes() const { return words_.memory_bytes(); }

 private:
  PageWords words_;  // history << 16 | count
};

}  // namespace latchkey
