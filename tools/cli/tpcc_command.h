// `latchkey tpcc-lite prepare | run | check`.
#pragma once

#include "tools/cli/experiment.h"
#include "tools/cli/flags.h"

namespace latchkey {

/// Makes the loads that the flags name, where they are missing.
int PrepareTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags);
/// Runs the sweep, preparing what is missing, and writes its results.
int RunTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags);
/// Checks the consistency conditions of the databases that the flags name: of a run where there is
/// one, otherwise of the load.
int CheckTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags);

}  // namespace latchkey
