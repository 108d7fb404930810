#include "bufferpool/synchronization/synchronization_list.h"

#include <cmath>

#include "bufferpool/synchronization/nb_gclock_policy.h"
#include "bufferpool/synchronization/region_policy.h"
#include "bufferpool/synchronization/scheme_lock.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using FixPolicyOr = absl::StatusOr<std::unique_ptr<FixPolicy>>;

constexpr std::string_view kHitWords[] = {"unlocked", "locked"};
constexpr std::string_view kHandWords[] = {"atomic", "striped"};      // of ClockHandKind

constexpr ChoiceParameter kHits = {
    "hits",
    0,
    0,
    1,
    ParameterKind::kWord,
    "locked: every hit takes the lock, also of algorithms that need only a byte",
    kHitWords};
constexpr ChoiceParameter kLock = {
    "lock", 0, 0, 2, ParameterKind::kWord, "how an actor waits for the lock", kLockKindNames};
constexpr ChoiceParameter kRegions = {
    "n", 64, 1, 1 << 20, ParameterKind::kWhole, "number of regions"};

FixPolicyOr MakeRegions(const SynchronizationConfig& config, const RegionSettings& settings) {
  if (settings.regions > config.frames) {
    return InvalidArgument(
        "{} regions need at least as many frames, but the cache has {}; ask for "
        "at most {} regions or a larger cache",
        settings.regions, config.frames, config.frames);
  }
  return std::make_unique<RegionPolicy>(config.runtime, config.replacement, settings, config.frames,
                                        config.max_frames, config.seed);
}

// ---- global, regions

constexpr ChoiceParameter kGlobalParameters[] = {kHits, kLock};
constexpr ChoiceParameter kRegionsParameters[] = {kRegions, kHits, kLock};

FixPolicyOr MakeGlobal(const SynchronizationConfig& config, std::span<const double> parameters) {
  return MakeRegions(config, {.lock = static_cast<LockKind>(parameters[1]),
                              .locks_every_hit = parameters[0] != 0});
}

FixPolicyOr MakeRegional(const SynchronizationConfig& config, std::span<const double> parameters) {
  return MakeRegions(config, {.regions = static_cast<size_t>(parameters[0]),
                              .lock = static_cast<LockKind>(parameters[2]),
                              .locks_every_hit = parameters[1] != 0});
}

// ---- bp-wrapper

constexpr double kMostQueue = 256;  // entries for each actor and region
constexpr ChoiceParameter kBpWrapperParameters[] = {
    {"queue", 64, 1, kMostQueue, ParameterKind::kWhole, "accesses that an actor queues at most"},
    {"threshold", 32, 1, kMostQueue, ParameterKind::kWhole,
     "queued accesses from which on the actor tries to report them"},
    {"prefetch", 1, 0, 1, ParameterKind::kSwitch, "ask for what the report will touch before it"},
    {"free_lists", 64, 1, 1024, ParameterKind::kWhole, "lists of free frames, per region"},
    {"refill", 64, 1, FixPolicy::kMostVictims, ParameterKind::kWhole,
     "victims of an eviction, for the free list of the page that is loaded"},
    {"regions", 1, 1, 256, ParameterKind::kWhole, "number of regions, each with its queues"},
    kLock};

FixPolicyOr MakeBpWrapper(const SynchronizationConfig& config, std::span<const double> parameters) {
  const RegionSettings settings{.regions = static_cast<size_t>(parameters[5]),
                                .lock = static_cast<LockKind>(parameters[6]),
                                .queue = static_cast<size_t>(parameters[0]),
                                .threshold = static_cast<size_t>(parameters[1]),
                                .prefetch = parameters[2] != 0,
                                .free_lists = static_cast<size_t>(parameters[3]),
                                .most_victims = static_cast<size_t>(parameters[4])};
  if (settings.threshold > settings.queue) {
    return InvalidArgument(
        "bp-wrapper with a queue of {} accesses and a threshold of {}: the threshold is at most "
        "the "
        "length of the queue",
        settings.queue, settings.threshold);
  }
  const size_t lists = settings.regions * settings.free_lists;
  if (lists > config.frames) {
    return InvalidArgument(
        "bp-wrapper with {} regions of {} free lists needs {} frames or more, but the cache has "
        "{}; "
        "ask for fewer lists or a larger cache",
        settings.regions, settings.free_lists, lists, config.frames);
  }
  return MakeRegions(config, settings);
}

// ---- nb-gclock

constexpr std::string_view kNbGclockReplacements[] = {"gclock", "clock"};
constexpr ChoiceParameter kNbGclockParameters[] = {
    {"hand", 0, 0, 1, ParameterKind::kWord, "one counter for the clock hand, or 64", kHandWords}};

FixPolicyOr MakeNbGclock(const SynchronizationConfig& config, std::span<const double> parameters) {
  NbGclockSettings settings{
      .initial = 0, .limit = 1, .hand = static_cast<ClockHandKind>(parameters[0])};  // clock
  if (config.replacement.name() == "gclock") {
    settings.limit = static_cast<uint8_t>(config.replacement.values()[0]);
    settings.initial = static_cast<uint8_t>(config.replacement.values()[1]);
  }
  return std::make_unique<NbGclockPolicy>(config.runtime, settings, config.frames,
                                          config.max_frames);
}

// ---- separate

constexpr ChoiceParameter kSeparateParameters[] = {
    {"actors", 8, 1, Runtime::kMaxActors, ParameterKind::kWhole,
     "actors that have private frames: the first ones that read"},
    {"private", 1, 0.01, 4, ParameterKind::kNumber,
     "private frames of all these actors / shared frames"},
    kHits,
    kLock};

PrivateCopiesPlan PlanCopies(std::span<const double> parameters) {
  return {.actors = static_cast<uint32_t>(parameters[0]), .frames_per_frame = parameters[1]};
}

FixPolicyOr MakeSeparate(const SynchronizationConfig& config, std::span<const double> parameters) {
  const PrivateCopiesPlan plan = PlanCopies(parameters);
  const uint64_t fewest = PrivateCopiesPlan::FewestFrames(config.replacement);
  if (plan.FramesOfActor(config.frames) < fewest) {
    const double minimum = std::ceil(static_cast<double>(fewest) * plan.actors / parameters[1]);
    return InvalidArgument(
        "separate with {} actors and {} private frames for each shared one: a cache of {} shared "
        "frames gives each actor {}, and {} are the fewest; ask for fewer actors, or for a cache "
        "of at least {:.0f} shared frames",
        plan.actors, parameters[1], config.frames, plan.FramesOfActor(config.frames), fewest,
        minimum);
  }
  return MakeRegions(config, {.lock = static_cast<LockKind>(parameters[3]),
                              .locks_every_hit = parameters[2] != 0,
                              .private_copies = plan});
}

constexpr SynchronizationInfo kSchemes[] = {
    {{"global", "one lock around one instance", kGlobalParameters},
     MakeGlobal,
     RegionPolicy::kBytesPerFrame,
     "global"},
    {{"regions", "pages hashed to n regions, each with its instance and lock", kRegionsParameters},
     MakeRegional,
     RegionPolicy::kBytesPerFrame,
     "regions:4"},
    {{"bp-wrapper", "accesses queued per actor and reported in batches", kBpWrapperParameters},
     MakeBpWrapper,
     RegionPolicy::kBytesPerFrame,
     "bp-wrapper:queue=8:threshold=4:free_lists=2:refill=2"},
    {{"nb-gclock", "gclock without a lock", kNbGclockParameters},
     MakeNbGclock,
     NbGclockPolicy::kBytesPerFrame,
     "nb-gclock",
     kNbGclockReplacements},
    {{"separate", "private read copies per actor, and global for shared frames",
      kSeparateParameters},
     MakeSeparate,
     RegionPolicy::kBytesPerFrame,
     "separate:actors=2:private=1.25",
     {},
     PlanCopies},
};

absl::Status CheckRuns(const SynchronizationChoice& synchronization,
                       const ReplacementChoice& replacement) {
  if (synchronization.entry().Runs(replacement.name())) return absl::OkStatus();
  std::string possible;
  for (const std::string_view name : synchronization.entry().replacements) {
    possible += (possible.empty() ? "" : " or ") + std::string(name);
  }
  return InvalidArgument(
      "synchronization scheme {} with replacement algorithm {}: the scheme is itself a form of {}; "
      "give one of these, or another scheme",
      synchronization.name(), replacement.name(), possible);
}

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
  LATCHKEY_RETURN_IF_ERROR(CheckRuns(synchronization, replacement));
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

size_t PrivateBytesPerFrame(const ReplacementChoice& replacement,
                            const SynchronizationChoice& synchronization, uint32_t page_size) {
  if (synchronization.entry().private_copies == nullptr) return 0;
  const PrivateCopiesPlan plan = synchronization.entry().private_copies(synchronization.values());
  const auto bytes = static_cast<double>(PrivateCopies::BytesPerFrame(replacement, page_size));
  return static_cast<size_t>(std::ceil(plan.frames_per_frame * bytes));
}

uint32_t SharedFrames(const SynchronizationChoice& synchronization, uint32_t frames) {
  if (synchronization.entry().private_copies == nullptr) return frames;
  const PrivateCopiesPlan plan = synchronization.entry().private_copies(synchronization.values());
  return static_cast<uint32_t>(static_cast<double>(frames) / (1 + plan.frames_per_frame));
}

absl::Status CheckFixMode(const SynchronizationChoice& synchronization, FixMode mode) {
  if (mode == FixMode::kOptimistic || synchronization.entry().private_copies == nullptr) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "fix mode latched with synchronization scheme {}: private copies are read without a latch, "
      "and latched readers would never use them; give optimistic, or another scheme",
      synchronization.name());
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
