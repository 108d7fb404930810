// Decides when a layout has reached steady state, so that a measurement may begin. Pure arithmetic
// over the figures of equal intervals.
//
// The store is in steady state if all of these hold:
//  - its log, if it writes one, has gone through its free slots kTurns times since the load. Until
//    then cleaning finds segments that the load has filled;
//  - the layout has adapted: a separator that tunes itself has done so kTunings times;
//  - over the last kWindow intervals, nothing trends: throughput, page moves per user write, u of
//    the victims and hot proportion of the second half are those of the first half, up to a
//    tolerance or the noise of the intervals, whatever is greater.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace latchkey {

/// What happened in one interval.
struct LabInterval {
  double operations_per_s = 0;
  double user_writes = 0;
  double log_slots = 0;        ///< written through append logs, by users and by the cleaner
  double moves_per_write = 0;  ///< page writes of the cleaner per user write
  std::optional<double> cleaning_utilization;
  double hot_page_proportion = 0;
};

struct SteadyStateConfig {
  double free_slots = 0;       ///< that the log goes through: all slots less the live pages
  double tuning_interval = 0;  ///< user writes between two tunings of the separator; 0: none
};

/// Not thread-safe.
class SteadyState {
 public:
  static constexpr double kTurns = 3;
  static constexpr double kTunings = 16;
  static constexpr size_t kWindow = 12;
  static constexpr double kRateTolerance = 0.02;    ///< of the mean
  static constexpr double kShareTolerance = 0.005;  ///< of u and of the hot proportion

  explicit SteadyState(const SteadyStateConfig& config) : config_(config) {}

  void Add(const LabInterval& interval);
  /// Empty: steady. Else the first reason why it is not.
  std::string WhyNot() const;

 private:
  const SteadyStateConfig config_;
  std::vector<LabInterval> intervals_;
  double user_writes_ = 0;
  double log_slots_ = 0;
};

/// Whether the second half of `values` differs from the first by more than `tolerance` and by more
/// than three standard errors of the difference. REQUIRES: an even number of values, 4 or more.
bool Trends(const std::vector<double>& values, double tolerance);

}  // namespace latchkey
