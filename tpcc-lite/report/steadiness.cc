#include "tpcc-lite/report/steadiness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace latchkey {
namespace {

constexpr size_t kFewestSamples = 4;

// The rate of the layout laboratory, which measures writes per page in place of a time.
constexpr std::string_view kLayoutRate = "throughput";

std::vector<std::string> ReasonsOf(const Json& row, const std::string& name) {
  std::vector<std::string> reasons;
  const char* longer = name == kLayoutRate ? "larger --measure" : "longer --duration";
  if (const Json rate = ValueAt(row, "/" + name); rate.is_number() && rate == 0) {
    reasons.push_back(fmt::format("nothing was counted: give a {}", longer));
  }
  const Json drift = row.at("drift");
  if (drift.is_number() && std::abs(drift.get<double>()) > kMaxDrift) {
    const double change = drift.get<double>();
    reasons.push_back(fmt::format(
        "second half {:.0f} % {} than the first, limit {:.0f} %: give a {} or --warmup",
        std::abs(change) * 100, change < 0 ? "slower" : "faster", kMaxDrift * 100, longer));
  }
  const Json half_range = ValueAt(row, "/spread/" + name + "/half_range");
  if (half_range.is_number() && half_range.get<double>() > kMaxHalfRange) {
    reasons.push_back(
        fmt::format("repetitions +-{:.0f} %, limit {:.0f} %: give a higher --repeat or a {}",
                    half_range.get<double>() * 100, kMaxHalfRange * 100, longer));
  }
  if (ValueAt(row, "/layout_stats/steady") == false) {
    reasons.push_back("free segments not yet filled once: give a longer --warmup");
  }
  if (const Json reason = ValueAt(row, "/warmup/not_steady"); reason.is_string()) {
    reasons.push_back(fmt::format("no steady state within the warm-up: {}; give a larger --budget",
                                  reason.get<std::string>()));
  }
  return reasons;
}

}  // namespace

std::optional<double> HalfToHalfDrift(const Json& samples, std::string_view count) {
  if (!samples.is_array() || samples.size() < kFewestSamples) return std::nullopt;
  double seconds = 0;
  for (const Json& sample : samples) seconds += sample.at("seconds").get<double>();
  double begin = 0, first = 0, all = 0;
  for (const Json& sample : samples) {
    const auto length = sample.at("seconds").get<double>();
    const auto counted = sample.at(std::string(count)).get<double>();
    // The share of the sample that lies in the first half.
    const double share = length > 0 ? std::clamp((seconds / 2 - begin) / length, 0.0, 1.0) : 0;
    first += counted * share;
    all += counted;
    begin += length;
  }
  if (first <= 0) return std::nullopt;
  return (all - first) / first - 1;
}

void AddSteadiness(Json& row, const std::string& figure) {
  const std::string name = figure.substr(1);
  const std::string count =
      name == kLayoutRate ? "operations" : name.substr(0, name.rfind("_per_s"));
  const Json samples = row.contains("samples") ? row.at("samples") : Json(nullptr);
  row["drift"] = OrNull(HalfToHalfDrift(samples, count));
  const std::vector<std::string> reasons = ReasonsOf(row, name);
  const bool known = ValueAt(row, figure).is_number();
  row["steady"] = known ? Json(reasons.empty()) : Json(nullptr);
  row["unsteady"] = known ? Json(reasons) : Json::array();
}

std::vector<std::string> DescribeUnsteady(std::span<const Json> rows,
                                          std::span<const Column> columns) {
  const std::vector<std::string> names = RowNames(rows, columns);
  std::vector<std::string> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].contains("unsteady") || rows[i].at("unsteady").empty()) continue;
    const auto reasons = rows[i].at("unsteady").get<std::vector<std::string>>();
    lines.push_back(fmt::format("{}: {}", names[i], fmt::join(reasons, "; ")));
  }
  return lines;
}

}  // namespace latchkey
