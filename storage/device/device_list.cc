#include "storage/device/device_list.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"
#include "storage/device/memory_device.h"
#include "storage/device/simulated/disk_array.h"
#include "storage/device/simulated/disk_model.h"
#include "storage/device/simulated/simulated_disk.h"

namespace latchkey {
namespace {

using Kind = DeviceSpec::Kind;

// Address space for the content of a simulated device, bytes. A larger device can be filled up to it.
constexpr uint64_t kMostReserved = uint64_t{1} << 40;

constexpr ChoiceParameter kService = {"service_ms",    9, 0, 100'000, ParameterKind::kNumber,
                                      "of one request"};
constexpr ChoiceParameter kRate = {
    "mb_s", 0, 0, 1'000'000, ParameterKind::kNumber, "transfer rate; 0: it takes no time"};
constexpr ChoiceParameter kDisks = {"disks", 1, 1, 1024, ParameterKind::kWhole, "of an array"};
constexpr ChoiceParameter kRaid = {"raid",     0, 0, 1, ParameterKind::kWord, "level of the array",
                                   kRaidLevels};

constexpr ChoiceParameter Stripe(double kib) {
  return {"stripe_kb", kib, 1, 65'536, ParameterKind::kWhole, "unit on a disk, a power of two"};
}
constexpr ChoiceParameter Queue(DiskSchedule schedule) {
  return {"queue",
          static_cast<double>(schedule),
          0,
          1,
          ParameterKind::kWord,
          "order of service at each disk",
          kDiskSchedules};
}

// In the order in which FixedOf and ValuesOf name them.
constexpr ChoiceParameter kFixedParameters[] = {kService,   kRate, kDisks,
                                                Stripe(64), kRaid, Queue(DiskSchedule::kFcfs)};

// In the order in which MechanicalOf and ValuesOf name them. The units are those of the thesis: 4
// T_pos B, rounded to a power of two.
template <uint32_t stripe_kb>
constexpr ChoiceParameter kMechanicalParameters[] = {kDisks, Stripe(stripe_kb), kRaid,
                                                     Queue(DiskSchedule::kScan)};

// In the order in which FlashOf and ValuesOf name them.
constexpr ChoiceParameter kFlashParameters[] = {
    {"read_us", 80, 0, 1'000'000, ParameterKind::kNumber, "of a read alone, without transfer"},
    {"write_us", 20, 0, 1'000'000, ParameterKind::kNumber, "of a write alone, without transfer"},
    {"read_mb_per_s", 3000, 1, 1'000'000, ParameterKind::kNumber, "bandwidth"},
    {"write_mb_per_s", 1200, 1, 1'000'000, ParameterKind::kNumber, "bandwidth"},
    {"parallel", 32, 1, 65'536, ParameterKind::kWhole, "requests whose latencies overlap"},
    {"erase_kb", 1024, 8, 1'048'576, ParameterKind::kWhole, "erase unit, a multiple of 4"},
    {"spare", 0.07, 0.001, 1, ParameterKind::kNumber, "hidden space over visible space"},
    {"streams", 1, 1, 64, ParameterKind::kWhole, "write streams kept apart"},
};

DeviceSpec PlainOf(std::string_view name, std::span<const double>) {
  DeviceSpec spec;
  spec.kind = name == "memory" ? Kind::kMemory : Kind::kFile;
  return spec;
}

void SetArray(std::span<const double> parameters, DeviceSpec& spec) {
  spec.disks = static_cast<uint32_t>(parameters[0]);
  spec.stripe_bytes = static_cast<uint64_t>(parameters[1]) << 10;
  spec.raid = static_cast<RaidLevel>(parameters[2]);
  spec.schedule = static_cast<DiskSchedule>(parameters[3]);
}

DeviceSpec FixedOf(std::string_view, std::span<const double> parameters) {
  DeviceSpec spec;
  spec.kind = Kind::kFixed;
  spec.service = static_cast<Nanos>(parameters[0] * kNanosPerMilli + 0.5);
  spec.bytes_per_second = static_cast<uint64_t>(parameters[1] * 1e6 + 0.5);
  SetArray(parameters.subspan(2), spec);
  return spec;
}

DeviceSpec MechanicalOf(std::string_view name, std::span<const double> parameters) {
  DeviceSpec spec;
  spec.kind = Kind::kMechanical;
  spec.mechanics = FindMechanicalDisk(name);
  SetArray(parameters, spec);
  return spec;
}

DeviceSpec FlashOf(std::string_view, std::span<const double> parameters) {
  DeviceSpec spec;
  spec.kind = Kind::kFlash;
  spec.flash = {.read_us = parameters[0],
                .write_us = parameters[1],
                .read_mb_per_s = parameters[2],
                .write_mb_per_s = parameters[3],
                .parallel = static_cast<uint32_t>(parameters[4]),
                .erase_kb = static_cast<uint32_t>(parameters[5]),
                .spare = parameters[6],
                .streams = static_cast<uint32_t>(parameters[7])};
  return spec;
}

std::vector<double> ValuesOf(const DeviceSpec& spec) {
  std::vector<double> values;
  const auto add = [&](auto... more) { (values.push_back(static_cast<double>(more)), ...); };
  if (spec.kind == Kind::kFixed) {
    add(static_cast<double>(spec.service) / kNanosPerMilli,
        static_cast<double>(spec.bytes_per_second) / 1e6);
  }
  if (spec.is_array()) add(spec.disks, spec.stripe_bytes >> 10, spec.raid, spec.schedule);
  if (spec.kind == Kind::kFlash) {
    const FlashParameters& flash = spec.flash;
    add(flash.read_us, flash.write_us, flash.read_mb_per_s, flash.write_mb_per_s, flash.parallel,
        flash.erase_kb, flash.spare, flash.streams);
  }
  return values;
}

constexpr DeviceInfo Plain(std::string_view name, std::string_view summary) {
  return {{name, summary, {}}, false, false, PlainOf};
}
template <uint32_t stripe_kb>
constexpr DeviceInfo Mechanical(std::string_view name, std::string_view summary) {
  return {{name, summary, kMechanicalParameters<stripe_kb>}, true, true, MechanicalOf};
}

constexpr DeviceInfo kDevices[] = {
    Plain("file", "a file, O_DIRECT where the file system takes it"),
    Plain("memory", "no file at all"),
    {{"fixed", "simulated disks of fixed service time", kFixedParameters}, true, true, FixedOf},
    Mechanical<128>("rz26", "simulated disks of 1991: 15.4 ms, 2.3 MB/s"),
    Mechanical<512>("atlas10k", "simulated disks of 1999: 8.6 ms, 20.4 MB/s"),
    Mechanical<1024>("year2004", "simulated disks of 2004: 5.6 ms, 61 MB/s"),
    Mechanical<2048>("year2008", "simulated disks of 2008: 3.25 ms, 198 MB/s"),
    Mechanical<1024>("cheetah-x15-36lp", "as year2004, with 36.7 GB"),
    {{"flash", "a simulated solid-state disk", kFlashParameters}, true, false, FlashOf},
};

std::string_view NameOf(const DeviceSpec& spec) {
  switch (spec.kind) {
    case Kind::kFile:
      return "file";
    case Kind::kMemory:
      return "memory";
    case Kind::kFixed:
      return "fixed";
    case Kind::kMechanical:
      return spec.mechanics->name;
    case Kind::kFlash:
      break;
  }
  return "flash";
}

std::unique_ptr<DiskModel> NewDisk(const DeviceSpec& spec, uint32_t index) {
  if (spec.kind == Kind::kFixed) {
    return std::make_unique<FixedServiceDisk>(spec.service, spec.bytes_per_second);
  }
  // The golden ratio spreads the phases evenly, however many disks there are.
  const double turns = index * 0.6180339887;
  return std::make_unique<MechanicalDisk>(*spec.mechanics, turns - static_cast<uint32_t>(turns));
}

}  // namespace

bool DeviceSpec::takes_time() const {
  return kind != Kind::kMemory && (kind != Kind::kFixed || service > 0);
}

DeviceSpec DeviceSpec::OfOneDisk() const {
  DeviceSpec one = *this;
  one.disks = 1;
  one.raid = RaidLevel::kRaid0;
  return one;
}

const Registry<DeviceInfo>& Devices() {
  static constexpr Registry<DeviceInfo> registry("device", kDevices);
  return registry;
}

absl::StatusOr<DeviceSpec> ParseDeviceSpec(std::string_view text) {
  LATCHKEY_ASSIGN_OR_RETURN(const Choice<DeviceInfo> choice, Devices().Parse(text));
  const DeviceSpec spec = choice.entry().make(choice.name(), choice.values());
  LATCHKEY_RETURN_IF_ERROR(CheckDeviceSpec(spec));
  return spec;
}

absl::Status CheckDeviceSpec(const DeviceSpec& spec) {
  if (spec.is_array() && !std::has_single_bit(spec.stripe_bytes)) {
    return InvalidArgument("{}: stripe_kb is {}, but must be a power of two", NameOf(spec),
                           spec.stripe_bytes >> 10);
  }
  if (spec.raid == RaidLevel::kRaid5 && spec.disks < RaidMap::kMinRaid5Disks) {
    return InvalidArgument("{}: raid5 of {}, but it must have {:.0f} to {:.0f}; give disks",
                           NameOf(spec), CountOf(spec.disks, "disk"),
                           double{RaidMap::kMinRaid5Disks}, kDisks.max);
  }
  constexpr uint32_t kPageKib = FlashTranslation::kPageBytes >> 10;
  if (spec.kind == Kind::kFlash && spec.flash.erase_kb % kPageKib != 0) {
    return InvalidArgument("flash: erase_kb is {}, but must be a multiple of {}",
                           spec.flash.erase_kb, kPageKib);
  }
  return absl::OkStatus();
}

absl::StatusOr<RaidLevel> ParseRaidLevel(std::string_view text) {
  for (size_t level = 0; level < std::size(kRaidLevels); ++level) {
    if (kRaidLevels[level] == text) return static_cast<RaidLevel>(level);
  }
  return InvalidArgument("'{}' is no RAID level; known: raid0, raid5", text);
}

std::string CanonicalDeviceSpec(const DeviceSpec& spec) {
  return FormatChoice(Devices().Find(NameOf(spec))->description, ValuesOf(spec));
}

std::string DescribeDevices() {
  std::string text;
  for (const DeviceInfo& device : Devices()) {
    const ChoiceDescription& description = device.description;
    std::vector<double> defaults;
    for (const ChoiceParameter& p : description.parameters) defaults.push_back(p.default_value);
    text += (text.empty() ? "" : ", ") + FormatChoice(description, defaults);
  }
  return text;
}

absl::StatusOr<std::unique_ptr<BlockDevice>> OpenDeviceOf(Runtime& runtime, const DeviceSpec& spec,
                                                          const std::string& path,
                                                          const LogSink& log_sink) {
  if (spec.kind == Kind::kFile) {
    return FileDevice::Open(runtime, path, {.log_sink = log_sink});
  }
  MemoryDeviceOptions options{.name = path};
  std::unique_ptr<SimulatedMedium> medium;
  if (spec.is_simulated()) {
    LATCHKEY_RETURN_IF_ERROR(CheckDeviceSpec(spec));
    medium = NewMedium(spec);
    // An array larger than the usual limit may be filled; a medium without a limit has the usual.
    // The address space that ThreadSanitizer leaves, or a limit of the process, may be small.
    if (medium->capacity_bytes() != UINT64_MAX) {
      options.capacity_limit_bytes =
          std::max(options.capacity_limit_bytes, std::min(medium->capacity_bytes(), kMostReserved));
    }
  }
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BlockDevice> memory,
                            MemoryDevice::Create(runtime, options));
  if (medium == nullptr) return memory;
  return std::make_unique<SimulatedDisk>(runtime, std::move(memory), std::move(medium));
}

std::unique_ptr<SimulatedMedium> NewMedium(const DeviceSpec& spec) {
  if (spec.kind == Kind::kFlash) return std::make_unique<FlashMedium>(spec.flash);
  std::vector<std::unique_ptr<DiskModel>> disks;
  for (uint32_t i = 0; i < spec.disks; ++i) disks.push_back(NewDisk(spec, i));
  const RaidMap map(spec.raid, spec.disks, spec.stripe_bytes);
  return std::make_unique<DiskArray>(std::move(disks), spec.schedule, map);
}

}  // namespace latchkey
