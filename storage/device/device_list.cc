#include "storage/device/device_list.h"

#include <bit>
#include <utility>
#include <vector>

#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"
#include "storage/device/memory_device.h"
#include "storage/device/simulated/disk_model.h"
#include "storage/device/simulated/simulated_disk.h"

namespace latchkey {
namespace {

// In the order in which SpecOf and ValuesOf name them.
constexpr ChoiceParameter kFixedParameters[] = {
    {"service_ms", 9, 0, 100'000, ParameterKind::kNumber, "of one request"},
    {"mb_s", 0, 0, 1'000'000, ParameterKind::kNumber, "transfer rate; 0: it takes no time"},
    {"disks", 1, 1, 1024, ParameterKind::kWhole, "RAID-0 over so many"},
    {"stripe_kb", 64, 1, 65'536, ParameterKind::kWhole, "a power of two"},
};

DeviceSpec SpecOf(std::span<const double> parameters) {
  DeviceSpec spec;
  spec.kind = DeviceSpec::Kind::kFixed;
  spec.service = static_cast<Nanos>(parameters[0] * kNanosPerMilli + 0.5);
  spec.bytes_per_second = static_cast<uint64_t>(parameters[1] * 1e6 + 0.5);
  spec.disks = static_cast<uint32_t>(parameters[2]);
  spec.stripe_bytes = static_cast<uint64_t>(parameters[3]) << 10;
  return spec;
}

std::vector<double> ValuesOf(const DeviceSpec& spec) {
  if (spec.kind != DeviceSpec::Kind::kFixed) return {};
  return {static_cast<double>(spec.service) / kNanosPerMilli,
          static_cast<double>(spec.bytes_per_second) / 1e6, static_cast<double>(spec.disks),
          static_cast<double>(spec.stripe_bytes >> 10)};
}

template <DeviceSpec::Kind kind>
DeviceSpec Plain(std::span<const double>) {
  DeviceSpec spec;
  spec.kind = kind;
  return spec;
}

// In the order of DeviceSpec::Kind.
constexpr DeviceInfo kDevices[] = {
    {{"file", "a file, O_DIRECT where the file system takes it", {}},
     Plain<DeviceSpec::Kind::kFile>},
    {{"memory", "no file at all", {}}, Plain<DeviceSpec::Kind::kMemory>},
    {{"fixed", "simulated disks of fixed service time, their content in memory", kFixedParameters},
     SpecOf},
};
static_assert(static_cast<int>(DeviceSpec::Kind::kFixed) == 2);

std::unique_ptr<DiskModel> NewModel(const DeviceSpec& spec) {
  std::vector<std::unique_ptr<DiskModel>> disks;
  for (uint32_t i = 0; i < spec.disks; ++i) {
    disks.push_back(std::make_unique<FixedServiceDisk>(spec.service, spec.bytes_per_second));
  }
  if (disks.size() == 1) return std::move(disks.front());
  return std::make_unique<StripedArray>(std::move(disks), spec.stripe_bytes);
}

}  // namespace

const Registry<DeviceInfo>& Devices() {
  static constexpr Registry<DeviceInfo> registry("device", kDevices);
  return registry;
}

absl::StatusOr<DeviceSpec> ParseDeviceSpec(std::string_view text) {
  LATCHKEY_ASSIGN_OR_RETURN(const Choice<DeviceInfo> choice, Devices().Parse(text));
  const DeviceSpec spec = choice.Make();
  if (!std::has_single_bit(spec.stripe_bytes)) {
    return InvalidArgument("{}: stripe_kb is {}, but must be a power of two", choice.name(),
                           spec.stripe_bytes >> 10);
  }
  return spec;
}

std::string CanonicalDeviceSpec(const DeviceSpec& spec) {
  return FormatChoice(kDevices[static_cast<size_t>(spec.kind)].description, ValuesOf(spec));
}

absl::StatusOr<std::unique_ptr<BlockDevice>> OpenDeviceOf(Runtime& runtime, const DeviceSpec& spec,
                                                          const std::string& path,
                                                          const LogSink& log_sink) {
  if (spec.kind == DeviceSpec::Kind::kFile) {
    return FileDevice::Open(runtime, path, {.log_sink = log_sink});
  }
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BlockDevice> memory,
                            MemoryDevice::Create(runtime, {.name = path}));
  if (spec.kind == DeviceSpec::Kind::kMemory) return memory;
  return std::make_unique<SimulatedDisk>(runtime, std::move(memory), NewModel(spec));
}

}  // namespace latchkey
