// Canaries: seeded bugs, one of which a test build switches on at run time, so that the campaigns
// can prove that they find what they are for (RELIABILITY.md 3.1).
//
//   if (!LATCHKEY_CANARY("ack-before-flush")) LATCHKEY_RETURN_IF_ERROR(log.Flush(lsn));
//
// In every build but one configured with -DLATCHKEY_CANARIES=ON (the preset canaries) the condition
// is the constant false, and nothing of the bug is compiled. Only .cc files include this header:
// those that do are compiled for the canaries, all other objects are the ones of a release build.
// tools/campaign/canary_list.cc tells what each of them is.
#pragma once

#ifdef LATCHKEY_CANARIES
#define LATCHKEY_CANARY(name) (::latchkey::CanaryIsSelected(name))
#else
#define LATCHKEY_CANARY(name) false
#endif

#include <cstdint>
#include <string>
#include <string_view>

namespace latchkey {

/// Whether this build has canaries.
#ifdef LATCHKEY_CANARIES
inline constexpr bool kHasCanaries = true;
#else
inline constexpr bool kHasCanaries = false;
#endif

/// Selects the one bug of this process; empty: none. At first it is what the environment variable
/// LATCHKEY_CANARY names. REQUIRES: nothing else runs.
void SelectCanary(const std::string& name);
/// Whether `name` is selected; counts how often the selected one was asked for. Thread-safe.
bool CanaryIsSelected(std::string_view name);
/// How often the selected bug was met since it was selected: 0 means that the run never got there.
uint64_t CanaryHits();

}  // namespace latchkey
