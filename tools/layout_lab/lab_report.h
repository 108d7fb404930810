// A run of the layout laboratory as a result of the document "latchkey.layout/1", and the table's
// columns.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/layout_lab/lab_run.h"
#include "tools/layout_lab/loaded_costs.h"
#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

inline constexpr std::string_view kLayoutSchema = "latchkey.layout/1";

/// The fields that say what was run: of every flag its resolved value.
Json DescribeLab(const LabConfig& config);
/// Adds every figure to `row`; null: not measured. `truth`: of the simulated device under this load.
void AddLabFigures(const LabConfig& config, const LabResult* result,
                   const std::optional<LoadedCosts>& truth, Json& row);

/// Sets relative_to_overwrite of all `rows`: its throughput over that of the row with the layout
/// "overwrite" and the same `keys`; null if there is none. One key per row.
void AddRelativeToOverwrite(std::span<const std::string> keys, std::vector<Json>& rows);

/// Figures whose medians and spreads are reported; the first determines the median repetition.
std::span<const std::string> LabFigures();
std::span<const Column> LabColumns();

}  // namespace latchkey
