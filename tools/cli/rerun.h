// `latchkey rerun`: the run of a result file once more.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "tools/cli/output.h"

namespace CLI {
class App;
}

namespace latchkey {

struct RerunFlags {
  std::string file;      ///< the result file
  bool dry_run = false;  ///< print the command, and run nothing
  /// Where the repetition writes. A result file may be somebody else's, so none of this comes from it.
  std::string database_path, trace, measure;
  bool keep = false;
  OutputFlags output;
};

/// The flags of the verb `rerun`.
void AddRerunFlags(CLI::App& verb, RerunFlags& flags);

/// The words that repeat the run of the result file: its argv and, for each flag that was not given,
/// the value of that time if the default of `program` is another one today; then the flags of `rerun`
/// (the parsed verb) that say where the repetition writes. Errors: those of reading the file.
/// InvalidArgument: not a result file, or of a verb that writes no results; a flag that `program`
/// lacks; a flag that names a place to write to, which the user must name (not with --dry-run).
absl::StatusOr<std::vector<std::string>> WordsOfRerun(const CLI::App& program,
                                                      const RerunFlags& flags,
                                                      const CLI::App& rerun);

/// `words` as a shell reads them: quoted where one has other letters than a flag or a path has.
/// Control characters are written as escapes.
std::string ShellWords(const std::vector<std::string>& words);

}  // namespace latchkey
