#include "tpcc-lite/bench/device_rate.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {
namespace {

constexpr uint64_t kFileBytes = uint64_t{16} << 20;
constexpr uint64_t kBlock = 4096;

absl::Status Measure(Runtime& runtime, BlockDevice& device, Nanos duration, DeviceRate* rate) {
  LATCHKEY_RETURN_IF_ERROR(device.Resize(kFileBytes));
  AlignedBuffer block(kBlock);
  const Nanos begin = runtime.Now();
  Nanos now = begin;
  for (uint64_t n = 0; now - begin < duration; ++n) {
    LATCHKEY_RETURN_IF_ERROR(
        device.Write(n * kBlock % kFileBytes, block.span(), IoClass::kPageWrite));
    LATCHKEY_RETURN_IF_ERROR(device.Sync());
    ++rate->overwrites;
    now = runtime.Now();
  }
  rate->seconds += static_cast<double>(now - begin) / kNanosPerSecond;
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureOverwriteSyncRate(Runtime& runtime, const DeviceSpec& spec,
                                      const std::string& directory, Nanos duration,
                                      DeviceRate* rate) {
  const bool in_file = spec.kind == DeviceSpec::Kind::kFile;
  std::error_code ignored;
  if (in_file) std::filesystem::create_directories(directory, ignored);
  const std::string path = (std::filesystem::path(directory) / "device-rate.tmp").string();
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BlockDevice> device,
                            OpenDeviceOf(runtime, spec, path));
  const absl::Status measured = Measure(runtime, *device, duration, rate);
  if (in_file) std::filesystem::remove(path, ignored);
  return measured;
}

}  // namespace latchkey
