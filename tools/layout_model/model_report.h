// A prediction as a result of the document "latchkey.model/1", and the table's columns.
#pragma once

#include <span>
#include <string_view>

#include "tools/layout_model/layout_model.h"
#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

inline constexpr std::string_view kModelSchema = "latchkey.model/1";

/// Adds what the model predicts to `row`. `in_ns`: the costs are nanoseconds, not ratios.
void AddPrediction(const LayoutModel& model, bool in_ns, Json& row);
std::span<const Column> ModelColumns();

}  // namespace latchkey
