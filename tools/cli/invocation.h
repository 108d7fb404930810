// What the program was asked for: a part of each result file, from which `rerun` repeats the run.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "tpcc-lite/report/json.h"

namespace CLI {
class App;
}

namespace latchkey {

/// The blocks of a result file that tell how to repeat it.
struct Invocation {
  /// The words behind the program's name: the verb, then what was given, a flag as "--name=value". Without the flags
  /// that say where results go and what is shown (IsAboutOutput), so that a repetition has the same words.
  std::vector<std::string> argv;
  Json flags = Json::object();  ///< every flag of the verb by its name: the text given, else the default; null: neither
  std::string started_at;       ///< UTC, "2026-01-31T12:00:00Z"
};

/// Of the verb that `program` has parsed, started now.
Invocation InvocationOf(const CLI::App& program);

/// --json, --csv, --report, --quiet and --help, by their names without dashes.
bool IsAboutOutput(const std::string& flag);

/// Kept for the result files that are written later. Call once, before the verb runs.
void SetInvocation(Invocation invocation);
/// nullopt: none was set, as in tests.
const std::optional<Invocation>& CurrentInvocation();

/// `words` as a shell reads them: quoted where one has other letters than a flag or a path has.
std::string ShellWords(const std::vector<std::string>& words);

/// The words that repeat the run of `document`, a result file named `file`: its argv and, for each flag that was not
/// given, the value of that time if the default of `program` is another one today. InvalidArgument: not such a file,
/// or of a verb that writes no results.
absl::StatusOr<std::vector<std::string>> WordsOfRerun(const CLI::App& program, const std::string& file,
                                                      const Json& document);

}  // namespace latchkey
