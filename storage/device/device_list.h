// The devices that a command line can name: "file", "memory", "fixed:service_ms=9:mb_s=100".
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
#include "storage/runtime/runtime.h"

namespace latchkey {

struct DeviceSpec {
  enum class Kind : uint8_t { kFile, kMemory, kFixed };
  Kind kind = Kind::kFile;
  Nanos service = 9 * kNanosPerMilli;  ///< kFixed: of one request
  uint64_t bytes_per_second = 0;       ///< kFixed: 0 = the transfer itself takes no time
  uint32_t disks = 1;                  ///< kFixed: number of disks in a RAID-0
  uint64_t stripe_bytes = 64 << 10;    ///< kFixed

  /// Whether the device is fast only in a SimulatedRuntime; its content lies in memory.
  bool is_simulated() const { return kind == Kind::kFixed; }
};

/// One device of the list.
struct DeviceInfo {
  ChoiceDescription description;
  DeviceSpec (*make)(std::span<const double> parameters);
};

/// The list of devices. To add one: one line in device_list.cc.
const Registry<DeviceInfo>& Devices();

/// Parses a name and its parameters: "fixed" has service_ms (0-100000), mb_s (0-1000000), disks
/// (1-1024) and stripe_kb (1-65536; a power of two). InvalidArgument names the wrong part, the
/// known names, and the range.
absl::StatusOr<DeviceSpec> ParseDeviceSpec(std::string_view text);
/// `spec` as text with every parameter, for reports.
std::string CanonicalDeviceSpec(const DeviceSpec& spec);

/// Opens a device. `path` is the file; for other devices, a name. Errors: the device's own.
absl::StatusOr<std::unique_ptr<BlockDevice>> OpenDeviceOf(Runtime& runtime, const DeviceSpec& spec,
                                                          const std::string& path,
                                                          const LogSink& log_sink = {});

}  // namespace latchkey
