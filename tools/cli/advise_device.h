// The device of the verb advise: one that --disk names, as in the verb model, one that --measure
// measures, or the one below the database, by the costs that its store has measured.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/advise/device_pages.h"
#include "tools/cli/advise_command.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {

struct AdvisedDevice {
  std::string name;
  std::vector<DevicePages> page_sizes;
  bool only_ratios = false;  ///< of the costs: their unit is not known
  /// The simulated disk that --disk names; nullopt: a replay uses one that has the same costs.
  std::optional<DeviceSpec> simulated;

  /// For a replay with these pages.
  DeviceSpec ForReplay(const DevicePages& pages) const {
    return simulated ? *simulated : DiskOfCosts(pages);
  }
};

struct AdvisedDeviceQuestion {
  std::string page_sizes;                    ///< a list
  bool doublewrite = false;                  ///< writes in place are protected
  std::optional<double> eta = std::nullopt;  ///< what --disk=auto means; nullopt: atlas10k
  uint64_t data_bytes = 0;                   ///< of all live pages
  DeviceLoad load;  ///< of a simulated disk; the span follows from the data
};

/// The costs of every page size. InvalidArgument names the flag, the value and the allowed values;
/// several page sizes on a disk of which only ratios are known cannot be compared.
/// Other errors: those of a measurement.
absl::StatusOr<AdvisedDevice> FindAdvisedDevice(const AdviseFlags& flags,
                                                const AdvisedDeviceQuestion& question);

std::string DescribeDevice(const AdvisedDevice& device, size_t width);
Json JsonOf(const AdvisedDevice& device);

}  // namespace latchkey
