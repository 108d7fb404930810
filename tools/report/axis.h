// Scales of charts: from values to positions, and the ticks between.
#pragma once

#include <string>
#include <vector>

#include "tools/report/interval.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

/// `value` in a few characters, for ticks and labels of charts: "20 k", "1.5 MiB", "30 %", "850 us".
/// Three significant digits at most.
std::string FormatShort(double value, ColumnFormat format);

/// One axis. Values are finite; on a logarithmic axis they are positive.
class Axis {
 public:
  /// A linear axis from 0 (or from the least value, if that is negative) to at least the largest
  /// value. Without values, or if all are 0, it reaches from 0 to 1.
  static Axis Linear(const std::vector<double>& values, ColumnFormat format);
  /// A logarithmic axis over whole decades. REQUIRES: at least one value, all positive.
  static Axis Logarithmic(const std::vector<double>& values, ColumnFormat format);

  /// Where `value` lies: 0 at the low end, 1 at the high one. Values outside are moved to the end.
  double Share(double value) const;
  const std::vector<double>& ticks() const { return ticks_; }
  std::string Label(double tick) const { return FormatShort(tick, format_); }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_ = 0;
  double high_ = 1;
  bool logarithmic_ = false;
  ColumnFormat format_ = ColumnFormat::kNumber;
  std::vector<double> ticks_;
};

}  // namespace latchkey
