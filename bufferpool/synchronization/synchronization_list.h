// The list of synchronisation schemes: what `--synchronization=` accepts. To add one: its file
// beside this one and one line in synchronization_list.cc.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bufferpool/fix_policy.h"
#include "bufferpool/policy_spec.h"
#include "bufferpool/replacement/replacement_list.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// What a scheme is made from. 1 <= frames <= max_frames, checked by MakeFixPolicy.
struct SynchronizationConfig {
  Runtime& runtime;
  const ReplacementChoice& replacement;
  size_t frames;
  size_t max_frames;  ///< what Resize may grow to
  uint64_t seed;
};

/// One scheme of the list.
struct SynchronizationInfo {
  PolicyDescription description;
  absl::StatusOr<std::unique_ptr<FixPolicy>> (*make)(const SynchronizationConfig& config,
                                                     std::span<const double> parameters);
};

/// All of them, in the order in which help texts and error messages name them.
std::span<const SynchronizationInfo> SynchronizationSchemes();

/// The fix policy of a pool with frames 1..`frames`, all free: `replacement` such as `2q:kin=0.25`
/// under `synchronization` such as `regions:64`. InvalidArgument for unknown names, parameters or
/// values, and for what does not fit together (more regions than frames, frames above max_frames).
absl::StatusOr<std::unique_ptr<FixPolicy>> MakeFixPolicy(Runtime& runtime,
                                                         std::string_view replacement,
                                                         std::string_view synchronization,
                                                         size_t frames, size_t max_frames,
                                                         uint64_t seed);

/// The item with every parameter spelled out: what results echo. InvalidArgument as above.
absl::StatusOr<std::string> CanonicalSynchronization(std::string_view item);

}  // namespace latchkey
