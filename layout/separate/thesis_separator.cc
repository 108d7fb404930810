#include "layout/separate/thesis_separator.h"

#include <algorithm>

#include "storage/base/check.h"

namespace latchkey {
namespace {

constexpr uint32_t kThisIntervalMask = 0xffff;

}  // namespace

ThesisSeparator::ThesisSeparator(Runtime& runtime, std::optional<double> fixed_h, Nanos interval)
    : fixed_h_(fixed_h), interval_(interval), counters_(runtime), pages_of_count_(kMostWrites + 1) {
  LATCHKEY_CHECK(interval > 0);
}

Placement ThesisSeparator::OnWrite(PageId id) {
  std::atomic<uint32_t>* word = counters_.Make(id);
  // Not counted without memory: the page looks cold. Some threads may add at once.
  if (word != nullptr &&
      (word->load(std::memory_order_relaxed) & kThisIntervalMask) < kThisIntervalMask - 64) {
    word->fetch_add(1, std::memory_order_relaxed);
  }
  return OnMove(id);
}

Placement ThesisSeparator::OnMove(PageId id) const {
  const uint32_t threshold = threshold_.load(std::memory_order_relaxed);
  return (counters_.Load(id) >> 16) >= threshold ? Placement::kHot : Placement::kInPlace;
}

void ThesisSeparator::Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) {
  if (!service_times_) {
    service_times_.emplace(inputs.disks, inputs.page_size);
    service_times_->TakeIdle(inputs.device, inputs.now);
    interval_began_ = inputs.now;
  }
  service_times_->Note(inputs.device);
  if (inputs.now - interval_began_ < interval_) return;
  interval_began_ = inputs.now;
  EndInterval(inputs, is_live);
}

void ThesisSeparator::EndInterval(const TuningInputs& inputs,
                                  absl::FunctionRef<bool(PageId)> is_live) {
  TakeCounts(inputs.page_id_limit, is_live);
  const double idle = service_times_->TakeIdle(inputs.device, inputs.now);
  // A kind of I/O that was never done yet costs what the store has measured.
  const double page_ns = service_times_->page_write_ns(),
               segment_ns = service_times_->segment_page_ns();
  const double page = page_ns > 0 ? page_ns : inputs.costs.page_write_ns;
  const double segment = segment_ns > 0 ? segment_ns : inputs.costs.segment_write_ns;
  if (segment <= 0 || writes_ == 0) return;
  adjusted_eta_ = page / segment / (1 - idle);
  const double h =
      fixed_h_ ? *fixed_h_ : ExpectedProportion(adjusted_eta_, inputs.space_utilization);
  const uint32_t threshold = ThresholdOf(h);
  threshold_.store(threshold, std::memory_order_relaxed);
  uint64_t hot = 0;
  for (uint32_t count = threshold; count <= kMostWrites; ++count) hot += pages_of_count_[count];
  hot_proportion_.store(static_cast<double>(hot) / static_cast<double>(pages_),
                        std::memory_order_relaxed);
}

void ThesisSeparator::TakeCounts(uint64_t limit, absl::FunctionRef<bool(PageId)> is_live) {
  std::fill(pages_of_count_.begin(), pages_of_count_.end(), 0);
  pages_ = writes_ = 0;
  for (uint64_t i = 0; i < limit; ++i) {
    if (!is_live(PageId{i})) continue;
    uint32_t count = 0;
    if (std::atomic<uint32_t>* word = counters_.Find(PageId{i})) {
      uint32_t old = word->load(std::memory_order_relaxed);
      while (!word->compare_exchange_weak(old, (old & kThisIntervalMask) << 16,
                                          std::memory_order_relaxed)) {
      }
      count = old & kThisIntervalMask;
    }
    ++pages_of_count_[count];
    ++pages_;
    writes_ += count;
  }
}

double ThesisSeparator::ExpectedProportion(double eta, double space_utilization) const {
  const auto pages = static_cast<double>(pages_), writes = static_cast<double>(writes_);
  // Those with more writes than `count`. LeastCost asks for one h after the other, from 0 on.
  uint32_t count = kMostWrites;
  double pages_above = 0, writes_above = 0;
  const auto w = [&](double h) {
    const double wanted = h * pages;
    for (; count > 0 && pages_above + static_cast<double>(pages_of_count_[count]) < wanted;
         --count) {
      pages_above += static_cast<double>(pages_of_count_[count]);
      writes_above += static_cast<double>(pages_of_count_[count]) * count;
    }
    return (writes_above + (wanted - pages_above) * count) / writes;
  };
  return BestHotProportion(eta, space_utilization, w).h;
}

uint32_t ThesisSeparator::ThresholdOf(double h) const {
  if (h <= 0) return kNoneHot;
  auto left = h * static_cast<double>(pages_);
  for (uint32_t count = kMostWrites; count > 0; --count) {
    left -= static_cast<double>(pages_of_count_[count]);
    if (left <= 0) return count;
  }
  return 0;
}

}  // namespace latchkey
