#include "layout/clean/cleaning_policy.h"

#include <algorithm>
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

/// Rosenblum and Ousterhout: free space gained, times the age of the data, per cost.
class CostBenefit : public Greedy {
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

/// The cost of freeing a slot with victims as full as those of late decides between cleaning and
/// plugging. Plugging may cost `worth` times as much.
CleaningMethod ChooseForVictims(const CleaningSituation& s, double worth) {
  const double u = std::clamp(
      s.victim_utilization.value_or(CleaningUtilization(s.space_utilization)), 0.01, 0.9999);
  // Without the append of the user's page, which both costs contain.
  const double plugging = PluggingCostNanos(s.costs, u) - s.costs.append_ns();
  const double cleaning = CleaningCostNanos(s.costs, u) - s.costs.append_ns();
  return plugging < worth * cleaning ? CleaningMethod::kPlug : CleaningMethod::kClean;
}

/// As published (thesis 6.2.3): each pass takes the cheaper method. Cold pages are written in place, so
/// there is no choice to make in the cold partition.
class ByPass final : public CostBenefit {
 public:
  CleaningMethod Choose(const CleaningSituation& s) override { return ChooseForVictims(s, 1); }
  bool may_plug() const override { return true; }
};

/// Victims by minimum declining cost (MDC, Lomet and Luo): a segment that loses live pages fast is
/// cleaned later. The rate of a segment is estimated from its own past. Under uniform updates all
/// rates are equal, and the emptiest segment comes first.
class DecliningCost : public CleaningPolicy {
 public:
  double Priority(double u, double age) const override {
    const double rate = -std::log(std::max(u, 1e-3)) / age;
    return (1 - u) * (1 - u) / (std::max(u, 1e-3) * std::max(rate, 1e-12));
  }
  bool may_plug() const override { return true; }
};

/// Chooses between cleaning and plugging by their steady-state cost (LAYOUT_REFERENCE 6.9).
class Adaptive final : public DecliningCost {
 public:
  CleaningMethod Choose(const CleaningSituation& s) override {
    // The utilisation of recent victims gives the u_d at which uniform updates would cost as much.
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

 private:
  CleaningMethod method_ = CleaningMethod::kClean;
};

/// The steady state of one method says little about the other where pages are divided by death time:
/// plugging mixes them. The choice by pass lets the methods alternate: cleaning makes victims fuller
/// until plugging is cheaper, and plugging makes them emptier.
class DeathTime final : public DecliningCost {
 public:
  CleaningMethod Choose(const CleaningSituation& s) override {
    constexpr double kWorthOfPlugging = 1.2;  // decision 0020
    return ChooseForVictims(s, kWorthOfPlugging);
  }
};

template <typename Policy>
std::unique_ptr<CleaningPolicy> Make(std::span<const double>) {
  return std::make_unique<Policy>();
}

// One line per policy.
constexpr CleaningPolicyInfo kPolicies[] = {
    {{"greedy", "the emptiest segment first", {}}, Make<Greedy>},
    {{"cost-benefit", "space gained, times how long it stays gained, per cost", {}},
     Make<CostBenefit>},
    {{"hole-plugging", "live pages of the emptiest plug the holes of the fullest", {}},
     Make<HolePlugging>},
    {{"adaptive", "cleaning or plugging by their cost in the steady state", {}}, Make<Adaptive>},
    {{"by-pass",
      "in each pass cleaning or plugging, by cost and the victims of late, as published",
      {}},
     Make<ByPass>},
    {{"death-time", "by pass; pages that die at about the same time share segments", {}},
     Make<DeathTime>,
     /*by_death_time=*/true},
};

}  // namespace

const Registry<CleaningPolicyInfo>& CleaningPolicies() {
  static constexpr Registry<CleaningPolicyInfo> registry("segment cleaning", kPolicies);
  return registry;
}

std::vector<std::string> SegmentCleaningNames() {
  std::vector<std::string> names = CleaningPolicies().Names();
  names.insert(names.begin(), std::string(kAutoCleaning));
  return names;
}

absl::StatusOr<CleaningPolicyChoice> ParseSegmentCleaning(std::string_view text,
                                                          const LayoutChoice& layout) {
  if (text == kAutoCleaning) return CleaningPolicies().Named(layout.entry().segment_cleaning);
  absl::StatusOr<CleaningPolicyChoice> choice = CleaningPolicies().Parse(text);
  if (choice.ok()) return choice;
  return InvalidArgument("{}; or {}: the layout's own", std::string(choice.status().message()),
                         kAutoCleaning);
}

}  // namespace latchkey
