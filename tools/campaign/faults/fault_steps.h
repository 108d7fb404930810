// The changes in the lives of the fault campaign: random names, keys, values and transactions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/rng.h"
#include "tools/campaign/faults/fault_records.h"

namespace latchkey {

/// The trees of every life: one that stays, and one that is sometimes dropped.
inline constexpr const char* kFaultKept = "kept";
inline constexpr const char* kFaultDropped = "dropped";

/// A random value of `least` to `most` bytes.
std::string SomeFaultValue(Rng& rng, size_t least, size_t most);
/// A put of one of 160 keys. Every 20th value goes into an overflow chain.
FaultStep SomeFaultPut(Rng& rng, const std::string& tree = kFaultKept);
/// One to four puts and deletes.
std::vector<FaultStep> SomeFaultSteps(Rng& rng);

}  // namespace latchkey
