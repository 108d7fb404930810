#include "tools/layout_model/segment_utilization.h"

#include <absl/functional/function_ref.h>

#include <algorithm>

namespace latchkey {
namespace {

// The u whose `excess` is 0. excess(v, decayed) is the right side less the left side of the
// relation, multiplied by a factor that makes it linear in p between two whole numbers of live
// pages; it falls as v rises. decayed: the bracket of the head comment.
double Solve(uint32_t slots, double disk_utilization,
             absl::FunctionRef<double(double v, double decayed)> excess) {
  if (disk_utilization <= 0) return 0;
  if (disk_utilization >= 1) return 1;
  double harmonic = 0;  // H_S - H_(m+1)
  for (uint32_t m = slots - 1;; --m) {
    const double level = 1.0 / (m + 1);
    const double least = excess(m, harmonic + level);
    if (least >= 0 || m == 0) {
      const double most = excess(m + 1.0, harmonic);
      const double p = least > most ? least / (least - most) : 0;
      return (m + std::clamp(p, 0.0, 1.0)) / slots;
    }
    harmonic += level;
  }
}

}  // namespace

double CleaningUtilizationOf(uint32_t slots, double disk_utilization) {
  return Solve(slots, disk_utilization, [&](double v, double decayed) {
    return slots * decayed - (slots - v) / disk_utilization;
  });
}

double PluggingUtilizationOf(uint32_t slots, double disk_utilization) {
  return Solve(slots, disk_utilization, [&](double v, double decayed) {
    return v / slots + decayed - 1 / disk_utilization;
  });
}

}  // namespace latchkey
