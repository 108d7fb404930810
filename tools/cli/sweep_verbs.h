// The verbs that measure or compute one row for each combination of their flags' values.
#pragma once

#include "tools/cli/verb_runs.h"

namespace latchkey {

/// Adds tpcc-lite, bench, layout, model and contention to `app`, which outlives `runs`.
void AddSweepVerbs(CLI::App& app, VerbRuns& runs);

}  // namespace latchkey
