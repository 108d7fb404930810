#include "tools/cli/sweep.h"

#include <algorithm>

#include "storage/base/check.h"

namespace latchkey {

const std::string& Combination::Get(std::string_view flag) const {
  for (const auto& [name, value] : values_) {
    if (name != flag) continue;
    LATCHKEY_CHECK(value.has_value());
    return *value;
  }
  LATCHKEY_CHECK(!"a flag of the sweep");
  std::abort();
}

bool Combination::Has(std::string_view flag) const {
  for (const auto& [name, value] : values_) {
    if (name == flag) return value.has_value();
  }
  return false;
}

std::vector<Combination> ExpandSweep(const std::vector<Dimension>& dimensions,
                                     ResolveValue resolve) {
  std::vector<Combination> all(1);
  for (const Dimension& dimension : dimensions) {
    std::vector<Combination> longer;
    for (const Combination& prefix : all) {
      for (const std::string& value : dimension.values) {
        Combination next = prefix;
        next.Set(dimension.flag, resolve(prefix, dimension.flag, value));
        // Equal prefixes stay equal, so removing them here gives the same result as at the end.
        if (std::find(longer.begin(), longer.end(), next) == longer.end()) longer.push_back(next);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<ScheduledRun> ScheduleInterleaved(size_t combinations, uint32_t repetitions) {
  std::vector<ScheduledRun> runs;
  for (uint32_t repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t combination = 0; combination < combinations; ++combination) {
      runs.push_back({combination, repetition});
    }
  }
  return runs;
}

}  // namespace latchkey
