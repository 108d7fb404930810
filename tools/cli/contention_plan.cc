#include "tools/cli/contention_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/fix_choices.h"
#include "storage/base/status_macros.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/policy_flags.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostPages = uint64_t{1} << 32;
constexpr uint64_t kMostPoolFrames = uint64_t{1} << 26;

/// An unknown pattern has both flags: its own flag refuses it.
bool LacksAccessFlag(const Combination& so_far, const std::string& flag) {
  if (flag != "trace" && flag != "pages") return false;
  const std::string& accesses = so_far.Get("accesses");
  const AccessPatternInfo* const pattern =
      AccessPatterns().Find(std::string_view(accesses).substr(0, accesses.find(':')));
  return pattern != nullptr && pattern->needs_trace == (flag == "pages");
}

std::string_view RemedyForContentionFlag(const std::string& flag) {
  if (flag == "trace") return "only one pattern has it: give --accesses=trace";
  if (flag == "pages") return "the pages are those of the trace";
  if (flag == "policy") return "none is the default; give a preset";
  return "no combination has it";
}

absl::Status ParseAccesses(const Combination& from, PageTraces& traces,
                           PoolEmulatorConfig* config) {
  LATCHKEY_ASSIGN_OR_RETURN(config->accesses, AccessPatterns().Parse(from.Get("accesses")));
  if (!config->accesses.entry().needs_trace) {
    LATCHKEY_ASSIGN_OR_RETURN(config->pages, ParseCount("pages", from.Get("pages"), 1, kMostPages));
    return absl::OkStatus();
  }
  const std::string& path = from.Get("trace");
  if (path.empty()) {
    return InvalidArgument("--accesses=trace: the trace is missing; give --trace=FILE");
  }
  LATCHKEY_ASSIGN_OR_RETURN(config->trace, traces.Read(path));
  config->pages = config->trace->unique_pages;
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> ParseFrames(const std::string& text, uint64_t pages) {
  constexpr uint64_t kFewest = BufferPool::kMinFrames;
  LATCHKEY_ASSIGN_OR_RETURN(
      const CountOrShare size,
      ParseCountOrShare("frames", text, kFewest, kMostPoolFrames, "the pages"));
  const uint64_t frames = size.Of(pages);
  if (frames >= kFewest && frames <= kMostPoolFrames) return static_cast<uint32_t>(frames);
  return InvalidArgument("--frames={}: {} of {} pages; give {} to {} frames", text, frames, pages,
                         kFewest, kMostPoolFrames);
}

}  // namespace

std::vector<FlagSpec> PoolFlags(const std::string& pages) {
  std::vector<FlagSpec> flags = PolicyFlags("lru", "global");
  const FlagSpec more[] = {
      {"accesses", "zipf", fmt::format("{}", fmt::join(AccessPatterns().Names(), ", "))},
      {"trace", "", "file for --accesses=trace"},
      {"pages", pages, "pages that are accessed; a trace has its own"},
      {"frames", "100%", "of the pool: a number, or a percentage of the pages"},
      FixFlag(),
      PageInFlag()};
  flags.insert(flags.end(), std::begin(more), std::end(more));
  return flags;
}

absl::StatusOr<Nanos> ParseMicros(std::string_view flag, const std::string& text) {
  LATCHKEY_ASSIGN_OR_RETURN(const double us, ParseNumber(flag, text, 0, kMostMicros));
  return static_cast<Nanos>(us * kNanosPerMicro + 0.5);
}

absl::StatusOr<uint64_t> ParseSeed(const Combination& from) {
  return ParseCount("seed", from.Get("seed"), 0, UINT64_MAX);
}

absl::StatusOr<std::vector<Combination>> ExpandContention(const std::vector<FlagSpec>& specs,
                                                          const FlagTexts& texts) {
  LATCHKEY_RETURN_IF_ERROR(CheckPolicyStandsAlone(texts));
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<Dimension> dimensions, DimensionsOf(specs, texts));
  std::vector<Combination> combinations =
      ExpandSweep(dimensions,
                  [](const Combination& so_far, const std::string& flag,
                     const std::string& value) -> std::optional<std::string> {
                    if (LacksPolicyFlag(so_far, flag, value)) return std::nullopt;
                    if (LacksAccessFlag(so_far, flag)) return std::nullopt;
                    return value;
                  });
  LATCHKEY_RETURN_IF_ERROR(CheckNoneIgnored(combinations, texts, RemedyForContentionFlag));
  return combinations;
}

absl::StatusOr<PoolEmulatorConfig> ParsePool(const Combination& from, PageTraces& traces) {
  LATCHKEY_ASSIGN_OR_RETURN(const PolicyItems items, PolicyOf(from));
  LATCHKEY_ASSIGN_OR_RETURN(auto replacement, ReplacementAlgorithms().Parse(items.replacement));
  LATCHKEY_ASSIGN_OR_RETURN(auto synchronization,
                            SynchronizationSchemes().Parse(items.synchronization));
  PoolEmulatorConfig config{.replacement = std::move(replacement),
                            .synchronization = std::move(synchronization),
                            .accesses = AccessPatterns().Named("uniform")};
  LATCHKEY_RETURN_IF_ERROR(ParseAccesses(from, traces, &config));
  LATCHKEY_ASSIGN_OR_RETURN(config.frames, ParseFrames(from.Get("frames"), config.pages));
  LATCHKEY_ASSIGN_OR_RETURN(const FixModeChoice fix, FixModes().Parse(from.Get("fix")));
  LATCHKEY_ASSIGN_OR_RETURN(const PageInChoice page_in, PageIns().Parse(from.Get("page-in")));
  config.page_in = page_in.entry().page_in;
  config.latches = fix.entry().mode == FixMode::kLatched;
  LATCHKEY_ASSIGN_OR_RETURN(config.work, ParseMicros("work-us", from.Get("work-us")));
  LATCHKEY_ASSIGN_OR_RETURN(config.seed, ParseSeed(from));
  return config;
}

void AddPoolWarnings(Json& row, const PoolEmulatorConfig& config) {
  const SynchronizationChoice& scheme = config.synchronization;
  const auto copies = scheme.entry().private_copies;
  const uint32_t threads = config.times.threads;
  const uint32_t actors = copies == nullptr ? threads : copies(scheme.values()).actors;
  if (actors >= threads) return;
  row["warnings"].push_back(fmt::format(
      "{} threads, of which {} have private frames and {} use the shared ones, under one "
      "lock: give --replacement={} --synchronization={}:actors={}",
      threads, actors, threads - actors, config.replacement.ToString(), scheme.name(), threads));
}

Json DescribePool(const Combination& from, const PoolEmulatorConfig& config) {
  Json row;
  row["policy"] = from.Has("policy")
                      ? from.Get("policy")
                      : fmt::format("{} {}", from.Get("replacement"), from.Get("synchronization"));
  row["replacement"] = config.replacement.ToString();
  row["synchronization"] = config.synchronization.ToString();
  row["accesses_of"] = config.trace == nullptr ? config.accesses.ToString() : from.Get("trace");
  row["pages"] = config.pages;
  row["frames"] = config.frames;
  row["fix"] = from.Get("fix");
  row["page_in"] = from.Get("page-in");
  return row;
}

void AddPoolFigures(Json& row, const PoolEmulatorResult& result) {
  const uint64_t accesses = result.hits + result.misses;
  AddInterval(row, result.interval, accesses);
  row["hit_ratio"] = accesses == 0
                         ? Json(nullptr)
                         : Json(static_cast<double>(result.hits) / static_cast<double>(accesses));
  row["locks_per_million"] = PerMillion(result.locks, accesses);
  row["failed_page_ins_per_million"] = PerMillion(result.failed_page_ins, accesses);
  row["contentions_per_million"] = PerMillion(result.contentions, accesses);
}

std::vector<Column> PoolColumns(const std::vector<Column>& machine,
                                const std::vector<Column>& more) {
  std::vector<Column> columns = {
      {"policy", "/policy", ColumnFormat::kText, true},
      {"accesses", "/accesses_of", ColumnFormat::kText, true},
      {"pages", "/pages", ColumnFormat::kCount, true},
      {"frames", "/frames", ColumnFormat::kCount, true},
      {"fix", "/fix", ColumnFormat::kText, true},
      {"page-in", "/page_in", ColumnFormat::kText, true},
      {"work us", "/work_us", ColumnFormat::kNumber, true},
  };
  columns.insert(columns.end(), machine.begin(), machine.end());
  columns.insert(
      columns.end(),
      {{"threads", "/threads", ColumnFormat::kCount, true},
       {"accesses/s", "/accesses_per_s", ColumnFormat::kCount},
       {"hits", "/hit_ratio", ColumnFormat::kPercent},
       {"locks per million", "/locks_per_million", ColumnFormat::kCount},
       {"failed page-ins per million", "/failed_page_ins_per_million", ColumnFormat::kNumber},
       {"contentions per million", "/contentions_per_million", ColumnFormat::kNumber}});
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

Json PerMillion(uint64_t events, uint64_t accesses) {
  if (accesses == 0) return nullptr;
  return 1e6 * static_cast<double>(events) / static_cast<double>(accesses);
}

void AddInterval(Json& row, const MeasuredInterval& interval, uint64_t accesses) {
  row["interrupted"] = interval.interrupted;
  row["seconds"] = interval.seconds;
  row["accesses"] = accesses;
  row["accesses_per_s"] =
      interval.seconds > 0 ? Json(static_cast<double>(accesses) / interval.seconds) : Json(nullptr);
}

}  // namespace latchkey
