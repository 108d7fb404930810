// What a device can do at most where every commit is one write and one sync: the yardstick beside
// durable commits.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "storage/device/device_list.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Overwrites of 4 KiB, one after the other through a file that was written before, each followed
/// by a sync (fdatasync): how many, in which time.
struct DeviceRate {
  uint64_t overwrites = 0;
  double seconds = 0;
  double PerSecond() const { return seconds > 0 ? static_cast<double>(overwrites) / seconds : 0; }
};

/// Measures for `duration` of `runtime`'s time on a device of its own as `spec` says; of files: in
/// one below `directory` (created when missing), which is removed at the end. Adds to *rate.
absl::Status MeasureOverwriteSyncRate(Runtime& runtime, const DeviceSpec& spec,
                                      const std::string& directory, Nanos duration,
                                      DeviceRate* rate);

}  // namespace latchkey
