#include "bufferpool/cleaning/cleaning_controller.h"

#include <algorithm>

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

constexpr CleaningControllerInfo kControllers[] = {
    {{"fixed", "the same number always", kFixedParameters}, Make<FixedController>},
    {{"self-tuning", "follows the proportion of synchronous writes", kSelfTuningParameters},
     Make<SelfTuningController>},
};

}  // namespace

const Registry<CleaningControllerInfo>& CleaningControllers() {
  static constexpr Registry<CleaningControllerInfo> registry("cleaner", kControllers);
  return registry;
}

}  // namespace latchkey
