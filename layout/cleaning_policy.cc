#include "layout/cleaning_policy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

/// The emptiest segment first: optimal for uniform updates.
class Greedy : public CleaningPolicy {
 public:
  double Priority(double u, double) const override { return 1 - u; }
  CleaningMethod Choose(const CleaningSituation&) override { return CleaningMethod::kClean; }
  bool may_plug() const override { return false; }
};

/// Rosenblum and Ousterhout: space gained, times how long it will stay gained, per cost.
class CostBenefit final : public Greedy {
 public:
  double Priority(double u, double age) const override { return (1 - u) * age / (1 + u); }
};

/// Matthews et al. (thesis 6.1.2.1): the emptiest segments' live pages plug the holes of the
/// fullest.
class HolePlugging final : public Greedy {
 public:
  CleaningMethod Choose(const CleaningSituation&) override { return CleaningMethod::kPlug; }
  bool may_plug() const override { return true; }
};

/// Chooses between cleaning and plugging by their cost in the steady state (LAYOUT_REFERENCE 6.9),
/// and victims by the least expected decline of cleaning cost (MDC, Lomet and Luo): a segment that
/// loses pages fast is left to lose more. Its rate is estimated from its own past; under uniform
/// updates all rates are equal and this is greedy.
class Adaptive final : public CleaningPolicy {
 public:
  double Priority(double u, double age) const override {
    const double rate = -std::log(std::max(u, 1e-3)) / age;
    return (1 - u) * (1 - u) / (std::max(u, 1e-3) * std::max(rate, 1e-12));
  }

  CleaningMethod Choose(const CleaningSituation& s) override {
    // Whatever the skew, the victims seen tell which u_d of uniform updates it amounts to.
    double u_d = s.space_utilization;
    if (s.victim_utilization) {
      const double u = std::clamp(*s.victim_utilization, 0.01, 0.9999);
      u_d = s.method_of_late == CleaningMethod::kClean ? DiskUtilizationFromCleaning(u)
                                                       : DiskUtilizationFromPlugging(u);
    }
    const double clean = CleaningCostNanos(s.costs, CleaningUtilization(u_d));
    const double plug = PluggingCostNanos(s.costs, PluggingUtilization(u_d));
    constexpr double kHysteresis = 0.95;
    if (method_ == CleaningMethod::kClean && plug < kHysteresis * clean) {
      method_ = CleaningMethod::kPlug;
    } else if (method_ == CleaningMethod::kPlug && clean < kHysteresis * plug) {
      method_ = CleaningMethod::kClean;
    }
    return method_;
  }
  bool may_plug() const override { return true; }

 private:
  CleaningMethod method_ = CleaningMethod::kClean;
};

struct Entry {
  std::string_view name;
  std::unique_ptr<CleaningPolicy> (*make)();
};

template <typename Policy>
std::unique_ptr<CleaningPolicy> Make() {
  return std::make_unique<Policy>();
}

// One line per policy.
constexpr std::array<Entry, 4> kPolicies = {{
    {"greedy", &Make<Greedy>},
    {"cost-benefit", &Make<CostBenefit>},
    {"hole-plugging", &Make<HolePlugging>},
    {"adaptive", &Make<Adaptive>},
}};

}  // namespace

std::vector<std::string> CleaningPolicyNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kPolicies) names.emplace_back(entry.name);
  return names;
}

absl::StatusOr<std::unique_ptr<CleaningPolicy>> NewCleaningPolicy(std::string_view name) {
  for (const Entry& entry : kPolicies) {
    if (entry.name == name) return entry.make();
  }
  return InvalidArgument("unknown segment cleaning \"{}\": use one of {}", name,
                         fmt::join(CleaningPolicyNames(), ", "));
}

}  // namespace latchkey
