// Completion of the command line in a shell, made from the same definitions as the parser.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace latchkey {

/// What may follow a verb.
struct CompletedVerb {
  std::string path;  ///< "", "help", "tpcc-lite run"
  std::string help;
  std::vector<std::string> verbs;  ///< below it
  std::vector<std::string> flags;  ///< "--json"
};
/// Every verb with its flags, the program itself first.
std::vector<CompletedVerb> CompletedVerbs(const CLI::App& app);

/// The script that defines the completion of `program` in bash, zsh or fish. InvalidArgument: another shell.
absl::StatusOr<std::string> CompletionScript(const CLI::App& app, std::string_view shell);

}  // namespace latchkey
