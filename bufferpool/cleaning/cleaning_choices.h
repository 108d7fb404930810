// Choices beside the cleaning controller: which dirty pages the cleaners write, and which pages an
// eviction prefers.
#pragma once

#include "storage/base/registry.h"

namespace latchkey {

/// The dirty pages that the cleaners write.
enum class CleaningScope : uint8_t {
  kColdest,  ///< those among the frames that are next in line for eviction, at most 1,024
  kAll,      ///< all of them, in the order of the frames (thesis 4.1)
};

struct CleaningScopeInfo {
  ChoiceDescription description;
  CleaningScope scope;
};
/// The list of scopes: `coldest`, `all`.
const Registry<CleaningScopeInfo>& CleaningScopes();
using CleaningScopeChoice = Choice<CleaningScopeInfo>;

struct VictimPreferenceInfo {
  ChoiceDescription description;
  bool clean_first;  ///< see EvictionOptions::clean_first
};
/// The list of preferences: `coldest`, `clean-first`.
const Registry<VictimPreferenceInfo>& VictimPreferences();
using VictimPreferenceChoice = Choice<VictimPreferenceInfo>;

}  // namespace latchkey
