// The devices by the names of the command line: "file", "memory", "fixed:service_ms=9:mb_s=100".
// One more device is one more line in device_list.cc.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct DeviceSpec {
  enum class Kind : uint8_t { kFile, kMemory, kFixed };
  Kind kind = Kind::kFile;
  Nanos service = 9 * kNanosPerMilli;  ///< kFixed: of one request
  uint64_t bytes_per_second = 0;       ///< kFixed: 0 = the transfer takes no time of its own
  uint32_t disks = 1;                  ///< kFixed: RAID-0 over so many
  uint64_t stripe_bytes = 64 << 10;    ///< kFixed

  /// Wants a SimulatedRuntime to be fast; content lies in memory.
  bool is_simulated() const { return kind == Kind::kFixed; }
};

/// The names that ParseDeviceSpec takes, in the order of --help.
std::vector<std::string> DeviceNames();

/// `text` is a name and its parameters: service_ms (0-100000), mb_s (0-1000000), disks (1-1024),
/// stripe_kb (1-65536; a power of two) of "fixed". InvalidArgument names what is wrong, what there
/// is, and the range.
absl::StatusOr<DeviceSpec> ParseDeviceSpec(std::string_view text);
/// `spec` as text with every parameter: what reports print.
std::string CanonicalDeviceSpec(const DeviceSpec& spec);

/// A device as `spec` says. `path` is the file, for the others a name. Errors as the devices' own.
absl::StatusOr<std::unique_ptr<BlockDevice>> OpenDeviceOf(Runtime& runtime, const DeviceSpec& spec,
                                                          const std::string& path,
                                                          const LogSink& log_sink = {});

}  // namespace latchkey
