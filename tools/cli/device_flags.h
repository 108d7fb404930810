// The flags --device, --disks and --raid.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "storage/device/device_list.h"
#include "tools/cli/flags.h"
#include "tools/cli/sweep.h"

namespace latchkey {

/// The three flags; the device is a file unless it is given.
std::vector<FlagSpec> DeviceFlags();
/// The list's entry for --`flag` of the combination; nullptr: it has none, or an unknown one.
const DeviceInfo* DeviceOf(const Combination& so_far, std::string_view flag = "device");
/// Whether only arrays have this flag: --disks and --raid.
bool IsOfArray(const std::string& flag);
inline constexpr std::string_view kArrayRemedy =
    "only simulated disks have it: give --device=fixed or atlas10k";

/// The device that --`flag` of the combination names, with its disks and RAID level. InvalidArgument names the flag,
/// the value and the allowed values.
absl::StatusOr<DeviceSpec> ParseDeviceFlags(const Combination& from,
                                            std::string_view flag = "device");

}  // namespace latchkey
