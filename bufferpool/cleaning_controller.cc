#include "bufferpool/cleaning_controller.h"

#include <algorithm>
#include <vector>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

class FixedController final : public CleaningController {
 public:
  explicit FixedController(std::span<const double> parameters)
      : outstanding_(static_cast<uint32_t>(parameters[0])) {}
  void OnIntervalEnd(const CleaningCounters&) override {}
  uint32_t outstanding_writes() const override { return outstanding_; }
  uint32_t interval_ms() const override { return 0; }

 private:
  const uint32_t outstanding_;
};

class SelfTuningController final : public CleaningController {
 public:
  explicit SelfTuningController(std::span<const double> parameters)
      : target_(parameters[0]),
        gain_(parameters[1]),
        interval_ms_(static_cast<uint32_t>(parameters[2])) {}

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
  uint32_t interval_ms() const override { return interval_ms_; }

 private:
  const double target_;
  const double gain_;
  const uint32_t interval_ms_;
  CleaningCounters last_;
  double n_ = 1;  // real: with whole numbers the small steps down would be lost (thesis 4.4)
  std::atomic<uint32_t> outstanding_{1};
};

template <typename Controller>
std::unique_ptr<CleaningController> Make(std::span<const double> parameters) {
  return std::make_unique<Controller>(parameters);
}

constexpr PolicyParameter kFixedParameters[] = {
    {"n", 1, 1, kMaxOutstandingWrites, true, "outstanding writes per cleaner"}};
constexpr PolicyParameter kSelfTuningParameters[] = {
    {"target", 0.05, 0, 1, false, "proportion of synchronous writes aimed at"},
    {"gain", 7.5, 0.001, 1000, false, "change of N per unit of error"},
    {"interval_ms", 1000, 1, 3'600'000, true, "adjustment interval"}};

constexpr CleaningControllerInfo kControllers[] = {
    {{"fixed", "the same number always", kFixedParameters}, Make<FixedController>},
    {{"self-tuning", "follows the proportion of synchronous writes", kSelfTuningParameters},
     Make<SelfTuningController>},
};

absl::StatusOr<PolicyChoice> ParseController(std::string_view item) {
  std::vector<PolicyDescription> known;
  for (const CleaningControllerInfo& info : kControllers) known.push_back(info.description);
  return ParsePolicy(item, "cleaner", known);
}

}  // namespace

std::span<const CleaningControllerInfo> CleaningControllers() { return kControllers; }

absl::StatusOr<std::unique_ptr<CleaningController>> MakeCleaningController(std::string_view item) {
  LATCHKEY_ASSIGN_OR_RETURN(const PolicyChoice choice, ParseController(item));
  return kControllers[choice.index].make(choice.values);
}

absl::StatusOr<std::string> CanonicalCleaningController(std::string_view item) {
  LATCHKEY_ASSIGN_OR_RETURN(const PolicyChoice choice, ParseController(item));
  return FormatPolicy(kControllers[choice.index].description, choice.values);
}

}  // namespace latchkey
