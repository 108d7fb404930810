// `hylog:h=X`: the share h of the pages, the most frequently written ones, is appended; the others
// are written in place (thesis Figure 6.10: the sensitivity to the hot page proportion). Nothing is
// decided by costs.
//
// How pages are chosen, where the thesis leaves it open (LAYOUT_REFERENCE A12): at the end of an
// interval the pages are ranked by their decayed counters, and the first h of them are hot until
// the next end. Pages of equal rank are divided by a hash of their id, so that the division of pages
// without history stays the same. The counter of a hot page counts kBonus times: a page must be
// written clearly more often than a hot one to take its place, so that noise in the counters moves
// few pages back and forth: at h = .3 and uniform writes, 15 % of the pages would change sides at
// each interval without the bonus, and less than 3 % do with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "layout/map/lazy_array.h"
#include "layout/separate/separator.h"
#include "layout/separate/write_frequency.h"

namespace latchkey {

/// Takes 5 bytes per page, and half a MiB.
class ShareSeparator final : public Separator {
 public:
  static constexpr double kBonus = 2;

  /// REQUIRES: hot_proportion is in [0, 1].
  ShareSeparator(Runtime& runtime, double hot_proportion);

  bool writes_in_place() const override { return true; }
  Placement OnWrite(PageId id) override;
  Placement OnMove(PageId id) const override;
  void OnFree(PageId id) override { frequency_.Forget(id); }
  uint64_t TuningInterval(uint64_t live) const override { return WriteFrequency::EpochOf(live); }
  void Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) override;
  double hot_page_proportion() const override { return share_; }
  size_t memory_bytes() const override {
    return frequency_.memory_bytes() + hot_.memory_bytes() +
           pages_of_rank_.size() * sizeof(pages_of_rank_[0]);
  }

 private:
  // Among the hottest pages; of those at the cut, the ones whose hash is below `part`.
  struct Cut {
    uint32_t rank = 0;
    double part = 0;
  };
  bool IsHot(PageId id) const;
  uint32_t RankOf(PageId id) const;
  Cut FindCut(uint64_t limit, absl::FunctionRef<bool(PageId)> is_live);

  const double share_;
  WriteFrequency frequency_;
  std::vector<uint32_t> pages_of_rank_;  // of Tune; made once, so that Tune takes no memory
  LazyArray<std::atomic<uint8_t>> hot_;
  std::atomic<uint64_t> ranked_{0};  // ids below are in hot_; the others are divided by their hash
};

}  // namespace latchkey
