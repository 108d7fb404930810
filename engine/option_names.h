// The values of Options by the names that command lines and reports use, and the bounds of its
// numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/latchkey.h"
#include "storage/base/registry.h"

namespace latchkey {

inline constexpr uint32_t kMostGroupCommitDelayMs = 10'000;
inline constexpr uint32_t kMostLockWaitMs = 3'600'000;
inline constexpr uint32_t kMostSlowCallMs = 3'600'000;
inline constexpr uint32_t kMostLatencySampling = 1'000'000;
inline constexpr uint64_t kMinCheckpointLogBytes = 64 << 10;

/// One value of an option, by its name. `entry().value` of a parsed choice is the value.
template <typename Value>
struct NamedValue {
  ChoiceDescription description;
  Value value;
};

/// none, group, commit: in the order of the values.
const Registry<NamedValue<Durability>>& Durabilities();
std::string_view NameOf(Durability durability);

/// doublewrite, images, none: in the order of the values.
const Registry<NamedValue<TornWriteProtection>>& TornWriteProtections();
std::string_view NameOf(TornWriteProtection protection);

/// snapshot, serializable: in the order of the values.
const Registry<NamedValue<Isolation>>& Isolations();
std::string_view NameOf(Isolation isolation);

}  // namespace latchkey
