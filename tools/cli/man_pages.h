// Manual pages of the command line, made from the same definitions as the parser and --help.
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/verb_runs.h"

namespace latchkey {

/// One page of section 1, in the macros of man(7).
struct ManPage {
  std::string name;  ///< "latchkey", "latchkey-tpcc-lite-run"
  std::string text;
};

/// A page for the program, the first, and one for each verb, those below a verb included. `version`
/// is that of the program, and `runs` has the examples.
std::vector<ManPage> ManPages(const CLI::App& app, const VerbRuns& runs, std::string_view version);

/// Writes each page as NAME.1 into `directory`, which it creates. Errors: the file system's.
absl::Status WriteManPages(const CLI::App& app, const VerbRuns& runs, std::string_view version,
                           const std::string& directory);

/// `text` as it is, wherever it stands in a page: no letter begins a request or an escape.
std::string RoffText(std::string_view text);

}  // namespace latchkey
