// What the lives of the fault campaign do: names, keys, values and transactions by chance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/rng.h"
#include "tools/campaign/fault_records.h"

namespace latchkey {

/// The trees of every life: one that stays, and one that is dropped now and then.
inline constexpr const char* kFaultKept = "kept";
inline constexpr const char* kFaultDropped = "dropped";

/// Of `least` to `most` bytes and a mark.
std::string SomeFaultValue(Rng& rng, size_t least, size_t most);
/// A put of one of 160 keys; every 20th value lies in a chain of its own.
FaultStep SomeFaultPut(Rng& rng, const std::string& tree = kFaultKept);
/// One to four puts and deletes.
std::vector<FaultStep> SomeFaultSteps(Rng& rng);

}  // namespace latchkey
