// Canaries: seeded bugs. A test build switches one of them on at run time, to prove that the
// campaigns find it (RELIABILITY.md 3.1).
//
//   if (!LATCHKEY_CANARY("ack-before-flush")) LATCHKEY_RETURN_IF_ERROR(log.Flush(lsn));
//
// Only the program latchkey_campaign_canaries (cmake --build --preset canaries) contains the bugs;
// elsewhere the condition is the constant false. Only .cc files include this header. That program
// compiles only these files anew, and takes all other objects from the libraries of its build.
// tools/campaign/canary/canary_list.cc describes each canary.
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

/// Selects the one bug of this process; empty: none. Initially it is the one that the environment
/// variable LATCHKEY_CANARY names. REQUIRES: no other thread runs.
void SelectCanary(const std::string& name);
/// Whether `name` is selected; counts the calls for the selected one. Thread-safe.
bool CanaryIsSelected(std::string_view name);
/// Number of times the selected bug was reached since it was selected. 0: the run never reached it.
uint64_t CanaryHits();

}  // namespace latchkey
