// The highest rate of a device when every commit is one write and one sync. It is printed beside
// durable commits for comparison.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "storage/device/device_list.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Overwrites of 4 KiB, one after the other through a file that was written before. A sync
/// (fdatasync) follows each.
struct DeviceRate {
  uint64_t overwrites = 0;
  double seconds = 0;
  double PerSecond() const { return seconds > 0 ? static_cast<double>(overwrites) / seconds : 0; }
};

/// Measures for `duration` of `runtime`'s time on a device of its own as `spec` says, and adds to
/// *rate. A file device lies below `directory` (created if missing) and is removed at the end.
absl::Status MeasureOverwriteSyncRate(Runtime& runtime, const DeviceSpec& spec,
                                      const std::string& directory, Nanos duration,
                                      DeviceRate* rate);

}  // namespace latchkey
