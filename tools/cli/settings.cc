#include "tools/cli/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/memory_plan.h"
#include "engine/option_names.h"
#include "engine/technique_choices.h"
#include "layout/geometry.h"
#include "layout/image/page_codec.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"
#include "tools/cli/device_flags.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/policy_flags.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {
namespace {

constexpr uint64_t kDefaultSeed = 42;
constexpr uint64_t kLoadCacheBytes = 1ull << 30;
// Frames that all users together may hold fixed, and memory of the maps for the pages of the data.
// With less the engine would fail later.
constexpr uint64_t kPagesPerUser = 16;
constexpr uint64_t kMapBytesPerPage = 24;
constexpr double kMaxCpuMicros = 1'000'000;

absl::Status ReadTechniques(const Combination& from, uint32_t page_size, Techniques& to) {
  to.layout = from.Get("layout");
  to.segment_cleaning = from.Get("segment-cleaning");
  LATCHKEY_ASSIGN_OR_RETURN(const PolicyItems policy, PolicyOf(from));
  to.replacement = policy.replacement;
  to.synchronization = policy.synchronization;
  to.fix = from.Get("fix");
  to.page_in = from.Get("page-in");
  to.cleaner = from.Get("cleaner");
  to.cleaning_scope = from.Get("cleaning-scope");
  to.victims = from.Get("victims");
  LATCHKEY_ASSIGN_OR_RETURN(const TechniqueChoices choices, ParseTechniques(to));
  choices.SpellOut(&to);
  LATCHKEY_ASSIGN_OR_RETURN(
      to.space_utilization,
      ParseNumber("space-utilization", from.Get("space-utilization"), 0.5, 0.98));
  LATCHKEY_ASSIGN_OR_RETURN(to.segment_size, ParseSegmentSize(from.Get("segment-size"), page_size));
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t cleaners,
                            ParseCount("cleaners", from.Get("cleaners"), 0, 128));
  to.cleaners = static_cast<uint32_t>(cleaners);
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t batch,
                            ParseCount("eviction-batch", from.Get("eviction-batch"), 0, 64));
  to.eviction_batch = static_cast<uint32_t>(batch);
  constexpr uint64_t kMostChangeBuffer = uint64_t{1} << 40;
  LATCHKEY_ASSIGN_OR_RETURN(
      to.change_buffer_bytes,
      ParseBytes("change-buffer", from.Get("change-buffer"), 0, kMostChangeBuffer));
  return absl::OkStatus();
}

// Not a technique of Latchkey alone: RocksDB compresses its blocks.
absl::Status ParsePageCompression(const Combination& from, Techniques& to) {
  if (!from.Has("page-compression")) return absl::OkStatus();
  LATCHKEY_ASSIGN_OR_RETURN(const PageCodecChoice choice,
                            PageCodecs().Parse(from.Get("page-compression")));
  to.page_compression = choice.ToString();
  return absl::OkStatus();
}

absl::Status ParseTornWriteProtection(const Combination& from, KvOptions& kv) {
  if (!from.Has("torn-write-protection")) return absl::OkStatus();
  LATCHKEY_ASSIGN_OR_RETURN(const auto choice,
                            TornWriteProtections().Parse(from.Get("torn-write-protection")));
  kv.torn_write_protection = choice.entry().value;
  return absl::OkStatus();
}

absl::Status ParsePageSize(const Combination& from, uint32_t& page_size) {
  if (!from.Has("page-size")) return absl::OkStatus();
  LATCHKEY_ASSIGN_OR_RETURN(
      page_size, ParsePowerOfTwo("page-size", from.Get("page-size"), kMinPageSize, kMaxPageSize));
  return absl::OkStatus();
}

absl::Status ParseCache(const Combination& from, uint64_t data_bytes, uint32_t users,
                        KvOptions& kv) {
  if (!from.Has("cache-size")) return absl::OkStatus();
  const std::string& text = from.Get("cache-size");
  LATCHKEY_ASSIGN_OR_RETURN(kv.cache_bytes, ParseCacheSize("cache-size", text, data_bytes));
  const uint64_t fewest = kLeastCacheBytes + users * kPagesPerUser * kv.page_size +
                          data_bytes / kv.page_size * kMapBytesPerPage;
  if (kv.cache_bytes >= fewest) return absl::OkStatus();
  return InvalidArgument(
      "--cache-size={}: {} bytes are below the {} that {} users and the maps of "
      "the data need; give at least that",
      text, kv.cache_bytes, fewest, users);
}

absl::Status ParseDevice(const Combination& from, EngineSettings& settings) {
  LATCHKEY_ASSIGN_OR_RETURN(settings.kv.device, ParseDeviceFlags(from));
  if (!settings.kv.device.is_simulated()) return absl::OkStatus();
  if (!settings.traits.simulated_device) {
    return InvalidArgument("--device={}: {} cannot be simulated; give file{}", from.Get("device"),
                           settings.engine, settings.traits.memory_device ? " or memory" : "");
  }
  LATCHKEY_ASSIGN_OR_RETURN(const double cpu_us,
                            ParseNumber("cpu-us", from.Get("cpu-us"), 0, kMaxCpuMicros));
  settings.kv.cpu_per_operation = static_cast<Nanos>(cpu_us * kNanosPerMicro + 0.5);
  return absl::OkStatus();
}

/// Virtual time passes only in operations that take some. If none does, a run bounded by time alone
/// would never end.
absl::Status CheckTimePasses(const RunPlan& plan, bool bounded_by_count) {
  const KvOptions& kv = plan.settings.kv;
  const bool work_takes_time = !kv.device.is_simulated() || kv.cpu_per_operation > 0;
  const bool waits = kv.durability == Durability::kCommit || plan.data_bytes > kv.cache_bytes;
  if (work_takes_time || bounded_by_count || (waits && kv.device.takes_time())) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "--cpu-us=0: nothing here takes virtual time, so no --duration would ever end: give "
      "--cpu-us above 0 and up to {}, a --cache-size below the {} bytes of the data (if the device "
      "takes time), or a number of transactions or operations",
      kMaxCpuMicros, plan.data_bytes);
}

absl::Status ParseSnapshot(const Combination& from, EngineSettings& settings) {
  if (!from.Has("snapshot")) return absl::OkStatus();
  const std::string& text = from.Get("snapshot");
  const auto choice = HeldSnapshotChoices().Parse(text);
  if (!choice.ok()) {
    return InvalidArgument("--snapshot={}: give none, idle, scan or both", text);
  }
  settings.snapshot = choice->entry().value;
  return absl::OkStatus();
}

absl::Status ParseBackup(const Combination& from, EngineSettings& settings) {
  if (!from.Has("backup")) return absl::OkStatus();
  const std::string& text = from.Get("backup");
  if (text != "none" && text != "full") {
    return InvalidArgument("--backup={}: give none or full", text);
  }
  settings.backup = text == "full";
  return absl::OkStatus();
}

absl::StatusOr<EngineSettings> ParseSettings(const Combination& from, uint64_t data_bytes,
                                             uint32_t users) {
  EngineSettings settings;
  settings.engine = from.Get("engine");
  settings.traits = KvTraitsOf(settings.engine);
  settings.durability = from.Get("durability");
  LATCHKEY_ASSIGN_OR_RETURN(settings.kv.durability, ParseDurability(settings.durability));
  LATCHKEY_RETURN_IF_ERROR(ParseDevice(from, settings));
  LATCHKEY_RETURN_IF_ERROR(ParsePageSize(from, settings.kv.page_size));
  LATCHKEY_RETURN_IF_ERROR(ParsePageCompression(from, settings.kv.techniques));
  if (settings.traits.techniques) {
    LATCHKEY_RETURN_IF_ERROR(ReadTechniques(from, settings.kv.page_size, settings.kv.techniques));
    LATCHKEY_RETURN_IF_ERROR(ParseTornWriteProtection(from, settings.kv));
  }
  LATCHKEY_RETURN_IF_ERROR(ParseSnapshot(from, settings));
  LATCHKEY_RETURN_IF_ERROR(ParseBackup(from, settings));
  LATCHKEY_RETURN_IF_ERROR(ParseCache(from, data_bytes, users, settings.kv));
  LATCHKEY_ASSIGN_OR_RETURN(settings.kv.techniques.seed,
                            ParseCount("seed", from.Get("seed"), 0, UINT64_MAX));
  return settings;
}

absl::Status CheckReopens(const EngineSettings& settings, const std::string& device) {
  if (settings.snapshot.value_or(HeldSnapshots::kNone) != HeldSnapshots::kNone) {
    return InvalidArgument("--snapshot={} with --workload=reopen: its run is killed; give none",
                           NameOf(*settings.snapshot));
  }
  if (settings.backup.value_or(false)) {
    return absl::InvalidArgumentError(
        "--backup=full with --workload=reopen: its run is killed; give none");
  }
  if (!settings.traits.techniques) {
    return InvalidArgument(
        "--workload=reopen: {} does not tell what its recovery does; latchkey does",
        settings.engine);
  }
  if (!settings.kv.in_files()) {
    return InvalidArgument(
        "--workload=reopen with --device={}: its crash is a killed process, which keeps files "
        "alone; give --device=file",
        device);
  }
  if (settings.kv.durability == Durability::kNone) {
    return InvalidArgument(
        "--workload=reopen with --durability={}: recovery needs a log; give --durability=group or "
        "commit",
        settings.durability);
  }
  return absl::OkStatus();
}

/// The part of a load's name that depends on the engine and its file.
std::string FileName(const EngineSettings& settings) {
  const Techniques& techniques = settings.kv.techniques;
  std::string name;
  if (settings.traits.techniques) {
    name += fmt::format("-{}-u{}", techniques.layout, techniques.space_utilization);
    if (techniques.segment_size != 0) name += fmt::format("-seg{}", techniques.segment_size);
    name += "-" + techniques.segment_cleaning;
  }
  if (settings.traits.compression && techniques.page_compression != Techniques().page_compression) {
    name += "-" + techniques.page_compression;
  }
  if (settings.traits.page_size) name += fmt::format("-p{}", settings.kv.page_size);
  if (techniques.seed != kDefaultSeed) name += fmt::format("-seed{}", techniques.seed);
  return name;
}

}  // namespace

absl::StatusOr<Durability> ParseDurability(const std::string& name) {
  LATCHKEY_ASSIGN_OR_RETURN(const auto choice, Durabilities().Parse(name));
  return choice.entry().value;
}

absl::StatusOr<uint32_t> ParseSegmentSize(const std::string& text, uint32_t page_size) {
  if (text == "auto") return 0;
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes("segment-size", text, kMinSegmentSize,
                                                             kMaxSegmentSize, ", or auto"));
  if (bytes % page_size != 0) {
    return InvalidArgument(
        "--segment-size={}: {} bytes are no multiple of the page of {}; give e.g. {}, or auto",
        text, bytes, page_size, bytes / page_size * page_size);
  }
  if (bytes / page_size >= kMinSlots) return static_cast<uint32_t>(bytes);
  return InvalidArgument(
      "--segment-size={}: a segment holds at least {} pages of {} bytes; give {} "
      "or more, or auto",
      text, kMinSlots, page_size, kMinSlots * page_size);
}

absl::StatusOr<TpccPlan> PlanTpcc(const Combination& from) {
  TpccPlan plan;
  TpccConfig& config = plan.config;
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t warehouses,
                            ParseCount("warehouses", from.Get("warehouses"), 1, kMaxWarehouses));
  config.warehouses = static_cast<uint32_t>(warehouses);
  LATCHKEY_ASSIGN_OR_RETURN(config.scale, ParseNumber("scale", from.Get("scale"), 0.001, 1));
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t users,
                            ParseCount("users", from.Get("users"), 1, kMaxTpccUsers));
  config.users = static_cast<uint32_t>(users);
  LATCHKEY_ASSIGN_OR_RETURN(config.duration, ParseDuration("duration", from.Get("duration")));
  LATCHKEY_ASSIGN_OR_RETURN(config.warmup, ParseDuration("warmup", from.Get("warmup")));
  LATCHKEY_ASSIGN_OR_RETURN(config.transactions,
                            ParseCount("transactions", from.Get("transactions"), 0, UINT64_MAX));
  if (config.duration == 0 && config.transactions == 0) {
    return InvalidArgument(
        "--duration=0: give a time above 0 and up to 1000h, or --transactions from 1");
  }
  plan.data_bytes = EstimateTpccDataBytes(config.Sizes());
  LATCHKEY_ASSIGN_OR_RETURN(plan.settings, ParseSettings(from, plan.data_bytes, config.users));
  config.seed = plan.settings.kv.techniques.seed;
  LATCHKEY_RETURN_IF_ERROR(config.Validate());
  LATCHKEY_RETURN_IF_ERROR(CheckTimePasses(plan, config.transactions > 0));
  plan.settings.kv.tables = TpccTableNames();
  plan.load_name = fmt::format("{}-tpcc-w{}", plan.settings.engine, config.warehouses);
  if (config.scale != 1) plan.load_name += fmt::format("-scale{}", config.scale);
  plan.load_name += FileName(plan.settings);
  return plan;
}

absl::StatusOr<BenchPlan> PlanBench(const Combination& from) {
  BenchPlan plan;
  KvBenchConfig& config = plan.config;
  LATCHKEY_ASSIGN_OR_RETURN(config.records,
                            ParseCount("records", from.Get("records"), 1, 1ull << 40));
  LATCHKEY_ASSIGN_OR_RETURN(
      const uint64_t key_size,
      ParseBytes("key-size", from.Get("key-size"), kMinKvBenchKeySize, kMaxKvBenchKeySize));
  LATCHKEY_ASSIGN_OR_RETURN(
      const uint64_t value_size,
      ParseBytes("value-size", from.Get("value-size"), 1, kMaxKvBenchValueSize));
  config.key_size = static_cast<uint32_t>(key_size);
  config.value_size = static_cast<uint32_t>(value_size);
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t threads,
                            ParseCount("threads", from.Get("threads"), 1, 1024));
  config.threads = static_cast<uint32_t>(threads);
  LATCHKEY_ASSIGN_OR_RETURN(config.workload, FindKvWorkload(from.Get("workload")));
  if (from.Has("zipf")) {
    LATCHKEY_ASSIGN_OR_RETURN(config.zipf_theta, ParseNumber("zipf", from.Get("zipf"), 0.01, 9));
  }
  if (from.Has("batch")) {
    LATCHKEY_ASSIGN_OR_RETURN(config.batch,
                              ParseCount("batch", from.Get("batch"), 1, kMostKvBenchBatch));
  }
  LATCHKEY_ASSIGN_OR_RETURN(config.duration, ParseDuration("duration", from.Get("duration")));
  LATCHKEY_ASSIGN_OR_RETURN(config.warmup, ParseDuration("warmup", from.Get("warmup")));
  LATCHKEY_ASSIGN_OR_RETURN(config.operations,
                            ParseCount("operations", from.Get("operations"), 0, UINT64_MAX));
  if (config.duration == 0 && config.operations == 0) {
    return InvalidArgument(
        "--duration=0: give a time above 0 and up to 1000h, or --operations from 1");
  }
  LATCHKEY_RETURN_IF_ERROR(config.Validate());
  plan.data_bytes = config.DataBytes();
  plan.from_empty = config.workload->load;
  LATCHKEY_ASSIGN_OR_RETURN(plan.settings, ParseSettings(from, plan.data_bytes, config.threads));
  config.seed = plan.settings.kv.techniques.seed;
  config.scan_first = !plan.settings.traits.cache || plan.data_bytes < plan.settings.kv.cache_bytes;
  LATCHKEY_RETURN_IF_ERROR(
      CheckTimePasses(plan, config.operations > 0 || config.FixedOperations() > 0));
  if (config.workload->reopen) {
    LATCHKEY_RETURN_IF_ERROR(CheckReopens(plan.settings, from.Get("device")));
  }
  plan.settings.kv.tables = KvBenchTableNames();
  plan.load_name = fmt::format("{}-bench-{}x{}+{}", plan.settings.engine, config.records,
                               config.key_size, config.value_size) +
                   FileName(plan.settings);
  return plan;
}

KvOptions LoadOptionsOf(const KvOptions& run, const std::string& path) {
  KvOptions options = run;
  options.path = path;
  options.cache_bytes = std::max(run.cache_bytes, kLoadCacheBytes);
  options.read_committed_load = true;
  options.durability = Durability::kNone;  // closed cleanly before any run
  options.torn_write_protection = TornWriteProtection::kNone;
  return options;
}

std::string Label(const EngineSettings& settings) {
  std::string label = settings.engine;
  if (settings.traits.techniques) {
    label += fmt::format(" {} u={}", settings.kv.techniques.layout,
                         settings.kv.techniques.space_utilization);
  }
  return label;
}

}  // namespace latchkey
