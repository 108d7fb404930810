#include "bufferpool/cleaning/cleaning_controller.h"

#include <algorithm>
#include <utility>

namespace latchkey {
namespace {

class FixedController final : public CleaningController {
 public:
  explicit FixedController(std::span<const double> parameters)
      : outstanding_(static_cast<uint32_t>(parameters[0])) {}
  void OnIntervalEnd(const CleaningCounters&) override {}
  uint32_t outstanding_writes() const override { return outstanding_; }
  uint32_t most_outstanding_writes() const override { return outstanding_; }
  Nanos interval() const override { return 0; }

 private:
  const uint32_t outstanding_;
};

class SelfTuningController final : public CleaningController {
 public:
  explicit SelfTuningController(std::span<const double> parameters)
      : target_(parameters[0]),
        gain_(parameters[1]),
        interval_(static_cast<Nanos>(parameters[2])) {}

  void OnIntervalEnd(const CleaningCounters& totals) override {
    const auto synchronous =
        static_cast<double>(totals.synchronous_writes - last_.synchronous_writes);
    const auto others =
        static_cast<double>((totals.page_reads - last_.page_reads) +
                            (totals.asynchronous_writes - last_.asynchronous_writes));
    last_ = totals;
    if (synchronous + others == 0) return;
    const double observed = synchronous / (synchronous + others);
    n_ = std::clamp(n_ + gain_ * (observed - target_), 1.0,
                    static_cast<double>(kMaxOutstandingWrites));
    outstanding_.store(static_cast<uint32_t>(n_), std::memory_order_relaxed);
  }
  uint32_t outstanding_writes() const override {
    return outstanding_.load(std::memory_order_relaxed);
  }
  Nanos interval() const override { return interval_; }

 private:
  const double target_;
  const double gain_;
  const Nanos interval_;
  CleaningCounters last_;
  double n_ = 1;  // a real number, so that small steps down are not lost (thesis 4.4)
  std::atomic<uint32_t> outstanding_{1};
};

class DemandController final : public CleaningController {
 public:
  explicit DemandController(std::span<const double> parameters)
      : target_(parameters[0]),
        queue_(parameters[1]),
        interval_(static_cast<Nanos>(parameters[2])) {}

  void OnIntervalEnd(const CleaningCounters& totals) override {
    const CleaningCounters last = std::exchange(last_, totals);
    const auto ios = static_cast<double>(totals.page_ios() - last.page_ios());
    if (ios == 0) return;
    const auto synchronous =
        static_cast<double>(totals.synchronous_writes - last.synchronous_writes);
    const auto asynchronous =
        static_cast<double>(totals.asynchronous_writes - last.asynchronous_writes);
    if (totals.written > last.written) {
      mean_write_ = static_cast<double>(totals.write_time - last.write_time) /
                    static_cast<double>(totals.written - last.written);
    }
    const auto elapsed = static_cast<double>(std::max<Nanos>(totals.now - last.now, 1));
    const double needed = (synchronous + asynchronous) * mean_write_ / elapsed / totals.cleaners;
    const bool is_late = synchronous / ios > target_;
    double n = is_late ? std::clamp(needed, kLeastGrowth * n_, 2 * n_)
                       : n_ + (std::min(n_, kSpare * needed) - n_) / kIntervalsDown;
    if (totals.shortest_write != kForever) BoundQueue(ios, elapsed, totals, &n);
    n_ = std::clamp(n, 1.0, static_cast<double>(kMaxOutstandingWrites));
    outstanding_.store(static_cast<uint32_t>(n_), std::memory_order_relaxed);
  }
  uint32_t outstanding_writes() const override {
    return outstanding_.load(std::memory_order_relaxed);
  }
  Nanos interval() const override { return interval_; }

 private:
  /// Lowers *n to `queue` writes for each disk that is busy, by the page I/Os of `elapsed` ns.
  void BoundQueue(double ios, double elapsed, const CleaningCounters& totals, double* n) {
    const double busy = ios * static_cast<double>(totals.shortest_write) / elapsed;
    busy_disks_ = std::max({1.0, busy, busy_disks_ + (busy - busy_disks_) / kIntervalsDown});
    *n = std::min(*n, queue_ * busy_disks_ / totals.cleaners);
  }

  static constexpr double kLeastGrowth = 1.25;
  static constexpr double kSpare = 1.5;
  static constexpr double kIntervalsDown = 16;

  const double target_;
  const double queue_;
  const Nanos interval_;
  CleaningCounters last_;
  double mean_write_ = 0;  // ns, of the last interval in which a write was done
  double busy_disks_ = 1;
  double n_ = 1;
  std::atomic<uint32_t> outstanding_{1};
};

template <typename Controller>
std::unique_ptr<CleaningController> Make(std::span<const double> parameters) {
  return std::make_unique<Controller>(parameters);
}

constexpr ChoiceParameter kFixedParameters[] = {
    {"n", 1, 1, kMaxOutstandingWrites, ParameterKind::kWhole, "outstanding writes per cleaner"}};
constexpr ChoiceParameter kSelfTuningParameters[] = {
    {"target", 0.05, 0, 1, ParameterKind::kNumber, "proportion of synchronous writes aimed at"},
    {"gain", 7.5, 0.001, 1000, ParameterKind::kNumber, "change of N per unit of error"},
    {"interval", 1e9, 1e6, 3600e9, ParameterKind::kDuration, "adjustment interval"}};

constexpr ChoiceParameter kDemandParameters[] = {
    {"target", 0.05, 0, 1, ParameterKind::kNumber, "proportion of synchronous writes not exceeded"},
    {"queue", 8, 2, 1000, ParameterKind::kNumber, "most writes outstanding per busy disk"},
    {"interval", 1e8, 1e6, 3600e9, ParameterKind::kDuration, "adjustment interval"}};

constexpr CleaningControllerInfo kControllers[] = {
    {{"fixed", "the same number always", kFixedParameters}, Make<FixedController>},
    {{"self-tuning", "follows the proportion of synchronous writes", kSelfTuningParameters},
     Make<SelfTuningController>},
    {{"demand", "as many as Little's law says, within a limit per busy disk", kDemandParameters},
     Make<DemandController>},
};

}  // namespace

const Registry<CleaningControllerInfo>& CleaningControllers() {
  static constexpr Registry<CleaningControllerInfo> registry("cleaner", kControllers);
  return registry;
}

}  // namespace latchkey
