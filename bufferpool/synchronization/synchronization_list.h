// The list of synchronisation schemes, the values of `--synchronization=`. To add one: its file
// beside this one and one line in synchronization_list.cc.
#pragma once

#include <absl/status/statusor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "bufferpool/fix_choices.h"
#include "bufferpool/fix_policy.h"
#include "bufferpool/replacement/replacement_list.h"
#include "storage/base/registry.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The arguments for making a scheme. 1 <= frames <= max_frames, checked by MakeFixPolicy.
struct SynchronizationConfig {
  Runtime& runtime;
  const ReplacementChoice& replacement;
  size_t frames;
  size_t max_frames;  ///< the most frames that Resize allows
  uint64_t seed;
};

/// One scheme of the list.
struct SynchronizationInfo {
  ChoiceDescription description;
  absl::StatusOr<std::unique_ptr<FixPolicy>> (*make)(const SynchronizationConfig& config,
                                                     std::span<const double> parameters);
  /// Bytes of memory that the scheme takes for each frame, beside the algorithm's.
  size_t bytes_per_frame;
  /// The item for a pool of 16 frames, for campaigns and tests of small pools.
  std::string_view small_item;
  /// The only replacement algorithms that it can run; empty: all.
  std::span<const std::string_view> replacements = {};
  /// The private frames that it wants; nullptr: none.
  PrivateCopiesPlan (*private_copies)(std::span<const double> parameters) = nullptr;

  bool Runs(std::string_view replacement) const {
    return replacements.empty() ||
           std::find(replacements.begin(), replacements.end(), replacement) != replacements.end();
  }
};

/// The list of synchronisation schemes. `Parse` returns a choice such as `regions:64`.
const Registry<SynchronizationInfo>& SynchronizationSchemes();
using SynchronizationChoice = Choice<SynchronizationInfo>;

/// The fix policy of a pool with frames 1..`frames`, all free: `replacement` under
/// `synchronization`. InvalidArgument for contradictions (more regions than frames, frames above
/// max_frames), for a replacement algorithm that only a trace replay can run, and for one that the
/// scheme does not run.
absl::StatusOr<std::unique_ptr<FixPolicy>> MakeFixPolicy(
    Runtime& runtime, const ReplacementChoice& replacement,
    const SynchronizationChoice& synchronization, size_t frames, size_t max_frames, uint64_t seed);

/// Bytes of memory that the policy which MakeFixPolicy makes of the two takes for each frame.
size_t PolicyBytesPerFrame(const ReplacementChoice& replacement,
                           const SynchronizationChoice& synchronization);
/// Bytes of private frames, with their pages, for each frame of a pool with these two.
size_t PrivateBytesPerFrame(const ReplacementChoice& replacement,
                            const SynchronizationChoice& synchronization, uint32_t page_size);
/// Shared frames of a pool that has the memory of `frames` frames, private ones included.
uint32_t SharedFrames(const SynchronizationChoice& synchronization, uint32_t frames);
/// InvalidArgument if readers cannot fix pages in this mode under the scheme.
absl::Status CheckFixMode(const SynchronizationChoice& synchronization, FixMode mode);

/// CLOCK under one lock, for pools of `frames` frames without a choice of policy: those of salvage
/// and of tests. REQUIRES: 1 <= frames < 2^32 - 2.
std::unique_ptr<FixPolicy> MakePlainFixPolicy(Runtime& runtime, size_t frames);

}  // namespace latchkey
