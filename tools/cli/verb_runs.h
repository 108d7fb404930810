// The verbs of the command line. Each has a parser, an example, and the function that runs it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace latchkey {

struct VerbTexts {
  const char* name;
  const char* help;     ///< one line
  const char* example;  ///< the words behind "latchkey"
};

/// Not thread-safe.
class VerbRuns {
 public:
  /// Adds a verb below `parent`, which outlives this, with --quiet. `run` returns the exit code. Its
  /// help ends with the example and the exit codes.
  CLI::App* Add(CLI::App& parent, const VerbTexts& texts, std::function<int()> run);

  /// Runs the verb that was parsed. Returns its exit code; nullopt: none of these was parsed.
  std::optional<int> Run() const;

  /// The command that the example of `verb` is. If verbs are below `verb`, theirs, in order.
  std::vector<std::string> ExamplesOf(const CLI::App& verb) const;

 private:
  std::vector<std::pair<CLI::App*, std::function<int()>>> runs_;
  std::map<const CLI::App*, std::string> examples_;
  bool quiet_ = false;  ///< --quiet of the verb that was parsed
};

}  // namespace latchkey
