#include "tools/cli/model_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>

#include "storage/base/registry.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"
#include "tools/cli/device_flags.h"
#include "tools/cli/flag_values.h"

namespace latchkey {
namespace {

constexpr std::string_view kSlots[] = {"many", "few"};
constexpr std::string_view kHylogCleanings[] = {"cleaning", "cheapest"};

// `ratio`, beside the simulated devices.
constexpr ChoiceParameter kRatioParameters[] = {
    {"eta", 32.8, 0.01, 1e6, ParameterKind::kNumber, "a page write"},
    {"rho", 1, 0, 1000, ParameterKind::kNumber, "a page's share of a segment read"},
    {"read", 0, 0, 1e6, ParameterKind::kNumber, "a page read by itself; 0: eta"},
};
struct RatioDisk {
  ChoiceDescription description;
};
constexpr RatioDisk kRatios[] = {
    {{"ratio", "costs in units of a page's share of a segment write", kRatioParameters}}};
constexpr Registry<RatioDisk> kRatioDisks("disk", kRatios);

bool IsRatio(std::string_view disk) { return disk.substr(0, disk.find(':')) == "ratio"; }

// The index of `text` in `words`.
absl::StatusOr<size_t> ParseWord(std::string_view flag, const std::string& text,
                                 std::span<const std::string_view> words) {
  const auto* const found = std::find(words.data(), words.data() + words.size(), text);
  if (found != words.data() + words.size()) return found - words.data();
  return InvalidArgument("--{}={}: unknown; known: {}", flag, text, fmt::join(words, ", "));
}

template <typename T>
absl::StatusOr<T> Of(std::string_view flag, const std::string& text,
                     const absl::StatusOr<T>& parsed) {
  if (parsed.ok()) return parsed;
  return InvalidArgument("--{}={}: {}", flag, text, std::string(parsed.status().message()));
}

std::optional<std::string> ResolveModelFlag(const Combination& so_far, const std::string& flag,
                                            const std::string& value) {
  if (flag == "measure") return value.empty() ? std::nullopt : std::optional(value);
  const bool measured = so_far.Has("measure");
  if (flag == "disk") return measured ? std::nullopt : std::optional(value);
  if (flag != "disks" && flag != "raid" && flag != "megabyte") return value;
  const DeviceInfo* const device = DeviceOf(so_far, "disk");
  if (device == nullptr || !device->array) return std::nullopt;  // measured, ratio, flash
  return value;
}

std::string_view RemedyForModelFlag(const std::string& flag) {
  if (flag == "disk") return "--measure is the disk";
  if (flag == "measure") return "give a folder";
  return "only computed disks have it: give --disk=fixed, atlas10k or the like";
}

std::string DescribeDisks() {
  const RatioDisk& ratio = kRatios[0];
  std::vector<double> defaults;
  for (const ChoiceParameter& p : ratio.description.parameters) defaults.push_back(p.default_value);
  std::vector<std::string> names{FormatChoice(ratio.description, defaults)};
  for (const DeviceInfo& device : Devices()) {
    if (device.simulated) names.emplace_back(device.description.name);
  }
  return fmt::format(
      "{}, with the parameters of --device of layout; any disk: fixed:service_ms=T_pos:mb_s=B",
      fmt::join(names, ", "));
}

absl::StatusOr<SegmentQuestion> ParseQuestion(const Combination& from) {
  SegmentQuestion question;
  LATCHKEY_ASSIGN_OR_RETURN(question.page_bytes, ParsePowerOfTwo("page-size", from.Get("page-size"),
                                                                 kMinPageSize, kMaxPageSize));
  const std::string& segment = from.Get("segment-size");
  if (segment != "auto") {
    LATCHKEY_ASSIGN_OR_RETURN(
        question.segment_bytes,
        ParseBytes("segment-size", segment, 2 * uint64_t{question.page_bytes}, kMostModelSegment));
  }
  LATCHKEY_ASSIGN_OR_RETURN(const size_t protection,
                            ParseWord("protection", from.Get("protection"), kModelProtections));
  question.protection = static_cast<ModelProtection>(protection);
  return question;
}

absl::StatusOr<SegmentCosts> ComputeCosts(const Combination& from, const SegmentQuestion& question,
                                          Json& row) {
  const std::string& text = from.Get("disk");
  row["disk"] = text;
  if (IsRatio(text)) {
    const auto choice = Of("disk", text, kRatioDisks.Parse(text));
    LATCHKEY_RETURN_IF_ERROR(choice.status());
    const std::span<const double> v = choice->values();
    return Of("disk", text, CostsOfRatios({.eta = v[0], .rho = v[1], .read = v[2]}, question));
  }
  if (DeviceOf(from, "disk") == nullptr) {
    return InvalidArgument("--disk={}: no such disk; known: {}", text, DescribeDisks());
  }
  LATCHKEY_ASSIGN_OR_RETURN(const DeviceSpec device, ParseDeviceFlags(from, "disk"));
  size_t megabyte = 0;
  if (from.Has("megabyte")) {
    LATCHKEY_ASSIGN_OR_RETURN(megabyte, ParseWord("megabyte", from.Get("megabyte"), kMegabytes));
  }
  if (device.is_array()) {
    row["disks"] = device.disks;
    row["raid"] = kRaidLevels[static_cast<size_t>(device.raid)];
  }
  // What is not simulated is refused.
  return Of("disk", text,
            CostsOfDisk(device.is_simulated() ? AsModelled(device, static_cast<Megabyte>(megabyte))
                                              : device,
                        question));
}

absl::Status ParseModel(const Combination& from, LayoutModel& model) {
  const auto number = [&](const char* flag, double min, double max, double& value) {
    const absl::StatusOr<double> parsed = ParseNumber(flag, from.Get(flag), min, max);
    if (parsed.ok()) value = *parsed;
    return parsed.status();
  };
  LATCHKEY_RETURN_IF_ERROR(number("space-utilization", 0.01, 0.999, model.space_utilization));
  LATCHKEY_RETURN_IF_ERROR(number("compression", 0.05, 1, model.compression));
  LATCHKEY_RETURN_IF_ERROR(number("idle", 0, 0.99, model.idle));
  LATCHKEY_RETURN_IF_ERROR(number("reads-per-write", 0, 1000, model.reads_per_write));
  const std::string& distribution = from.Get("distribution");
  LATCHKEY_ASSIGN_OR_RETURN(model.distribution,
                            Of("distribution", distribution, ParseWriteDistribution(distribution)));
  const std::string& reads = from.Get("victim-reads");
  LATCHKEY_ASSIGN_OR_RETURN(model.victim_reads,
                            Of("victim-reads", reads, VictimReads().Parse(reads)));
  LATCHKEY_ASSIGN_OR_RETURN(const size_t slots, ParseWord("slots", from.Get("slots"), kSlots));
  model.few_slots = slots == 1;
  LATCHKEY_ASSIGN_OR_RETURN(
      const size_t cleaning,
      ParseWord("hylog-cleaning", from.Get("hylog-cleaning"), kHylogCleanings));
  model.hylog_may_plug = cleaning == 1;
  return absl::OkStatus();
}

Json DescribeModel(const Combination& from, const LayoutModel& model) {
  Json row = {{"disk", nullptr},
              {"disks", nullptr},
              {"raid", nullptr},
              {"megabyte", from.Has("megabyte") ? Json(from.Get("megabyte")) : Json(nullptr)},
              {"space_utilization", model.space_utilization},
              {"distribution", model.distribution.ToString()},
              {"compression", model.compression},
              {"idle", model.idle},
              {"reads_per_write", model.reads_per_write},
              {"error", nullptr},
              {"interrupted", false},
              {"warnings", Json::array()}};
  for (const auto& [field, flag] :
       {std::pair("victim_reads", "victim-reads"), std::pair("slots", "slots"),
        std::pair("protection", "protection"), std::pair("hylog_cleaning", "hylog-cleaning")}) {
    row[field] = from.Get(flag);
  }
  return row;
}

}  // namespace

std::vector<FlagSpec> ModelFlags() {
  std::vector<std::string> distributions;
  for (const WriteDistributionInfo& d : WriteDistributions()) {
    std::vector<double> defaults;
    for (const ChoiceParameter& p : d.description.parameters) defaults.push_back(p.default_value);
    distributions.push_back(FormatChoice(d.description, defaults));
  }
  std::string reads;
  for (const VictimReadsInfo& way : VictimReads()) {
    reads += fmt::format("{}{}: {}", reads.empty() ? "" : "; ", way.description.name,
                         way.description.summary);
  }
  return {
      {"measure", "", "in place of --disk: a folder on a disk, whose costs are measured there"},
      {"disk", "cheetah-x15-36lp", DescribeDisks()},
      {"disks", "auto", "of an array, 1 to 1024; auto: as --disk says"},
      {"raid", "auto", "raid0, raid5 (3 disks or more); auto: as --disk says"},
      {"megabyte", "thesis",
       "of a bandwidth: thesis: 1000 KiB; decimal: 10^6 bytes, as simulated devices; binary: 1024 "
       "KiB"},
      {"page-size", "8KiB", "bytes, a power of two from 4096 to 65536"},
      {"segment-size", "auto",
       "bytes, 2 pages to 1GiB; auto: by (6.3) for each data disk; ratio: 1MiB"},
      {"space-utilization", "0.5,0.7,0.8,0.9,0.95,0.97,0.98",
       "live pages over slots, the reserve left out, 0.01 to 0.999"},
      {"distribution", "uniform",
       fmt::format("of writes over pages: {}; values may stand alone: knuth:80:20",
                   fmt::join(distributions, ", "))},
      {"victim-reads", "thesis", reads},
      {"slots", "many",
       "many: u of (6.2), segments of very many pages; few: of as many as there are"},
      {"protection", "none",
       "of writes over a slot: none; doublewrite: first in batches, as the store does; twice: each "
       "page once more"},
      {"compression", "1", "bytes of an appended page over those of a page, 0.05 to 1"},
      {"hylog-cleaning", "cleaning",
       "of hylog's log: cleaning, (6.8); cheapest: cleaning or hole-plugging"},
      {"idle", "0",
       "share of the time in which disks have no work while pages are written, 0 to 0.99"},
      {"reads-per-write", "0",
       "page reads beside each write, 0 to 1000: for relative_to_overwrite"},
  };
}

absl::StatusOr<std::vector<Combination>> ExpandModel(const FlagTexts& texts) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<Dimension> dimensions,
                            DimensionsOf(ModelFlags(), texts));
  std::vector<Combination> combinations = ExpandSweep(dimensions, ResolveModelFlag);
  LATCHKEY_RETURN_IF_ERROR(CheckNoneIgnored(combinations, texts, RemedyForModelFlag));
  return combinations;
}

absl::StatusOr<ModelPlan> PlanModel(const Combination& from) {
  ModelPlan plan;
  LATCHKEY_RETURN_IF_ERROR(ParseModel(from, plan.model));
  LATCHKEY_ASSIGN_OR_RETURN(plan.question, ParseQuestion(from));
  plan.row = DescribeModel(from, plan.model);
  plan.row["page_size"] = plan.question.page_bytes;
  if (from.Has("measure")) {
    plan.measure = from.Get("measure");
    plan.row["disk"] = "measured:" + plan.measure;
    plan.row["segment_bytes"] = nullptr;
    return plan;
  }
  const absl::StatusOr<SegmentCosts> costs = ComputeCosts(from, plan.question, plan.row);
  LATCHKEY_RETURN_IF_ERROR(costs.status());
  plan.model.costs = costs->costs;
  plan.in_ns = !IsRatio(from.Get("disk"));
  plan.row["segment_bytes"] = costs->segment_bytes;
  return plan;
}

}  // namespace latchkey
