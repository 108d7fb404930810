// The whole command line: verbs, flags, help.
#pragma once

#include <string>
#include <vector>

namespace latchkey {

/// Runs the command in `arguments` (without the program's name). Returns the exit code.
int RunCli(std::vector<std::string> arguments);

}  // namespace latchkey
