// The workloads of the layout laboratory, the values of `latchkey layout --workload=`: streams of
// page reads and page writes, without tree and buffer pool.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <span>

#include "storage/base/registry.h"
#include "tools/trace/page_trace.h"

namespace latchkey {

/// One request to the page store.
struct LabOperation {
  uint32_t page = 0;
  bool write = false;
};

/// An endless sequence of requests. Not thread-safe: the users of a run share one behind a mutex.
class LabStream {
 public:
  virtual ~LabStream() = default;
  virtual LabOperation Next() = 0;
};

struct LabStreamConfig {
  uint64_t pages = 1;          ///< below 2^31
  double reads_per_write = 0;  ///< of workloads that do not set it themselves
  uint64_t seed = 42;
  const PageTrace* trace = nullptr;  ///< set for a workload that needs it; outlives the stream
};

/// One workload of the list.
struct LabWorkloadInfo {
  ChoiceDescription description;
  bool needs_trace;  ///< its pages are those of a trace
  /// Whether its reads follow from a cache or a trace, so that reads_per_write does not count.
  bool sets_reads;
  std::unique_ptr<LabStream> (*make)(const LabStreamConfig& config,
                                     std::span<const double> parameters);
};

/// uniform, hotcold, knuth, zipf, moving, nurand, trace, blocks. To add one: its stream and one line
/// in lab_workload.cc.
const Registry<LabWorkloadInfo>& LabWorkloads();
using LabWorkloadChoice = Choice<LabWorkloadInfo>;

/// What the ranges of the single parameters do not say. InvalidArgument: knuth with fewer writes
/// than pages; nurand with more rows than it can draw; a trace without writes.
absl::Status CheckLabWorkload(const LabWorkloadChoice& workload, const LabStreamConfig& config);

}  // namespace latchkey
