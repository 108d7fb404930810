// The verbs that look at traces, results and devices.
#pragma once

#include "tools/cli/verb_runs.h"

namespace latchkey {

/// Adds cachesim, trace, report, compare, doctor, advise and experiment to `app`, which outlives `runs`.
void AddAnalysisVerbs(CLI::App& app, VerbRuns& runs);

}  // namespace latchkey
