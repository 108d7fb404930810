// Values of overflow chains (engine/overflow.h) out of surveyed pages.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "engine/salvage/page_survey.h"

namespace latchkey {

/// The value that `reference` stands for. DataLoss when a page of the chain is lost or is none of
/// a chain. The pages of a chain do not name their owner: one that was freed and used again by
/// another chain of the same shape is not noticed.
absl::StatusOr<std::string> RescueOverflowValue(const PageSurvey& survey,
                                                std::string_view reference);

}  // namespace latchkey
