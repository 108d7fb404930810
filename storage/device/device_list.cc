#include "storage/device/device_list.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"
#include "storage/device/memory_device.h"
#include "storage/device/simulated/disk_model.h"
#include "storage/device/simulated/simulated_disk.h"

namespace latchkey {
namespace {

constexpr double kMaxServiceMs = 100'000;
constexpr double kMaxMegabytes = 1'000'000;
constexpr double kMaxDisks = 1024;
constexpr double kMaxStripeKb = 65'536;

std::vector<std::string_view> SplitAtColons(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t colon; (colon = text.find(':')) != std::string_view::npos;) {
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  parts.push_back(text);
  return parts;
}

absl::StatusOr<double> ParseNumber(std::string_view name, std::string_view value, double min,
                                   double max) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !(number >= min) ||
      !(number <= max)) {
    return InvalidArgument("device parameter {}={}: a number from {} to {}", name, value, min, max);
  }
  return number;
}

absl::Status SetParameter(std::string_view parameter, DeviceSpec& spec) {
  const size_t equals = parameter.find('=');
  const std::string_view name = parameter.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : parameter.substr(equals + 1);
  if (name == "service_ms") {
    LATCHKEY_ASSIGN_OR_RETURN(const double ms, ParseNumber(name, value, 0, kMaxServiceMs));
    spec.service = static_cast<Nanos>(ms * kNanosPerMilli + 0.5);
  } else if (name == "mb_s") {
    LATCHKEY_ASSIGN_OR_RETURN(const double mb, ParseNumber(name, value, 0, kMaxMegabytes));
    spec.bytes_per_second = static_cast<uint64_t>(mb * 1e6 + 0.5);
  } else if (name == "disks") {
    LATCHKEY_ASSIGN_OR_RETURN(const double disks, ParseNumber(name, value, 1, kMaxDisks));
    spec.disks = static_cast<uint32_t>(disks);
  } else if (name == "stripe_kb") {
    LATCHKEY_ASSIGN_OR_RETURN(const double kb, ParseNumber(name, value, 1, kMaxStripeKb));
    spec.stripe_bytes = static_cast<uint64_t>(kb) << 10;
    if ((spec.stripe_bytes & (spec.stripe_bytes - 1)) != 0) {
      return InvalidArgument("device parameter stripe_kb={}: a power of two", value);
    }
  } else {
    return InvalidArgument(
        "device parameter \"{}\" is unknown: \"fixed\" takes service_ms, mb_s, disks, stripe_kb",
        name);
  }
  return absl::OkStatus();
}

std::unique_ptr<DiskModel> NewModel(const DeviceSpec& spec) {
  std::vector<std::unique_ptr<DiskModel>> disks;
  for (uint32_t i = 0; i < spec.disks; ++i) {
    disks.push_back(std::make_unique<FixedServiceDisk>(spec.service, spec.bytes_per_second));
  }
  if (disks.size() == 1) return std::move(disks.front());
  return std::make_unique<StripedArray>(std::move(disks), spec.stripe_bytes);
}

}  // namespace

std::vector<std::string> DeviceNames() { return {"file", "memory", "fixed"}; }

absl::StatusOr<DeviceSpec> ParseDeviceSpec(std::string_view text) {
  const std::vector<std::string_view> parts = SplitAtColons(text);
  DeviceSpec spec;
  if (parts[0] == "file") {
    spec.kind = DeviceSpec::Kind::kFile;
  } else if (parts[0] == "memory") {
    spec.kind = DeviceSpec::Kind::kMemory;
  } else if (parts[0] == "fixed") {
    spec.kind = DeviceSpec::Kind::kFixed;
  } else {
    return InvalidArgument("device \"{}\" is unknown: file, memory, or fixed:service_ms=9", text);
  }
  if (spec.kind != DeviceSpec::Kind::kFixed && parts.size() > 1) {
    return InvalidArgument("device \"{}\": {} takes no parameters", text, parts[0]);
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    LATCHKEY_RETURN_IF_ERROR(SetParameter(parts[i], spec));
  }
  return spec;
}

std::string CanonicalDeviceSpec(const DeviceSpec& spec) {
  if (spec.kind == DeviceSpec::Kind::kFile) return "file";
  if (spec.kind == DeviceSpec::Kind::kMemory) return "memory";
  return fmt::format("fixed:service_ms={}:mb_s={}:disks={}:stripe_kb={}",
                     static_cast<double>(spec.service) / kNanosPerMilli,
                     static_cast<double>(spec.bytes_per_second) / 1e6, spec.disks,
                     spec.stripe_bytes >> 10);
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
