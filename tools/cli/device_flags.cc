#include "tools/cli/device_flags.h"

#include <fmt/format.h>

#include "storage/base/status_macros.h"
#include "tools/cli/flag_values.h"

namespace latchkey {
namespace {

constexpr uint64_t kMaxDisks = 1024;

// --disks and --raid as parameters of the device: ":disks=4:raid=raid5".
absl::StatusOr<std::string> ParseArray(const Combination& from, std::string_view flag,
                                       const std::string& device) {
  std::string parameters;
  for (const char* name : {"disks", "raid"}) {
    if (!from.Has(name) || from.Get(name) == "auto") continue;
    const std::string& value = from.Get(name);
    if (device.find(fmt::format("{}=", name)) != std::string::npos) {
      return InvalidArgument("--{}={} and --{}={}: give {} once", name, value, flag, device, name);
    }
    parameters += fmt::format(":{}={}", name, value);
  }
  if (from.Has("disks") && from.Get("disks") != "auto") {
    LATCHKEY_RETURN_IF_ERROR(
        ParseCount("disks", from.Get("disks"), 1, kMaxDisks, ", or auto").status());
  }
  if (from.Has("raid") && from.Get("raid") != "auto") {
    const absl::StatusOr<RaidLevel> raid = ParseRaidLevel(from.Get("raid"));
    if (!raid.ok()) {
      return InvalidArgument("--raid={}: {}, auto", from.Get("raid"),
                             std::string(raid.status().message()));
    }
  }
  return parameters;
}

}  // namespace

std::vector<FlagSpec> DeviceFlags() {
  return {
      {"device", "file",
       "a device and its parameters: " + DescribeDevices() +
           ". All but file and memory are simulated, with their content in memory; users are "
           "simulated, too, and every time and rate is virtual"},
      {"disks", "auto", "simulated: disks below the data, 1 to 1024; auto: as --device says"},
      {"raid", "auto",
       "simulated: array of the disks: raid0, raid5 (3 disks or more); auto: as --device says"},
  };
}

const DeviceInfo* DeviceOf(const Combination& so_far, std::string_view flag) {
  if (!so_far.Has(flag)) return nullptr;
  const std::string& device = so_far.Get(flag);
  return Devices().Find(std::string_view(device).substr(0, device.find(':')));
}

bool IsOfArray(const std::string& flag) { return flag == "disks" || flag == "raid"; }

absl::StatusOr<DeviceSpec> ParseDeviceFlags(const Combination& from, std::string_view flag) {
  const std::string& text = from.Get(flag);
  LATCHKEY_ASSIGN_OR_RETURN(const std::string array, ParseArray(from, flag, text));
  absl::StatusOr<DeviceSpec> parsed = ParseDeviceSpec(text + array);
  if (parsed.ok()) return parsed;
  return InvalidArgument("--{}={}{}: {}", flag, text, array,
                         std::string(parsed.status().message()));
}

}  // namespace latchkey
