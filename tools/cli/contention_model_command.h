// `latchkey contention model` and `latchkey contention calibrate`: the pool's policies on machines
// with more processors than this one has, and what things cost on this one.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/experiment.h"
#include "tools/cli/flags.h"

namespace latchkey {

inline constexpr const char* kContentionModelSchema = "latchkey.contention-model/1";
inline constexpr const char* kSensitivitySchema = "latchkey.contention-sensitivity/1";

/// The flags of `contention model`, with defaults and help.
std::vector<FlagSpec> ContentionModelFlags();

/// One row per combination (tools/contention/processor_model.h). With `sensitivity`, one row per
/// statement about two of the policies, and the costs that turn it.
int ContentionModelCommand(const FlagTexts& texts, const ExperimentFlags& flags, bool sensitivity);

/// The columns of the two kinds of rows.
std::vector<Column> ContentionModelColumns();
std::vector<Column> SensitivityColumns();

struct CalibrateFlags {
  std::string algorithms = "all";
  std::string accesses = "zipf";
  std::string pages = "20k";
  std::string repetitions = "50";
  std::string json;
};
/// Prints the costs. With --json also writes the document that --costs reads.
int ContentionCalibrateCommand(const CalibrateFlags& flags);

}  // namespace latchkey
