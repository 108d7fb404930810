// `latchkey layout`: the layouts without the tree, on simulated devices or a real one.
#pragma once

#include <vector>

#include "tools/cli/experiment.h"
#include "tools/cli/flags.h"

namespace latchkey {

/// The flags of `layout`, with defaults and help.
std::vector<FlagSpec> LayoutFlags();

/// One row per combination (tools/layout_lab). A file lies in the folder flags.database_path, and is
/// removed after its run unless flags.keep.
int LayoutCommand(const FlagTexts& texts, const ExperimentFlags& flags);

}  // namespace latchkey
