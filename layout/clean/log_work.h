// The cost of a log: the appends of users, and the segment cleaner's work for them. Pages are counted,
// and charged the device's measured costs.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/separate/write_cost_model.h"

namespace latchkey {

/// Pages since the open, or between two moments.
struct LogWork {
  uint64_t appended = 0;  ///< by users, to the logs of hot pages
  uint64_t read = 0;      ///< live pages of victims, from the device
  uint64_t moved = 0;     ///< into fresh segments
  uint64_t plugged = 0;   ///< into holes

  LogWork operator-(const LogWork& before) const {
    return {appended - before.appended, read - before.read, moved - before.moved,
            plugged - before.plugged};
  }

  /// Device time per page appended, ns. `u`: of the victims, (0, 1]. REQUIRES: some were appended.
  double NanosPerPage(PageCosts costs, double u) const {
    costs.read_share = 1;  // copied pages are not among those read
    // The cleaner writes whole segments, so what parts cost is not charged to the pages it moves.
    const double cleaning = static_cast<double>(read) * LiveReadNanos(costs, u) +
                            static_cast<double>(moved) * costs.segment_write_ns +
                            static_cast<double>(plugged) * costs.plug_ns();
    return costs.append_ns() + cleaning / static_cast<double>(appended);
  }
};

/// Divides time into stretches in each of which users fill many segments. The work of a stretch says
/// what a log costs only if the log has not lived on free segments meanwhile.
class LogWorkWindow {
 public:
  /// The work of the stretch that ends now. nullopt: none ends, or it used up free segments. `work`:
  /// since the open; `pages_per_segment`: appended ones; `in_use`: segments that are not free.
  std::optional<LogWork> Advance(const LogWork& work, double pages_per_segment, uint32_t in_use) {
    const LogWork done = work - start_;
    const double filled = static_cast<double>(done.appended) / pages_per_segment;
    if (!restarts_ && filled < kSegments) return std::nullopt;
    const double used_up = static_cast<double>(in_use) - in_use_at_start_;
    const bool tells = !restarts_ && 4 * used_up <= filled;
    restarts_ = false;
    start_ = work;
    in_use_at_start_ = in_use;
    return tells ? std::optional(done) : std::nullopt;
  }
  /// The present stretch tells nothing: begins another one at the next Advance.
  void Restart() { restarts_ = true; }

 private:
  static constexpr double kSegments = 16;
  LogWork start_;
  double in_use_at_start_ = 0;
  bool restarts_ = true;
};

}  // namespace latchkey
