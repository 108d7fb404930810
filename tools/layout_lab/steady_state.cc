#include "tools/layout_lab/steady_state.h"

#include <absl/functional/function_ref.h>
#include <fmt/format.h>

#include <cmath>
#include <span>

#include "storage/base/check.h"

namespace latchkey {
namespace {

struct Moments {
  double mean = 0;
  double variance_of_mean = 0;
};

Moments MomentsOf(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  Moments moments;
  for (const double value : values) moments.mean += value / n;
  for (const double value : values) {
    const double off = value - moments.mean;
    moments.variance_of_mean += off * off / (n - 1) / n;
  }
  return moments;
}

double MeanOf(std::span<const double> values) { return MomentsOf(values).mean; }

}  // namespace

bool Trends(const std::vector<double>& values, double tolerance) {
  LATCHKEY_CHECK(values.size() >= 4 && values.size() % 2 == 0);
  const std::span<const double> all(values);
  const Moments first = MomentsOf(all.first(values.size() / 2));
  const Moments second = MomentsOf(all.last(values.size() / 2));
  const double noise = 3 * std::sqrt(first.variance_of_mean + second.variance_of_mean);
  return std::abs(second.mean - first.mean) > std::max(tolerance, noise);
}

void SteadyState::Add(const LabInterval& interval) {
  intervals_.push_back(interval);
  user_writes_ += interval.user_writes;
  log_slots_ += interval.log_slots;
}

std::string SteadyState::WhyNot() const {
  if (intervals_.size() < kWindow) {
    return fmt::format("{} intervals, of {} that are compared", intervals_.size(), kWindow);
  }
  const auto window = std::span(intervals_).last(kWindow);
  const auto values = [&](absl::FunctionRef<double(const LabInterval&)> of) {
    std::vector<double> all;
    for (const LabInterval& interval : window) all.push_back(of(interval));
    return all;
  };
  const double log_slots = MeanOf(values([](const LabInterval& i) { return i.log_slots; }));
  const double writes = MeanOf(values([](const LabInterval& i) { return i.user_writes; }));
  // A layout that keeps less than a hundredth of its writes in a log never fills it.
  if (log_slots > writes / 100 && log_slots_ < kTurns * config_.free_slots) {
    return fmt::format("the log went through its {:.0f} free slots {:.1f} times, of {:.0f}",
                       config_.free_slots, log_slots_ / config_.free_slots, kTurns);
  }
  if (user_writes_ < kTunings * config_.tuning_interval) {
    return fmt::format("the layout tuned itself {:.0f} times, of {:.0f}",
                       user_writes_ / config_.tuning_interval, kTunings);
  }
  const auto rates = values([](const LabInterval& i) { return i.operations_per_s; });
  if (Trends(rates, kRateTolerance * MeanOf(rates))) return "the throughput still changes";
  const auto moves = values([](const LabInterval& i) { return i.moves_per_write; });
  if (Trends(moves, kRateTolerance * (1 + MeanOf(moves)))) {
    return "the pages moved per write still change";
  }
  const auto hot = values([](const LabInterval& i) { return i.hot_page_proportion; });
  if (Trends(hot, kShareTolerance)) return "the proportion of hot pages still changes";
  const auto u = values([](const LabInterval& i) { return i.cleaning_utilization.value_or(0); });
  if (Trends(u, kShareTolerance)) return "the utilisation of the victims still changes";
  return "";
}

}  // namespace latchkey
