// `latchkey tpcc-lite prepare | run | check`.
#pragma once

#include "tools/cli/experiment.h"
#include "tools/cli/flags.h"

namespace latchkey {

/// Makes the loads for the flags if they are missing.
int PrepareTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags);
/// Runs the sweep, after making missing loads, and writes its results.
int RunTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags);
/// Checks the consistency conditions of the databases for the flags: of a run's copy if there is
/// one, otherwise of the load.
int CheckTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags);

}  // namespace latchkey
