// What pages and segments of one size cost on a device, for the model and for a replay.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "layout/separate/write_cost_model.h"
#include "storage/device/device_list.h"

namespace latchkey {

/// A page size on the device.
struct DevicePages {
  uint32_t page_bytes = 4096;
  uint64_t segment_bytes = uint64_t{1} << 20;
  PageCosts costs;
};

/// The same device with segments of another size, a multiple of the page with 2 pages or more.
DevicePages WithSegments(const DevicePages& of, uint64_t segment_bytes);

/// A simulated disk of fixed service time. A page and a segment take as long to write as `of` says. A read
/// takes as long as a write.
/// REQUIRES: the costs are nanoseconds.
DeviceSpec DiskOfCosts(const DevicePages& of);

struct DeviceLoad {
  uint64_t span_bytes = 1 << 30;  ///< requests are in so many bytes
  uint32_t users = 20;
  double reads_per_write = 0;
  uint64_t seed = 42;
};
/// `of` with the costs that the simulated `device` has under the load (layout_lab/loaded_costs.h).
/// Reads and protection change in proportion to page writes, except on flash. Errors: the device's.
absl::StatusOr<DevicePages> UnderLoad(const DeviceSpec& device, const DevicePages& of,
                                      const DeviceLoad& load);

}  // namespace latchkey
