#include "bufferpool/cleaning/cleaning_choices.h"

namespace latchkey {
namespace {

constexpr CleaningScopeInfo kScopes[] = {
    {{"coldest", "dirty pages that are next in line for eviction", {}}, CleaningScope::kColdest},
    {{"all", "all dirty pages", {}}, CleaningScope::kAll},
};

constexpr VictimPreferenceInfo kPreferences[] = {
    {{"coldest", "as the replacement algorithm says", {}}, false},
    {{"clean-first", "passes over dirty pages in search of a clean one", {}}, true},
};

}  // namespace

const Registry<CleaningScopeInfo>& CleaningScopes() {
  static constexpr Registry<CleaningScopeInfo> registry("cleaning scope", kScopes);
  return registry;
}

const Registry<VictimPreferenceInfo>& VictimPreferences() {
  static constexpr Registry<VictimPreferenceInfo> registry("victim preference", kPreferences);
  return registry;
}

}  // namespace latchkey
