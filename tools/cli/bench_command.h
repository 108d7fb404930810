// `latchkey bench`: the KV benchmark.
#pragma once

#include "tools/cli/experiment.h"
#include "tools/cli/flags.h"

namespace latchkey {

int BenchCommand(const FlagTexts& texts, const ExperimentFlags& flags);

}  // namespace latchkey
