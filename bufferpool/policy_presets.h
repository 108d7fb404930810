// The buffer-pool systems that the papers compare, each under the paper's name: a replacement
// algorithm and a synchronisation scheme. The values of `--policy=`.
#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string>
#include <string_view>

namespace latchkey {

struct PolicyPreset {
  std::string_view name;
  std::string_view replacement;      ///< item of ReplacementAlgorithms()
  std::string_view synchronization;  ///< item of SynchronizationSchemes()
  std::string_view source;           ///< the paper, and its section or figure
};

/// The presets with names of their own, in the order of the papers.
std::span<const PolicyPreset> PolicyPresets();
/// What ParsePolicy knows, for help texts: "pgclock, pg2q, ..., mr-ALG:N".
std::string KnownPolicies();

/// The two items of a policy.
struct PolicyItems {
  std::string replacement;
  std::string synchronization;
};
/// The items of a preset, or of `mr-ALG:N`: the multi-region cache of thesis 5.5 with N regions of
/// ALG. InvalidArgument, with the known names, for everything else.
absl::StatusOr<PolicyItems> ParsePolicy(std::string_view policy);

}  // namespace latchkey
