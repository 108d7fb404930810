// CDFs of writes over pages: w(h), the share of the writes that goes to the share h of the pages,
// the hottest ones (thesis Figure 6.5).
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/registry.h"

namespace latchkey {

/// One distribution of the list.
struct WriteDistributionInfo {
  ChoiceDescription description;
  double (*share)(double h, std::span<const double> parameters);  ///< w(h); h in [0, 1]
};

/// uniform, knuth, hotcold, hill. To add one: one line in write_distribution.cc.
const Registry<WriteDistributionInfo>& WriteDistributions();
using WriteDistribution = Choice<WriteDistributionInfo>;

/// w(h) of the distribution.
double WriteShare(const WriteDistribution& distribution, double h);
/// Parses a distribution. InvalidArgument, beside the registry's errors: the hottest pages get less
/// than their share.
absl::StatusOr<WriteDistribution> ParseWriteDistribution(std::string_view text);

/// The w(h) of writes that were counted page by page. Immutable.
class CountedWrites {
 public:
  /// `writes`: of each page, in the order in which pages count as hot. `pages`: of all pages; those
  /// beyond `writes` have none. REQUIRES: pages >= writes.size() > 0, and some page is written.
  CountedWrites(std::span<const double> writes, uint64_t pages);
  /// w(h), h in [0, 1]; between multiples of 1/1000 on a straight line.
  double Share(double h) const;

 private:
  std::vector<double> shares_;  // at the multiples of 1/1000
};

}  // namespace latchkey
