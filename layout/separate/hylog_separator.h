// HyLog's separator (thesis 6.2.2): hot pages are appended, cold ones are written in place or into holes,
// and the proportion h of hot pages minimises the write cost (6.8) under the measured costs of the device.
//
// Where we deviate, and why (LAYOUT_REFERENCE):
//  - w(h) is measured out of sample with decayed counters (A11, 6.7);
//  - costs are measured busy times of page write, segment write and live-page read ("Today's
//    devices"); if the cleaner may choose its method, the log's cost is the lower of cleaning and
//    hole-plugging (A5);
//  - "all hot" and "none hot" are always candidates, at their own cost. A mix must promise a gain
//    of 10 % over the better of them, and of 30 % over a log of all pages that is divided by death
//    time, if cold pages are written in place. A change of threshold must promise 5 % in two
//    consecutive epochs (6.7);
//  - where appended pages are divided by death time, each group of pages of like frequency is a log
//    of its own, with free space in proportion to sqrt(pages * writes): the division at which the
//    cleaner moves least;
//  - where doublewriting costs more than about a fifth of a page write, a cold page goes into a hole, once
//    and without protection (decision 0028);
//  - the predicted cost of a log is corrected by what it has cost (A3), that of a log of all pages and
//    that of a mix each by its own.
#pragma once

#include <atomic>

#include "layout/separate/separator.h"
#include "layout/separate/write_frequency.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// The pure decision, apart from counters and threads.
class HotThreshold {
 public:
  static constexpr uint32_t kAllHot = 0;
  static constexpr uint32_t kAllCold = UINT32_MAX;
  static constexpr uint32_t kEpochsBeforeMixing = 4;

  struct Choice {
    uint32_t threshold = kAllHot;  ///< least history of a hot page
    double h = 1;                  ///< share of pages at or above it
    double w = 1;                  ///< share of writes that go to them
    double cost_ns = 0;            ///< predicted device time per page written
  };

  /// Starts without history: the cheaper of all hot and none hot under uniform updates.
  void Begin(const TuningInputs& inputs);
  /// Updates the choice after an epoch with this distribution of writes.
  void Update(const TuningInputs& inputs, const WriteFrequency::Distribution& epoch);

  uint32_t threshold() const { return current_.threshold; }
  const Choice& current() const { return current_; }

 private:
  double Predict(const TuningInputs& inputs, const Choice& choice) const;
  /// Device time per page appended, as the formulas say.
  double FormulaLogNanos(const TuningInputs& inputs, const Choice& choice) const;
  double NanosByDeathTime(const TuningInputs& inputs, uint32_t threshold) const;
  Choice Best(const TuningInputs& inputs) const;
  Choice Evaluate(const TuningInputs& inputs, uint32_t threshold) const;
  void Calibrate(const TuningInputs& inputs);
  double& FactorOf(uint32_t threshold) {
    return threshold == kAllHot ? all_hot_factor_ : mixed_factor_;
  }
  double FactorOf(uint32_t threshold) const {
    return threshold == kAllHot ? all_hot_factor_ : mixed_factor_;
  }

  WriteFrequency::Distribution smoothed_;
  uint32_t epochs_ = 0;
  Choice current_;
  uint32_t wish_epochs_ = 0;
  // Measured cost of the log over the cost by the formulas: with all pages hot, and with a mix. A
  // factor tends to 1 while it is not measured.
  double all_hot_factor_ = 1, mixed_factor_ = 1;
  uint32_t moving_over_ = 0;  // measurements that are not those of the present threshold
};

class HylogSeparator final : public Separator {
 public:
  /// `decides_cold_writes`: Tune chooses by cost where cold pages go.
  explicit HylogSeparator(Runtime& runtime, bool decides_cold_writes = true)
      : decides_cold_writes_(decides_cold_writes), frequency_(runtime) {}

  bool writes_in_place() const override { return true; }
  Placement OnWrite(PageId id) override;
  Placement OnMove(PageId id) const override;
  void OnFree(PageId id) override { frequency_.Forget(id); }
  uint64_t TuningInterval(uint64_t live) const override { return WriteFrequency::EpochOf(live); }
  void Tune(const TuningInputs& measured, absl::FunctionRef<bool(PageId)> is_live) override;
  double hot_page_proportion() const override {
    return hot_proportion_.load(std::memory_order_relaxed);
  }
  size_t memory_bytes() const override { return frequency_.memory_bytes(); }

 private:
  void ChooseColdWrites(const TuningInputs& inputs);

  const bool decides_cold_writes_;
  WriteFrequency frequency_;
  HotThreshold decision_;
  bool begun_ = false;
  std::atomic<uint32_t> threshold_{HotThreshold::kAllHot};
  std::atomic<double> hot_proportion_{1.0};
};

}  // namespace latchkey
