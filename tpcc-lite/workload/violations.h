// Collects the violations of a consistency check: counts all, and keeps the first of each
// condition.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "tpcc-lite/workload/consistency.h"

namespace latchkey {

class Violations {
 public:
  static constexpr size_t kKeptPerCondition = 5;

  template <typename... Args>
  void Add(int condition, fmt::format_string<Args...> format, Args&&... args) {
    ++report_.violation_count;
    if (++counts_[static_cast<size_t>(condition)] > kKeptPerCondition) return;
    report_.violations.push_back({condition, fmt::format(format, std::forward<Args>(args)...)});
  }

  /// Ends the collection. Condition 11 counts as checked if `after_load`.
  ConsistencyReport Take(bool after_load) {
    for (int n = 1; n <= 12; ++n) {
      if (n != 11 || after_load) report_.checked.push_back(n);
    }
    for (int n = 0; n <= 12; ++n) {
      if (counts_[static_cast<size_t>(n)] > 0) report_.violated.push_back(n);
    }
    return std::move(report_);
  }

 private:
  ConsistencyReport report_;
  std::array<uint64_t, 13> counts_{};
};

}  // namespace latchkey
