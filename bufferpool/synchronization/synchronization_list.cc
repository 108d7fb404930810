#include "bufferpool/synchronization/synchronization_list.h"

#include <vector>

#include "bufferpool/synchronization/region_policy.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using FixPolicyOr = absl::StatusOr<std::unique_ptr<FixPolicy>>;

constexpr PolicyParameter kRegionsParameters[] = {{"n", 64, 1, 1 << 20, true, "number of regions"}};

FixPolicyOr MakeRegions(const SynchronizationConfig& config, size_t regions) {
  if (regions > config.frames) {
    return InvalidArgument(
        "{} regions need at least as many frames, but the cache has {}; ask for "
        "at most {} regions or a larger cache",
        regions, config.frames, config.frames);
  }
  return std::make_unique<RegionPolicy>(config.runtime, config.replacement, regions, config.frames,
                                        config.max_frames, config.seed);
}

constexpr SynchronizationInfo kSchemes[] = {
    {{"global", "one lock around one instance", {}},
     [](const SynchronizationConfig& config, std::span<const double>) -> FixPolicyOr {
       return MakeRegions(config, 1);
     }},
    {{"regions", "pages hashed to n regions, each with its instance and lock", kRegionsParameters},
     [](const SynchronizationConfig& config, std::span<const double> parameters) -> FixPolicyOr {
       return MakeRegions(config, static_cast<size_t>(parameters[0]));
     }},
};

absl::StatusOr<PolicyChoice> ParseSynchronization(std::string_view item) {
  std::vector<PolicyDescription> known;
  for (const SynchronizationInfo& info : kSchemes) known.push_back(info.description);
  return ParsePolicy(item, "synchronization scheme", known);
}

absl::Status CheckFrames(size_t frames, size_t max_frames) {
  constexpr size_t kMostFrames = UINT32_MAX - 2;  // frame ids are 32 bits, two values are taken
  if (frames < 1 || frames > max_frames || max_frames > kMostFrames) {
    return InvalidArgument(
        "a cache of {} frames that may grow to {}: frames must be 1 to the "
        "maximum, and the maximum at most {}",
        frames, max_frames, kMostFrames);
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const SynchronizationInfo> SynchronizationSchemes() { return kSchemes; }

FixPolicyOr MakeFixPolicy(Runtime& runtime, std::string_view replacement,
                          std::string_view synchronization, size_t frames, size_t max_frames,
                          uint64_t seed) {
  LATCHKEY_ASSIGN_OR_RETURN(const ReplacementChoice algorithm,
                            ReplacementChoice::Parse(replacement));
  LATCHKEY_ASSIGN_OR_RETURN(const PolicyChoice scheme, ParseSynchronization(synchronization));
  LATCHKEY_RETURN_IF_ERROR(CheckFrames(frames, max_frames));
  return kSchemes[scheme.index].make({.runtime = runtime,
                                      .replacement = algorithm,
                                      .frames = frames,
                                      .max_frames = max_frames,
                                      .seed = seed},
                                     scheme.values);
}

absl::StatusOr<std::string> CanonicalSynchronization(std::string_view item) {
  LATCHKEY_ASSIGN_OR_RETURN(const PolicyChoice scheme, ParseSynchronization(item));
  return FormatPolicy(kSchemes[scheme.index].description, scheme.values);
}

}  // namespace latchkey
