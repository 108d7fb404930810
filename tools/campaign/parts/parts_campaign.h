// Tests rules of single parts of the engine. In a whole database another part hides a broken rule
// of this kind. Each rule is one fixed scenario.
#pragma once

#include <absl/status/status.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey {

struct PartScenario {
  std::string_view rule;    ///< a sentence
  absl::Status (*check)();  ///< Internal: the behaviour seen instead
};

std::span<const PartScenario> PartScenarios();

/// The campaign `parts`.
int RunPartsCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
