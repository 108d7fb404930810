// `hylog:thesis`: HyLog's separating algorithm as it was published (thesis 6.2.2), for comparison with ours
// (hylog_separator.h).
//
//   - Each page has a counter of its writes. At the end of a measurement interval of 20 minutes the counters give the
//     share w of the writes that goes to the share h of the pages, for every h.
//   - (6.8) gives the cost of every h. The h of the least cost is expected to be best. The count of the page at that
//     place in the order is the threshold: pages with as many writes or more are hot. Then the counters become 0.
//   - eta is that of the most recent 10,000 requests of each kind, divided by 1 - P_idle.
//
// With `h` given, that share takes the place of the one computed (Figure 6.10).
//
// What the thesis leaves open (LAYOUT_REFERENCE), and our choice:
//   A12  the counters of the interval that ended classify a page during the next one; h is relative to all pages; pages
//        with the threshold's count are all hot;
//   (6.7) takes u_d, as it must; protection against torn writes is not charged: the thesis has none;
//   before the end of the first interval every page is hot.
// So it keeps what LAYOUT_REFERENCE finds wrong: w(h) is read from the very counts by which the pages are chosen (A11),
// and P_idle of the running layout stands for that of Overwrite (A14).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "layout/separate/page_words.h"
#include "layout/separate/separator.h"
#include "layout/separate/service_times.h"

namespace latchkey {

/// Takes 4 bytes per page, and half a MiB.
class ThesisSeparator final : public Separator {
 public:
  static constexpr Nanos kInterval = 20 * 60 * Nanos{1'000'000'000};
  static constexpr uint32_t kMostWrites = 0xffff;  ///< a counter stops here

  /// `fixed_h`: the hot page proportion instead of the one computed, [0, 1]. `interval`: above 0.
  ThesisSeparator(Runtime& runtime, std::optional<double> fixed_h, Nanos interval);

  bool writes_in_place() const override { return true; }
  Placement OnWrite(PageId id) override;
  Placement OnMove(PageId id) const override;
  void OnFree(PageId id) override { counters_.Forget(id); }
  /// Often enough to see the last 10,000 requests and the end of an interval.
  uint64_t TuningInterval(uint64_t) const override { return 1024; }
  void Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) override;
  double hot_page_proportion() const override {
    return hot_proportion_.load(std::memory_order_relaxed);
  }
  size_t memory_bytes() const override {
    return counters_.memory_bytes() + pages_of_count_.size() * sizeof(pages_of_count_[0]);
  }

  /// Of the last interval that ended; 0: none did.
  double adjusted_eta() const { return adjusted_eta_; }

 private:
  void EndInterval(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live);
  /// Counts the pages of each number of writes in pages_of_count_, and starts the next interval's counters.
  void TakeCounts(uint64_t limit, absl::FunctionRef<bool(PageId)> is_live);
  double ExpectedProportion(double eta, double space_utilization) const;
  /// The count of the last page among the share h of the hottest ones; kNoneHot for h = 0.
  uint32_t ThresholdOf(double h) const;

  static constexpr uint32_t kNoneHot = kMostWrites + 1;

  const std::optional<double> fixed_h_;
  const Nanos interval_;
  PageWords counters_;  // writes of the last interval << 16 | writes of this one
  std::vector<uint64_t> pages_of_count_;
  uint64_t pages_ = 0, writes_ = 0;  // of the interval that ended
  std::optional<ServiceTimes> service_times_;
  Nanos interval_began_ = 0;
  double adjusted_eta_ = 0;
  std::atomic<uint32_t> threshold_{0};  // least writes of a hot page
  std::atomic<double> hot_proportion_{1.0};
};

}  // namespace latchkey
