// The devices that a command line can name: "file", "memory", "fixed:service_ms=9:mb_s=100",
// "atlas10k:disks=4", "flash:spare=0.1:streams=4".
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "storage/base/log_sink.h"
#include "storage/base/registry.h"
#include "storage/device/block_device.h"
#include "storage/device/simulated/disk_queue.h"
#include "storage/device/simulated/flash_medium.h"
#include "storage/device/simulated/mechanical_disk.h"
#include "storage/device/simulated/raid_map.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct DeviceSpec {
  enum class Kind : uint8_t { kFile, kMemory, kFixed, kMechanical, kFlash };
  Kind kind = Kind::kFile;
  Nanos service = 9 * kNanosPerMilli;                   ///< kFixed: of one request
  uint64_t bytes_per_second = 0;                        ///< kFixed: 0 = the transfer takes no time
  const MechanicalDiskParameters* mechanics = nullptr;  ///< kMechanical
  // kFixed, kMechanical.
  uint32_t disks = 1;
  uint64_t stripe_bytes = 64 << 10;  ///< unit of the array on one disk
  RaidLevel raid = RaidLevel::kRaid0;
  DiskSchedule schedule = DiskSchedule::kFcfs;
  FlashParameters flash;  ///< kFlash

  /// Whether the device is fast only in a SimulatedRuntime; its content lies in memory.
  bool is_simulated() const { return is_array() || kind == Kind::kFlash; }
  /// Whether it has `disks`, `stripe_bytes`, `raid` and `schedule`.
  bool is_array() const { return kind == Kind::kFixed || kind == Kind::kMechanical; }
  /// Whether a request takes virtual time.
  bool takes_time() const;
  /// One of the disks of an array; any other device as it is.
  DeviceSpec OfOneDisk() const;
};

/// One device of the list.
struct DeviceInfo {
  ChoiceDescription description;
  bool simulated;  ///< DeviceSpec::is_simulated
  bool array;      ///< DeviceSpec::is_array: it has disks, stripe_kb, raid, queue
  DeviceSpec (*make)(std::string_view name, std::span<const double> parameters);
};

/// The list of devices. To add one: one line in device_list.cc.
const Registry<DeviceInfo>& Devices();

/// Parses a name and its parameters. InvalidArgument names the wrong part, the known names, and the
/// range; see CheckDeviceSpec for what holds between parameters.
absl::StatusOr<DeviceSpec> ParseDeviceSpec(std::string_view text);
/// InvalidArgument: the unit of an array is no power of two, RAID-5 has fewer than 3 disks, an
/// erase unit is no multiple of a flash page.
absl::Status CheckDeviceSpec(const DeviceSpec& spec);
/// Parses "raid0" or "raid5". InvalidArgument names the levels.
absl::StatusOr<RaidLevel> ParseRaidLevel(std::string_view text);
/// `spec` as text with every parameter, for reports.
std::string CanonicalDeviceSpec(const DeviceSpec& spec);
/// Every device with its parameters and their defaults, for help texts: "file, memory,
/// fixed:service_ms=9:...".
std::string DescribeDevices();

/// Opens a device. `path` is the file; for other devices, a name. Errors: the device's own.
absl::StatusOr<std::unique_ptr<BlockDevice>> OpenDeviceOf(Runtime& runtime, const DeviceSpec& spec,
                                                          const std::string& path,
                                                          const LogSink& log_sink = {});
/// The medium of a simulated device. REQUIRES: spec.is_simulated(), CheckDeviceSpec(spec) is OK.
std::unique_ptr<SimulatedMedium> NewMedium(const DeviceSpec& spec);

}  // namespace latchkey
