#include "tools/cli/layout_plan.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "engine/latchkey.h"
#include "engine/option_names.h"
#include "layout/geometry.h"
#include "layout/image/page_codec.h"
#include "layout/space/space_sizing.h"
#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"
#include "tools/cli/device_flags.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/layout_command.h"
#include "tools/cli/settings.h"
#include "tools/layout_lab/lab_report.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostUsers = 1024;
constexpr double kMostPasses = 100'000;  // user writes per page of the store

const LabWorkloadInfo* WorkloadOf(const Combination& so_far) {
  const std::string& workload = so_far.Get("workload");
  return LabWorkloads().Find(std::string_view(workload).substr(0, workload.find(':')));
}

std::optional<std::string> ResolveLayoutFlag(const Combination& so_far, const std::string& flag,
                                             const std::string& value) {
  const bool of_appending = flag == "segment-cleaning" || flag == "page-compression";
  if (of_appending && so_far.Get("layout") == "overwrite") return std::nullopt;
  const DeviceInfo* device = DeviceOf(so_far);
  if (IsOfArray(flag) && (device == nullptr || !device->array)) return std::nullopt;
  if (flag == "torn-write-protection" && so_far.Get("durability") == "none") return std::nullopt;
  if (flag == "trace" || flag == "data-size" || flag == "reads-per-write") {
    const LabWorkloadInfo* workload = WorkloadOf(so_far);
    const bool of_trace = workload != nullptr && workload->needs_trace;
    const bool sets_reads = workload != nullptr && workload->sets_reads;
    if (flag == "trace" && !of_trace) return std::nullopt;
    if (flag == "data-size" && of_trace) return std::nullopt;
    if (flag == "reads-per-write" && sets_reads) return std::nullopt;
  }
  return value;
}

std::string_view RemedyForLayoutFlag(const std::string& flag) {
  if (IsOfArray(flag)) return kArrayRemedy;
  if (flag == "segment-cleaning") return "overwrite cleans no segments: give --layout=lfs or hylog";
  if (flag == "page-compression") return "overwrite appends no pages: give --layout=lfs or hylog";
  if (flag == "torn-write-protection") {
    return "a store that may lose everything in a crash protects nothing: give --durability=group";
  }
  if (flag == "trace") return "only recorded workloads have it: give --workload=trace or blocks";
  if (flag == "data-size") return "the pages are those of the trace";
  if (flag == "reads-per-write") return "the reads follow from the workload";
  return "no combination has it";
}

absl::Status ParseStore(const Combination& from, LabConfig& config) {
  SegmentStoreOptions& store = config.store;
  store.mode = SegmentStoreOptions::Mode::kCreate;
  LATCHKEY_ASSIGN_OR_RETURN(store.layout, ParseLayout(from.Get("layout")));
  if (from.Has("segment-cleaning")) {
    LATCHKEY_ASSIGN_OR_RETURN(store.segment_cleaning,
                              ParseSegmentCleaning(from.Get("segment-cleaning"), store.layout));
  }
  if (from.Has("page-compression")) {
    LATCHKEY_ASSIGN_OR_RETURN(store.page_compression,
                              PageCodecs().Parse(from.Get("page-compression")));
  }
  LATCHKEY_ASSIGN_OR_RETURN(config.compressible,
                            ParseNumber("compressible", from.Get("compressible"), 0, 1));
  LATCHKEY_ASSIGN_OR_RETURN(store.space_utilization,
                            ParseNumber("space-utilization", from.Get("space-utilization"),
                                        kMinSpaceUtilization, kMaxSpaceUtilization));
  LATCHKEY_ASSIGN_OR_RETURN(store.page_size, ParsePowerOfTwo("page-size", from.Get("page-size"),
                                                             kMinPageSize, kMaxPageSize));
  LATCHKEY_ASSIGN_OR_RETURN(store.segment_size,
                            ParseSegmentSize(from.Get("segment-size"), store.page_size));
  LATCHKEY_ASSIGN_OR_RETURN(store.seed, ParseCount("seed", from.Get("seed"), 0, UINT64_MAX));
  store.database_id = store.seed | 1;  // not of the clock: equal seeds give equal runs
  return absl::OkStatus();
}

absl::Status ParseDurabilityOf(const Combination& from, LabConfig& config) {
  const std::string& text = from.Get("durability");
  LATCHKEY_ASSIGN_OR_RETURN(const Durability durability, ParseDurability(text));
  if (durability == Durability::kCommit) {
    return InvalidArgument(
        "--durability={}: the laboratory has no transactions; give none (no map journal) or group "
        "(the store survives a crash)",
        text);
  }
  config.journal = durability == Durability::kGroup;
  if (!from.Has("torn-write-protection")) return absl::OkStatus();
  const std::string& protection = from.Get("torn-write-protection");
  LATCHKEY_ASSIGN_OR_RETURN(const auto choice, TornWriteProtections().Parse(protection));
  using Store = SegmentStoreOptions::TornWriteProtection;
  switch (choice.entry().value) {
    case TornWriteProtection::kNone:
      config.store.torn_write_protection = Store::kNone;
      return absl::OkStatus();
    case TornWriteProtection::kDoublewrite:
      config.store.torn_write_protection = Store::kDoublewrite;
      return absl::OkStatus();
    case TornWriteProtection::kImages:
      break;
  }
  return InvalidArgument(
      "--torn-write-protection={}: images are in the log of the engine, which the laboratory does "
      "not have; give doublewrite or none, or measure with bench",
      protection);
}

absl::Status ParsePages(const Combination& from, LabConfig& config) {
  if (config.trace != nullptr) {
    config.pages = config.trace->unique_pages;
    if (config.pages >= kFewestLabPages) return absl::OkStatus();
    return InvalidArgument("--trace={}: its requests are for {}; give a trace of at least {}",
                           from.Get("trace"), CountOf(config.pages, "different page"),
                           kFewestLabPages);
  }
  const uint64_t page = config.store.page_size;
  LATCHKEY_ASSIGN_OR_RETURN(
      const uint64_t bytes,
      ParseBytes("data-size", from.Get("data-size"), kFewestLabPages * page, kMostLabPages * page));
  if (config.device.kind != DeviceSpec::Kind::kFile) {
    // The content of all other devices lies in memory.
    LATCHKEY_RETURN_IF_ERROR(
        ParseMemory("data-size", from.Get("data-size"), kFewestLabPages * page).status());
  }
  config.pages = bytes / page;
  return absl::OkStatus();
}

absl::Status ParseWorkload(const Combination& from, PageTraces& traces, LabConfig& config) {
  LATCHKEY_ASSIGN_OR_RETURN(config.workload, LabWorkloads().Parse(from.Get("workload")));
  if (from.Has("trace")) {
    const std::string& path = from.Get("trace");
    if (path.empty()) {
      return InvalidArgument("--workload={}: the trace is missing; give --trace=FILE",
                             from.Get("workload"));
    }
    LATCHKEY_ASSIGN_OR_RETURN(config.trace, traces.Read(path));
  }
  LATCHKEY_RETURN_IF_ERROR(ParsePages(from, config));
  if (from.Has("reads-per-write")) {
    LATCHKEY_ASSIGN_OR_RETURN(config.reads_per_write,
                              ParseNumber("reads-per-write", from.Get("reads-per-write"), 0, 1000));
  }
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t users,
                            ParseCount("users", from.Get("users"), 1, kMostUsers));
  config.users = static_cast<uint32_t>(users);
  return CheckLabWorkload(config.workload, {.pages = config.pages, .trace = config.trace});
}

absl::Status ParsePhases(const Combination& from, LabConfig& config) {
  if (from.Get("warmup") != "auto") {
    LATCHKEY_ASSIGN_OR_RETURN(config.warmup,
                              ParseNumber("warmup", from.Get("warmup"), 0, kMostPasses));
  }
  LATCHKEY_ASSIGN_OR_RETURN(config.budget,
                            ParseNumber("budget", from.Get("budget"), 0.1, kMostPasses));
  LATCHKEY_ASSIGN_OR_RETURN(config.measured,
                            ParseNumber("measure", from.Get("measure"), 0.1, kMostPasses));
  return absl::OkStatus();
}

// Every value of the combination, but those of `except`.
std::string AllBut(const Combination& from, std::initializer_list<std::string_view> except) {
  std::string text;
  for (const FlagSpec& flag : LayoutFlags()) {
    if (std::find(except.begin(), except.end(), flag.name) != except.end()) continue;
    text += (from.Has(flag.name) ? from.Get(flag.name) : "-") + '\n';
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<Combination>> ExpandLayout(const FlagTexts& texts) {
  const std::vector<FlagSpec> specs = LayoutFlags();
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<Dimension> dimensions, DimensionsOf(specs, texts));
  std::vector<Combination> combinations = ExpandSweep(dimensions, ResolveLayoutFlag);
  LATCHKEY_RETURN_IF_ERROR(CheckNoneIgnored(combinations, texts, RemedyForLayoutFlag));
  return combinations;
}

absl::StatusOr<LayoutPlan> PlanLayout(const Combination& from, PageTraces& traces,
                                      const std::string& file) {
  LayoutPlan plan;
  LabConfig& config = plan.config;
  config.path = file;
  LATCHKEY_ASSIGN_OR_RETURN(config.device, ParseDeviceFlags(from));
  LATCHKEY_RETURN_IF_ERROR(ParseStore(from, config));
  LATCHKEY_RETURN_IF_ERROR(ParseDurabilityOf(from, config));
  LATCHKEY_RETURN_IF_ERROR(ParseWorkload(from, traces, config));
  LATCHKEY_RETURN_IF_ERROR(ParsePhases(from, config));
  plan.row = DescribeLab(config);
  plan.row["torn_write_protection"] =
      from.Has("torn-write-protection") ? Json(from.Get("torn-write-protection")) : Json(nullptr);
  plan.row["trace"] = from.Has("trace") ? Json(from.Get("trace")) : Json(nullptr);
  if (!from.Has("segment-cleaning")) plan.row["segment_cleaning"] = nullptr;
  if (!from.Has("page-compression")) plan.row["page_compression"] = nullptr;
  plan.label = from.Get("layout");
  for (const char* of_appending : {"segment_cleaning", "page_compression"}) {
    if (plan.row[of_appending].is_string()) {
      plan.label += " " + plan.row[of_appending].get<std::string>();
    }
  }
  plan.label += fmt::format(" u={} {} {}", from.Get("space-utilization"), from.Get("workload"),
                            from.Get("device"));
  plan.compared_by = AllBut(from, {"layout", "segment-cleaning", "page-compression"});
  return plan;
}

}  // namespace latchkey
