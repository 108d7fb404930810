// What the program was asked for: a part of each result file, from which `rerun` repeats the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tpcc-lite/report/json.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace latchkey {

/// The blocks of a result file that tell how to repeat it.
struct Invocation {
  /// The words behind the program's name: the verb, then what was given, a flag as "--name=value". Without the flags
  /// that say where results go and what is shown (IsAboutOutput), so that a repetition has the same words.
  std::vector<std::string> argv;
  Json flags = Json::
      object();  ///< every flag of the verb by its name: the text given, else the default; null: neither
  std::string started_at;  ///< UTC, "2026-01-31T12:00:00Z"
};

/// Of the verb that `program` has parsed, started now.
Invocation InvocationOf(const CLI::App& program);

/// --json, --csv, --report, --quiet and --help, by their names without dashes.
bool IsAboutOutput(const std::string& flag);

/// Whether a value belongs to `option`: a positional, or a flag as --name=value.
bool HasValue(const CLI::Option& option);

/// Kept for the result files that are written later. Call before the verb runs; the last call counts.
void SetInvocation(Invocation invocation);
/// nullopt: none was set, as in tests.
const std::optional<Invocation>& CurrentInvocation();

}  // namespace latchkey
