// `latchkey model`: what the write cost model of the thesis predicts for each layout.
#pragma once

#include "tools/cli/experiment.h"
#include "tools/cli/flags.h"

namespace latchkey {

/// One row per combination (tools/layout_model). Costs are measured where --measure says so; the
/// rest is arithmetic.
int ModelCommand(const FlagTexts& texts, const ExperimentFlags& flags);

}  // namespace latchkey
