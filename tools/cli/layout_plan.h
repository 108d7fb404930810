// From the flags of `layout` to the configurations of its runs. Everything that can be refused is
// refused here.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "tools/cli/flags.h"
#include "tools/cli/sweep.h"
#include "tools/layout_lab/lab_run.h"
#include "tools/trace/page_trace.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {

/// One combination of `layout`.
struct LayoutPlan {
  LabConfig config;
  Json row;           ///< what is run
  std::string label;  ///< in progress messages
  /// Everything that is run except layout and cleaning: equal for rows that are compared.
  std::string compared_by;
};

/// The combinations of the flags. Overwrite has no --segment-cleaning; only arrays have --disks and
/// --raid; only workloads that need one have --trace. InvalidArgument, with the remedy: a flag that
/// was given and that no combination has.
absl::StatusOr<std::vector<Combination>> ExpandLayout(const FlagTexts& texts);

/// InvalidArgument names the flag, the value and the allowed values. The plan refers to `traces`.
absl::StatusOr<LayoutPlan> PlanLayout(const Combination& from, PageTraces& traces,
                                      const std::string& file);

}  // namespace latchkey
