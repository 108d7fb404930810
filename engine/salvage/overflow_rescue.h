// Values of overflow chains (engine/overflow.h) out of surveyed pages.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "engine/salvage/page_survey.h"

namespace latchkey {

/// The value that `reference` refers to. DataLoss: a page of the chain is lost or is no page of a
/// chain. Pages of a chain do not name their owner, so a page that was freed and reused by another
/// chain of the same shape is not noticed.
absl::StatusOr<std::string> RescueOverflowValue(const PageSurvey& survey,
                                                std::string_view reference);

}  // namespace latchkey
