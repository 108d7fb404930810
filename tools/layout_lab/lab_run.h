// One run of the layout laboratory: users read and write pages of a segment store on a device, with
// neither tree nor buffer pool. A closed system without think time (thesis 6.3.3): each user sends
// its next request as soon as the last one is done.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/segment_store.h"
#include "storage/device/device_list.h"
#include "tools/layout_lab/lab_workload.h"
#include "tpcc-lite/workload/latency_histogram.h"

namespace latchkey {

struct LabConfig {
  DeviceSpec device;
  /// File of the store if the device is a file: created, and removed at the end.
  std::string path;
  /// layout, segment_cleaning, space_utilization, sizes, protection, seed. Mode: kCreate.
  SegmentStoreOptions store;
  /// With a map journal, on a device of its own: the store is crash-safe.
  bool journal = false;
  double compressible = 0;  ///< share of each page's bytes that compress to nothing, 0 to 1
  uint64_t pages = 1024;  ///< live pages: kFewestLabPages to kMostLabPages
  LabWorkloadChoice workload = LabWorkloads().Named("uniform");
  const PageTrace* trace = nullptr;
  double reads_per_write = 0;
  uint32_t users = 1;
  /// User writes per page of the store before the measured part. nullopt: until steady state, at
  /// most `budget`.
  std::optional<double> warmup;
  double budget = 60;
  double measured = 4;                      ///< user writes per page in the measured part
  const std::atomic<bool>* stop = nullptr;  ///< ends the run early once it is true
};

inline constexpr uint64_t kFewestLabPages = 256;
inline constexpr uint64_t kMostLabPages = uint64_t{1} << 28;

/// Totals since the store was opened, at one moment.
struct LabTotals {
  Nanos time = 0;
  uint64_t reads = 0, writes = 0;  ///< done by users
  PageStoreStats store;
};

struct LabSample {
  double end_s = 0;  ///< since the beginning of the measured part
  double seconds = 0;
  uint64_t operations = 0;
};

struct LabResult {
  LabTotals begin, end;  ///< of the measured part
  LatencyHistogram read_latency, write_latency;
  std::vector<LabSample> samples;
  double warmup_writes_per_page = 0;
  double warmup_s = 0;
  std::string not_steady;  ///< why the measured part does not begin in steady state; empty: it does
  bool interrupted = false;
  uint32_t segment_bytes = 0;
  uint64_t file_bytes = 0;
  PageCosts costs;    ///< as the store measured them, at the end
  double real_s = 0;  ///< that the whole run took, load included
};

/// Loads a store, warms it up and measures it. On simulated devices the run happens in virtual time,
/// in a runtime of its own; equal configurations give equal results. `show` gets progress, for
/// people. Errors: those of device and store.
absl::StatusOr<LabResult> RunLayoutLab(const LabConfig& config,
                                       absl::FunctionRef<void(const std::string&)> show);

/// The pages of `config` in the store: those of the trace, if the workload has one.
uint64_t LabPages(const LabWorkloadChoice& workload, const PageTrace* trace, uint64_t pages);

}  // namespace latchkey
