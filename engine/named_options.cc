// SetOption and ListOptions: the options of a database as text.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "engine/memory_plan.h"
#include "engine/option_names.h"
#include "engine/technique_choices.h"
#include "layout/geometry.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/ranged_value.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostBytes = INT64_MAX;
constexpr uint32_t kMostCleaners = 128;
constexpr uint32_t kMostVictimsAtOnce = 64;
constexpr std::string_view kOrDefault = ", or auto";

/// `subject` begins the error message: "option NAME".
struct Text {
  std::string_view subject;
  std::string_view value;
};

struct Option {
  std::string_view name;
  std::string_view help;
  absl::Status (*set)(Text text, Options& options);
  std::string (*get)(const Options& options);
};

absl::Status SetBool(Text text, bool& value) {
  if (text.value != "true" && text.value != "false") {
    return InvalidArgument("{}={}: give true or false", text.subject, text.value);
  }
  value = text.value == "true";
  return absl::OkStatus();
}

template <typename Integer>
absl::Status SetCount(Text text, uint64_t min, uint64_t max, Integer& value) {
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t count, CountInRange(text.subject, text.value, min, max));
  value = static_cast<Integer>(count);
  return absl::OkStatus();
}

/// auto is 0: the database chooses.
absl::Status SetBytesOrAuto(Text text, uint64_t min, uint64_t& value, uint64_t max = kMostBytes) {
  if (text.value == "auto" || text.value == "0") {
    value = 0;
    return absl::OkStatus();
  }
  LATCHKEY_ASSIGN_OR_RETURN(value, BytesInRange(text.subject, text.value, min, max, kOrDefault));
  return absl::OkStatus();
}

template <typename Integer>
absl::Status SetPowerOrAuto(Text text, uint32_t min, uint32_t max, Integer& value) {
  if (text.value == "auto" || text.value == "0") {
    value = 0;
    return absl::OkStatus();
  }
  LATCHKEY_ASSIGN_OR_RETURN(value,
                            PowerOfTwoInRange(text.subject, text.value, min, max, kOrDefault));
  return absl::OkStatus();
}

template <typename Registry, typename Value>
absl::Status SetNamed(Text text, const Registry& registry, Value& value) {
  const auto choice = registry.Parse(text.value);
  if (!choice.ok()) {
    return InvalidArgument("{}={}: {}", text.subject, text.value,
                           std::string(choice.status().message()));
  }
  value = choice->entry().value;
  return absl::OkStatus();
}

/// Sets `member` if the techniques are valid with it.
absl::Status SetTechnique(Text text, Options& options, std::string Techniques::*member) {
  Techniques changed = options.techniques;
  changed.*member = std::string(text.value);
  const auto choices = ParseTechniques(changed);
  if (!choices.ok()) {
    return InvalidArgument("{}={}: {}", text.subject, text.value,
                           std::string(choices.status().message()));
  }
  options.techniques.*member = std::string(text.value);
  return absl::OkStatus();
}

std::string TextOf(bool value) { return value ? "true" : "false"; }
std::string OrAuto(uint64_t value) { return value == 0 ? "auto" : fmt::format("{}", value); }

// A build that stops here has an option that the list below lacks. Add its line, then the new size.
static_assert(sizeof(Options) == 544);

constexpr Option kOptions[] = {
    {"create-if-missing", "true, false",
     [](Text text, Options& o) { return SetBool(text, o.create_if_missing); },
     [](const Options& o) -> std::string { return TextOf(o.create_if_missing); }},
    {"error-if-exists", "true, false",
     [](Text text, Options& o) { return SetBool(text, o.error_if_exists); },
     [](const Options& o) -> std::string { return TextOf(o.error_if_exists); }},
    {"read-only", "true: changes no byte, beside other readers; false",
     [](Text text, Options& o) { return SetBool(text, o.read_only); },
     [](const Options& o) -> std::string { return TextOf(o.read_only); }},
    {"cache-size", "all memory of the database: bytes, at least 1MiB",
     [](Text text, Options& o) -> absl::Status {
       LATCHKEY_ASSIGN_OR_RETURN(
           o.cache_bytes, BytesInRange(text.subject, text.value, kLeastCacheBytes, kMostBytes));
       return absl::OkStatus();
     },
     [](const Options& o) -> std::string { return fmt::format("{}", o.cache_bytes); }},
    {"page-size", "bytes, a power of two from 4096 to 65536, or auto: as the database has it",
     [](Text text, Options& o) {
       return SetPowerOrAuto(text, kMinPageSize, kMaxPageSize, o.page_size);
     },
     [](const Options& o) -> std::string { return OrAuto(o.page_size); }},
    {"durability", "none, group, commit",
     [](Text text, Options& o) { return SetNamed(text, Durabilities(), o.durability); },
     [](const Options& o) -> std::string { return std::string(NameOf(o.durability)); }},
    {"group-commit-delay-ms", "with durability group: 1 to 10000",
     [](Text text, Options& o) {
       return SetCount(text, 1, kMostGroupCommitDelayMs, o.group_commit_delay_ms);
     },
     [](const Options& o) -> std::string { return fmt::format("{}", o.group_commit_delay_ms); }},
    {"torn-write-protection", "doublewrite, images, none",
     [](Text text, Options& o) {
       return SetNamed(text, TornWriteProtections(), o.torn_write_protection);
     },
     [](const Options& o) -> std::string { return std::string(NameOf(o.torn_write_protection)); }},
    {"checkpoint-log-size", "log after which a checkpoint begins: bytes, at least 64KiB, or auto",
     [](Text text, Options& o) {
       return SetBytesOrAuto(text, kMinCheckpointLogBytes, o.checkpoint_log_bytes);
     },
     [](const Options& o) -> std::string { return OrAuto(o.checkpoint_log_bytes); }},
    {"isolation", "snapshot, serializable",
     [](Text text, Options& o) { return SetNamed(text, Isolations(), o.isolation); },
     [](const Options& o) -> std::string { return std::string(NameOf(o.isolation)); }},
    {"lock-wait-ms", "longest wait of a call for a locked key: 1 to 3600000",
     [](Text text, Options& o) { return SetCount(text, 1, kMostLockWaitMs, o.lock_wait_ms); },
     [](const Options& o) -> std::string { return fmt::format("{}", o.lock_wait_ms); }},
    {"version-store-size", "share of the cache for old versions and undo: bytes, or auto",
     [](Text text, Options& o) { return SetBytesOrAuto(text, 1, o.version_store_bytes); },
     [](const Options& o) -> std::string { return OrAuto(o.version_store_bytes); }},
    {"snapshot-spill-size", "largest size of the spill file: bytes, or auto",
     [](Text text, Options& o) { return SetBytesOrAuto(text, 1, o.snapshot_spill_bytes); },
     [](const Options& o) -> std::string { return OrAuto(o.snapshot_spill_bytes); }},
    {"latency-sampling", "one call in so many is timed: 1 to 1000000; 0: none",
     [](Text text, Options& o) {
       return SetCount(text, 0, kMostLatencySampling, o.latency_sampling);
     },
     [](const Options& o) -> std::string { return fmt::format("{}", o.latency_sampling); }},
    {"slow-call-ms", "calls that take so long are told as events: 1 to 3600000; 0: none",
     [](Text text, Options& o) { return SetCount(text, 0, kMostSlowCallMs, o.slow_call_ms); },
     [](const Options& o) -> std::string { return fmt::format("{}", o.slow_call_ms); }},
    {"metrics-path", "file that gets all figures once a second; empty: none",
     [](Text text, Options& o) -> absl::Status {
       o.metrics_path = text.value;
       return absl::OkStatus();
     },
     [](const Options& o) { return o.metrics_path; }},
    {"device", "file, memory",
     [](Text text, Options& o) -> absl::Status {
       if (text.value != "file" && text.value != "memory") {
         return InvalidArgument("{}={}: give file or memory", text.subject, text.value);
       }
       o.in_memory_device = text.value == "memory";
       return absl::OkStatus();
     },
     [](const Options& o) -> std::string { return o.in_memory_device ? "memory" : "file"; }},
    {"layout", "overwrite, lfs, wolf, hylog",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::layout); },
     [](const Options& o) { return o.techniques.layout; }},
    {"segment-cleaning", "auto, greedy, cost-benefit, hole-plugging, adaptive, by-pass, death-time",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::segment_cleaning); },
     [](const Options& o) { return o.techniques.segment_cleaning; }},
    {"page-compression", "none, lz4, zstd; of pages that are appended",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::page_compression); },
     [](const Options& o) { return o.techniques.page_compression; }},
    {"space-utilization", "live pages / capacity of the file, 0.5 to 0.98",
     [](Text text, Options& o) -> absl::Status {
       LATCHKEY_ASSIGN_OR_RETURN(o.techniques.space_utilization,
                                 NumberInRange(text.subject, text.value, 0.5, 0.98));
       return absl::OkStatus();
     },
     [](const Options& o) -> std::string {
       return fmt::format("{}", o.techniques.space_utilization);
     }},
    {"segment-size", "bytes, a multiple of the page size from 65536 to 67108864, or auto",
     [](Text text, Options& o) {
       return SetBytesOrAuto(text, kMinSegmentSize, o.techniques.segment_size, kMaxSegmentSize);
     },
     [](const Options& o) -> std::string { return OrAuto(o.techniques.segment_size); }},
    {"replacement", "an algorithm by its name, such as clock or 2q:kin=0.25",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::replacement); },
     [](const Options& o) { return o.techniques.replacement; }},
    {"synchronization", "global, regions:N, bp-wrapper, nb-gclock, separate",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::synchronization); },
     [](const Options& o) { return o.techniques.synchronization; }},
    {"fix", "of pages that are only read: optimistic, latched",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::fix); },
     [](const Options& o) { return o.techniques.fix; }},
    {"page-in", "of pages that several users ask for: blocking, optimistic",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::page_in); },
     [](const Options& o) { return o.techniques.page_in; }},
    {"cleaner", "fixed:N, self-tuning, demand",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::cleaner); },
     [](const Options& o) { return o.techniques.cleaner; }},
    {"cleaners", "page cleaners, 0 to 128",
     [](Text text, Options& o) { return SetCount(text, 0, kMostCleaners, o.techniques.cleaners); },
     [](const Options& o) -> std::string { return fmt::format("{}", o.techniques.cleaners); }},
    {"cleaning-scope", "dirty pages that cleaners write: coldest, all",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::cleaning_scope); },
     [](const Options& o) { return o.techniques.cleaning_scope; }},
    {"victims", "pages that evictions prefer: coldest, clean-first",
     [](Text text, Options& o) { return SetTechnique(text, o, &Techniques::victims); },
     [](const Options& o) { return o.techniques.victims; }},
    {"eviction-batch", "victims of one eviction, 1 to 64; 0: as the synchronization says",
     [](Text text, Options& o) {
       return SetCount(text, 0, kMostVictimsAtOnce, o.techniques.eviction_batch);
     },
     [](const Options& o) -> std::string {
       return fmt::format("{}", o.techniques.eviction_batch);
     }},
    {"change-buffer", "part of the cache for puts that wait for their leaf: bytes, 0: none",
     [](Text text, Options& o) -> absl::Status {
       LATCHKEY_ASSIGN_OR_RETURN(o.techniques.change_buffer_bytes,
                                 BytesInRange(text.subject, text.value, 0, kMostBytes));
       return absl::OkStatus();
     },
     [](const Options& o) -> std::string {
       return fmt::format("{}", o.techniques.change_buffer_bytes);
     }},
    {"seed", "of every random choice inside: a whole number",
     [](Text text, Options& o) { return SetCount(text, 0, UINT64_MAX, o.techniques.seed); },
     [](const Options& o) -> std::string { return fmt::format("{}", o.techniques.seed); }},
};

std::string AllNames() {
  std::string names;
  for (const Option& option : kOptions) {
    names += names.empty() ? "" : ", ";
    names += option.name;
  }
  return names;
}

absl::Status SetKnownOption(std::string_view name, std::string_view value, Options& options) {
  std::string hyphened(name);
  std::replace(hyphened.begin(), hyphened.end(), '_', '-');
  for (const Option& option : kOptions) {
    if (option.name != hyphened) continue;
    const std::string subject = "option " + hyphened;
    return option.set({subject, value}, options);
  }
  return InvalidArgument("no option is named '{}'; the options are {}", name, AllNames());
}

}  // namespace

absl::Status SetOption(std::string_view name, std::string_view value, Options* options) {
  if (options == nullptr) {
    return absl::InvalidArgumentError(
        "the options to change are a null pointer: pass the address of an Options object");
  }
  return CatchOutOfMemory([&] { return SetKnownOption(name, value, *options); });
}

std::vector<NamedOption> ListOptions(const Options& options) {
  std::vector<NamedOption> named;
  for (const Option& option : kOptions) {
    named.push_back({option.name, option.get(options), option.help});
  }
  return named;
}

}  // namespace latchkey
