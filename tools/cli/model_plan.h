// From the flags of `model` to the predictions. Everything that can be refused is refused here.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "tools/cli/flags.h"
#include "tools/cli/sweep.h"
#include "tools/layout_model/layout_model.h"
#include "tools/layout_model/model_disk.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {

/// One combination of `model`.
struct ModelPlan {
  LayoutModel model;         ///< without costs while they are to be measured
  std::string measure;       ///< folder in which to measure; empty: `model` has its costs
  SegmentQuestion question;  ///< of the measurement
  bool in_ns = true;         ///< the costs are nanoseconds, not ratios
  Json row;                  ///< what is predicted for
};

/// The flags of `model`, with defaults and help.
std::vector<FlagSpec> ModelFlags();
/// The combinations of the flags. Only arrays have --disks and --raid, only computed disks have
/// --megabyte. InvalidArgument, with the remedy: a flag that was given and that no combination has.
absl::StatusOr<std::vector<Combination>> ExpandModel(const FlagTexts& texts);
/// InvalidArgument names the flag, the value and the allowed values.
absl::StatusOr<ModelPlan> PlanModel(const Combination& from);

}  // namespace latchkey
