// The campaign `crash` of the command line: the crash campaign over combinations of layouts, fix
// policies and durabilities.
#pragma once

#include <string>
#include <vector>

namespace latchkey {

/// Prints counts and rates on stdout. 0: nothing was wrong; 1: something was, with the flags that
/// repeat it; 2: usage.
int RunCrashCommand(const std::vector<std::string>& arguments);

}  // namespace latchkey
