#include "tools/cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bufferpool/cleaning/cleaning_choices.h"
#include "engine/option_names.h"
#include "layout/clean/cleaning_policy.h"
#include "layout/image/page_codec.h"
#include "layout/separate/separator.h"
#include "storage/base/status_macros.h"
#include "storage/device/device_list.h"
#include "tools/cli/device_flags.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/policy_flags.h"
#include "tools/cli/settings.h"
#include "tpcc-lite/bench/kv_workload.h"
#include "tpcc-lite/kv/kv_backends.h"
#include "tpcc-lite/kv/snapshot_beside.h"

namespace latchkey {
namespace {

std::string DefaultEngine() {
  const Registry<KvBackendInfo>& engines = KvBackends();
  return engines.Find("latchkey") != nullptr ? "latchkey" : engines.Names().front();
}

std::string Join(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string WorkloadNames() {
  std::string names;
  for (const KvWorkload& workload : KvWorkloads()) {
    names += (names.empty() ? "" : ", ") + std::string(workload.name);
  }
  return names;
}

void Append(std::vector<FlagSpec>& to, std::vector<FlagSpec> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool IsTechnique(const std::string& flag) {
  constexpr std::string_view kTechniques[] = {
      "layout",  "space-utilization", "segment-size",    "segment-cleaning",
      "policy",  "replacement",       "synchronization", "fix",
      "page-in", "cleaner",           "cleaners",        "cleaning-scope",
      "victims", "eviction-batch",    "change-buffer",   "torn-write-protection"};
  return std::find(std::begin(kTechniques), std::end(kTechniques), flag) != std::end(kTechniques);
}

bool IsSkewed(const std::string& workload) {
  const absl::StatusOr<const KvWorkload*> found = FindKvWorkload(workload);
  return !found.ok() || (*found)->zipf;  // an unknown one is refused by its own flag
}

bool HasOnlyPuts(const std::string& workload) {
  const absl::StatusOr<const KvWorkload*> found = FindKvWorkload(workload);
  return !found.ok() || (*found)->only_puts();
}

std::optional<std::string> ResolveRunFlag(const Combination& so_far, const std::string& flag,
                                          const std::string& value) {
  if (flag == "engine") return value;
  const KvTraits& traits = KvTraitsOf(so_far.Get("engine"));
  if (IsTechnique(flag) && !traits.techniques) return std::nullopt;
  if (LacksPolicyFlag(so_far, flag, value)) return std::nullopt;
  if (flag == "torn-write-protection" && so_far.Get("durability") == "none") return std::nullopt;
  if (flag == "cache-size" && !traits.cache) return std::nullopt;
  if (flag == "page-size" && !traits.page_size) return std::nullopt;
  if (flag == "page-compression" &&
      (!traits.compression || (traits.techniques && so_far.Get("layout") == "overwrite"))) {
    return std::nullopt;
  }
  if (flag == "batch" && !HasOnlyPuts(so_far.Get("workload"))) return std::nullopt;
  if (flag == "zipf" && !IsSkewed(so_far.Get("workload"))) return std::nullopt;
  // Only the default gets here: a device that the user gave is one that every engine has.
  if (flag == "device" && value == "file" && !traits.file_device) return "memory";
  const DeviceInfo* const device = DeviceOf(so_far);
  const bool simulated = device != nullptr && device->simulated;
  if (flag == "snapshot" && (simulated || !traits.held_snapshots)) return std::nullopt;
  if (flag == "backup" && (!traits.hot_backups || so_far.Get("durability") == "none" ||
                           device == nullptr || so_far.Get("device") != "file")) {
    return std::nullopt;
  }
  if (flag == "cpu-us" && !simulated) return std::nullopt;
  if (IsOfArray(flag) && (device == nullptr || !device->array)) return std::nullopt;
  return value;
}

/// The flag that must be given as well so that `flag` has an effect.
std::string_view RemedyForRunFlag(const std::string& flag) {
  if (IsOfArray(flag)) return kArrayRemedy;
  if (flag == "cpu-us") return "only simulated devices have it: give --device=fixed";
  if (flag == "torn-write-protection") {
    return "it is part of --engine=latchkey with --durability=group or commit";
  }
  if (flag == "policy") return "none is the default; give a preset";
  if (flag == "page-compression") {
    return "pages that are appended are compressed, and blocks of RocksDB: give --layout=lfs or "
           "--engine=rocksdb";
  }
  if (flag == "snapshot") {
    return "it is held in real time, by an engine whose writers go on beside it: give "
           "--engine=latchkey with --device=file or memory";
  }
  if (flag == "backup") {
    return "it is made of files with a log: give --engine=latchkey with --device=file and "
           "--durability=group or commit";
  }
  if (flag == "batch") return "only loads and blind updates have it, e.g. --workload=load-random";
  if (flag == "zipf") return "only skewed workloads have it, e.g. --workload=read-zipf";
  return "none of these engines has it; latchkey does";
}

const std::vector<std::string>& ValuesOf(std::span<const Dimension> dimensions,
                                         std::string_view flag) {
  return std::find_if(dimensions.begin(), dimensions.end(),
                      [&](const Dimension& dimension) { return dimension.flag == flag; })
      ->values;
}

absl::Status CheckDevices(const std::string& engine, const std::vector<std::string>& devices) {
  const KvTraits& traits = KvTraitsOf(engine);
  for (const std::string& device : devices) {
    if (device == "file" && !traits.file_device) {
      return InvalidArgument("--device=file: {} keeps everything in memory; leave it out", engine);
    }
    if (device == "memory" && !traits.memory_device) {
      return InvalidArgument(
          "--device=memory: {} keeps its files on a disk; give file, or leave {} out", engine,
          engine);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDurabilities(const std::string& engine, const std::vector<std::string>& names) {
  const KvTraits& traits = KvTraitsOf(engine);
  for (const std::string& name : names) {
    LATCHKEY_ASSIGN_OR_RETURN(const Durability durability, ParseDurability(name));
    if (traits.Offers(durability)) continue;
    return InvalidArgument("--durability={}: {} {}; give none{}, or leave {} out", name, engine,
                           traits.durability_limits, traits.commit_durability ? " or commit" : "",
                           engine);
  }
  return absl::OkStatus();
}

absl::Status CheckEngines(std::span<const Dimension> dimensions, const FlagTexts& given) {
  for (const std::string& engine : ValuesOf(dimensions, "engine")) {
    if (KvBackends().Find(engine) == nullptr) {
      const std::string remedy = HowToBuildWith(engine);
      return InvalidArgument("--engine={}: not in this build; {}known: {}", engine,
                             remedy.empty() ? "" : remedy + "; ", KnownEngines());
    }
    if (given.count("device") > 0) {
      LATCHKEY_RETURN_IF_ERROR(CheckDevices(engine, ValuesOf(dimensions, "device")));
    }
    LATCHKEY_RETURN_IF_ERROR(CheckDurabilities(engine, ValuesOf(dimensions, "durability")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNoneIgnored(
    std::span<const Combination> combinations, const FlagTexts& given,
    absl::FunctionRef<std::string_view(const std::string& flag)> remedy_for) {
  for (const auto& [flag, text] : given) {
    const auto has = [&name = flag](const Combination& combination) { return combination.Has(name); };
    if (std::any_of(combinations.begin(), combinations.end(), has)) continue;
    return InvalidArgument("--{}={} would be ignored: {}; or leave it out", flag, text,
                           remedy_for(flag));
  }
  return absl::OkStatus();
}

std::string KnownEngines() { return Join(KvBackends().Names()); }

std::vector<FlagSpec> EngineFlags() {
  const Techniques defaults;
  std::vector<FlagSpec> flags = {
      {"engine", DefaultEngine(), KnownEngines()},
      {"layout", defaults.layout, Join(Layouts().Names())},
      {"space-utilization", fmt::format("{}", defaults.space_utilization),
       "live pages / capacity of the file, 0.5 to 0.98"},
      {"segment-size", "auto",
       "bytes, or auto: from the device's measured costs, stripes and erase unit"},
      {"segment-cleaning", defaults.segment_cleaning, Join(SegmentCleaningNames())},
      {"page-compression", defaults.page_compression,
       "of pages that are appended (RocksDB: of its blocks): " + Join(PageCodecs().Names())},
  };
  Append(flags, PolicyFlags(defaults.replacement, defaults.synchronization));
  Append(flags, {
                    FixFlag(),
                    PageInFlag(),
                    {"cleaner", defaults.cleaner,
                     "page cleaners' writes outstanding: fixed:N, self-tuning, demand"},
                    {"cleaners", fmt::format("{}", defaults.cleaners), "page cleaners, 0 to 128"},
                    {"cleaning-scope", defaults.cleaning_scope,
                     "dirty pages that cleaners write: " + Join(CleaningScopes().Names())},
                    {"victims", defaults.victims,
                     "pages that evictions prefer: " + Join(VictimPreferences().Names())},
                    {"eviction-batch", "0",
                     "victims of one eviction, 1 to 64; 0: as the synchronization says"},
                    {"change-buffer", "0",
                     "part of the cache for single puts that wait for their leaf: bytes; 0: none"},
                });
  Append(flags, DeviceFlags());
  Append(
      flags,
      {
          {"cpu-us", "10",
           "simulated: us of virtual time that each operation (get, put, scan, commit, ...) takes "
           "its "
           "user, each on a processor of its own; 0: work takes no time, only the disks do"},
          {"cache-size", "1GiB", "all memory of the engine: bytes, or % of the data"},
          {"page-size", "4096",
           "bytes, a power of two from 4096 to 65536 (rocksdb: block size, wiredtiger: largest "
           "block)"},
          {"durability", "none",
           "none: durable when closed; group: logged, durable 10 ms after a commit; commit: "
           "logged, "
           "durable before a commit returns"},
          {"torn-write-protection", std::string(NameOf(Options().torn_write_protection)),
           "of pages that are written in place, with a log: doublewrite: to an area first; images: "
           "in "
           "the log, before their first change since a checkpoint; none: the device tears no page"},
          {"seed", "42", "of the data, the inputs and every random choice"},
          {"snapshot", "none",
           "held beside the run by a transaction of its own: none; idle: it waits; scan: it reads "
           "all "
           "tables again and again; both: one of each"},
          {"backup", "none",
           "made beside the run, into the folder of --db with .backup behind its name: none; full: "
           "one full backup after the other, as fast as it goes"},
      });
  return flags;
}

std::vector<FlagSpec> TpccFlags() {
  std::vector<FlagSpec> flags = EngineFlags();
  Append(flags, {
                    {"warehouses", "1", "1 to 65000, about 100 MB each"},
                    {"scale", "1", "0.001 to 1: items, customers, stock, orders in proportion"},
                    {"users", "2", "sessions, without think time"},
                    {"duration", "30", "of the measured part: 30, 500ms, 2m"},
                    {"transactions", "0", "to complete in place of a duration; 0: by time"},
                    {"warmup", "5", "before anything is counted"},
                });
  return flags;
}

std::vector<FlagSpec> BenchFlags() {
  std::vector<FlagSpec> flags = EngineFlags();
  Append(flags,
         {
             {"records", "1M", "records of the load"},
             {"key-size", "8", "bytes, 8 to 511"},
             {"value-size", "100", "bytes, 1 to 1MiB"},
             {"workload", "read-uniform", WorkloadNames()},
             {"zipf", "0.99", "skew, of the zipf workloads alone"},
             {"threads", "1", "sessions, 1 to 1024"},
             {"batch", "1", "puts of one transaction, of loads and updates alone, 1 to 100000"},
             {"duration", "10", "of the measured part; loads take as long as they take"},
             {"operations", "0", "to complete in place of a duration; 0: by time"},
             {"warmup", "2", "before anything is counted"},
         });
  return flags;
}

absl::StatusOr<std::vector<Dimension>> DimensionsOf(std::span<const FlagSpec> specs,
                                                    const FlagTexts& texts) {
  std::vector<Dimension> dimensions;
  for (const FlagSpec& spec : specs) {
    const auto text = texts.find(spec.name);
    std::vector<std::string> values = {""};
    if (text != texts.end() || !spec.default_value.empty()) {
      LATCHKEY_ASSIGN_OR_RETURN(
          values, SplitList(spec.name, text == texts.end() ? spec.default_value : text->second));
    }
    dimensions.push_back({spec.name, std::move(values)});
  }
  return dimensions;
}

absl::StatusOr<std::vector<Combination>> ExpandFlags(std::span<const FlagSpec> specs,
                                                     const FlagTexts& texts) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<Dimension> dimensions, DimensionsOf(specs, texts));
  LATCHKEY_RETURN_IF_ERROR(CheckEngines(dimensions, texts));
  LATCHKEY_RETURN_IF_ERROR(CheckPolicyStandsAlone(texts));
  std::vector<Combination> combinations = ExpandSweep(dimensions, ResolveRunFlag);
  LATCHKEY_RETURN_IF_ERROR(CheckNoneIgnored(combinations, texts, RemedyForRunFlag));
  return combinations;
}

}  // namespace latchkey
