// The campaign `crash`: the crash campaign over combinations of layouts, fix policies and
// durabilities.
#pragma once

#include <string>
#include <vector>

namespace latchkey {

/// Prints counts and rates on stdout. Returns 0: no mistake; 1: a mistake, printed with the flags
/// that repeat it; 2: usage.
int RunCrashCommand(const std::vector<std::string>& arguments);

}  // namespace latchkey
