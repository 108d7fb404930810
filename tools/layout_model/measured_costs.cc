#include "tools/layout_model/measured_costs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "layout/geometry.h"
#include "layout/separate/device_probe.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"

namespace latchkey {
namespace {

constexpr uint64_t kSeed = 42;  // of the places that are read and written

absl::StatusOr<DeviceProbe> ProbeFile(const std::string& path, const SegmentQuestion& question,
                                      const LogSink& log_sink) {
  Runtime& runtime = ThreadRuntime();
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<FileDevice> device,
      FileDevice::Open(runtime, path,
                       {.creation = FileCreation::kMustBeNew, .log_sink = log_sink}));
  const ProbedSegment segment{.segment_bytes = static_cast<uint32_t>(question.segment_bytes),
                              .least_segment_bytes = kMinSlots * question.page_bytes};
  return ProbeDevice(runtime, *device, question.page_bytes, segment, kSeed);
}

}  // namespace

absl::StatusOr<SegmentCosts> MeasureCosts(const std::string& folder,
                                          const SegmentQuestion& question,
                                          const LogSink& log_sink) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return InvalidArgument(
        "--measure={}: no folder; give a folder on the disk to be measured, with 32 MiB free",
        folder);
  }
  if (question.segment_bytes != 0) {
    LATCHKEY_RETURN_IF_ERROR(
        CheckSegment(question.segment_bytes, question.page_bytes, kMaxSegmentSize));
  }
  const std::string path = fmt::format("{}/latchkey-model-{}.probe", folder, getpid());
  const absl::StatusOr<DeviceProbe> probe = ProbeFile(path, question, log_sink);
  std::filesystem::remove(path, error);
  LATCHKEY_RETURN_IF_ERROR(probe.status());
  SegmentCosts result{.costs = probe->costs, .segment_bytes = probe->segment_bytes};
  if (question.protection == ModelProtection::kNone) result.costs.protection_ns = 0;
  if (question.protection == ModelProtection::kTwice) {
    result.costs.protection_ns = result.costs.page_write_ns;
  }
  return result;
}

}  // namespace latchkey
