// The cost of a log: the appends of users, and the segment cleaner's work for them. Pages are counted,
// and charged the device's measured costs.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/separate/write_cost_model.h"

namespace latchkey {

/// Since the open, or between two moments.
struct LogWork {
  uint64_t appended = 0;  ///< pages, by users
  uint64_t read = 0;      ///< live pages of victims, from the device
  uint64_t moved = 0;     ///< pages, into fresh segments
  uint64_t plugged = 0;   ///< pages, into holes
  uint64_t emptied = 0;   ///< segments

  LogWork operator-(const LogWork& before) const {
    return {appended - before.appended, read - before.read, moved - before.moved,
            plugged - before.plugged, emptied - before.emptied};
  }

  /// Device time per page appended, ns. `u`: of the victims, (0, 1].
  double NanosPerPage(PageCosts costs, double u) const {
    costs.read_share = 1;  // copied pages are not among those read
    const double cleaning = static_cast<double>(read) * LiveReadNanos(costs, u) +
                            static_cast<double>(moved) * costs.append_ns() +
                            static_cast<double>(plugged) * costs.plug_ns();
    return costs.append_ns() + cleaning / static_cast<double>(appended);
  }
};

/// Finds stretches of time after which the work of a log says what it costs: users have filled many
/// segments, and the cleaner has emptied about as many. A log that lives on free segments costs too
/// little.
class LogWorkWindow {
 public:
  explicit LogWorkWindow(uint64_t pages_per_segment) : pages_per_segment_(pages_per_segment) {}

  /// The work since the last stretch ended, if `now` ends one.
  std::optional<LogWork> Advance(const LogWork& now) {
    const LogWork work = now - start_;
    const uint64_t filled = work.appended / pages_per_segment_;
    const bool is_cleaned = 4 * work.emptied >= 3 * filled;
    if (work.emptied > 0 && filled < kSegments) return std::nullopt;  // goes on
    start_ = now;
    return work.emptied > 0 && is_cleaned ? std::optional(work) : std::nullopt;
  }

 private:
  static constexpr uint64_t kSegments = 16;
  const uint64_t pages_per_segment_;
  LogWork start_;
};

}  // namespace latchkey
