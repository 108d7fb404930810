// The costs of a real disk, by the same short measurement as a new store makes.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "storage/base/log_sink.h"
#include "tools/layout_model/model_disk.h"

namespace latchkey {

/// Measures in a file of a few MiB in `folder`, which is removed again; takes about a second.
/// `segment_bytes` 0: as the store chooses, 256 KiB to 4 MiB. Errors: InvalidArgument: the segment
/// (at most 16 MiB), or `folder` is no folder; the device's.
absl::StatusOr<SegmentCosts> MeasureCosts(const std::string& folder,
                                          const SegmentQuestion& question,
                                          const LogSink& log_sink = nullptr);

}  // namespace latchkey
