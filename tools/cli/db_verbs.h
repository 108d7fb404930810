// The verbs of db_commands.h on the command line.
#pragma once

#include <memory>

#include "tools/cli/verb_runs.h"

namespace latchkey {

class DbVerbs {
 public:
  /// Adds the verbs to `app`. It and this outlive the use of `runs`.
  DbVerbs(CLI::App& app, VerbRuns& runs);
  ~DbVerbs();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace latchkey
