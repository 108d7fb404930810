#include "bufferpool/synchronization/synchronization_list.h"

#include "bufferpool/synchronization/region_policy.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using FixPolicyOr = absl::StatusOr<std::unique_ptr<FixPolicy>>;

constexpr ChoiceParameter kRegionsParameters[] = {
    {"n", 64, 1, 1 << 20, ParameterKind::kWhole, "number of regions"}};

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
     },
     RegionPolicy::kBytesPerFrame,
     "global"},
    {{"regions", "pages hashed to n regions, each with its instance and lock", kRegionsParameters},
     [](const SynchronizationConfig& config, std::span<const double> parameters) -> FixPolicyOr {
       return MakeRegions(config, static_cast<size_t>(parameters[0]));
     },
     RegionPolicy::kBytesPerFrame,
     "regions:4"},
};

absl::Status CheckFrames(size_t frames, size_t max_frames) {
  constexpr size_t kMostFrames = UINT32_MAX - 2;  // frame ids have 32 bits, two values are reserved
  if (frames < 1 || frames > max_frames || max_frames > kMostFrames) {
    return InvalidArgument(
        "a cache of {} frames that may grow to {}: frames must be 1 to the "
        "maximum, and the maximum at most {}",
        frames, max_frames, kMostFrames);
  }
  return absl::OkStatus();
}

}  // namespace

const Registry<SynchronizationInfo>& SynchronizationSchemes() {
  static constexpr Registry<SynchronizationInfo> registry("synchronization scheme", kSchemes);
  return registry;
}

FixPolicyOr MakeFixPolicy(Runtime& runtime, const ReplacementChoice& replacement,
                          const SynchronizationChoice& synchronization, size_t frames,
                          size_t max_frames, uint64_t seed) {
  LATCHKEY_RETURN_IF_ERROR(CheckFrames(frames, max_frames));
  LATCHKEY_RETURN_IF_ERROR(CheckRunsInPool(replacement));
  return synchronization.Make(SynchronizationConfig{.runtime = runtime,
                                                    .replacement = replacement,
                                                    .frames = frames,
                                                    .max_frames = max_frames,
                                                    .seed = seed});
}

size_t PolicyBytesPerFrame(const ReplacementChoice& replacement,
                           const SynchronizationChoice& synchronization) {
  return synchronization.entry().bytes_per_frame +
         replacement.entry().bytes_per_frame(replacement.values());
}

std::unique_ptr<FixPolicy> MakePlainFixPolicy(Runtime& runtime, size_t frames) {
  constexpr uint64_t kSeed = 42;
  FixPolicyOr policy =
      MakeFixPolicy(runtime, ReplacementAlgorithms().Named("clock"),
                    SynchronizationSchemes().Named("global"), frames, frames, kSeed);
  LATCHKEY_CHECK(policy.ok());
  return *std::move(policy);
}

}  // namespace latchkey
