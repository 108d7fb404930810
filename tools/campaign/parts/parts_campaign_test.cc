#include "tools/campaign/parts/parts_campaign.h"

#include <catch2/catch.hpp>
#include <string>

namespace latchkey::parts_campaign_test {
namespace {

TEST_CASE("every rule of a part holds") {
  for (const PartScenario& scenario : PartScenarios()) {
    const absl::Status status = scenario.check();
    INFO(scenario.rule << ": " << status.message());
    CHECK(status.ok());
  }
}

}  // namespace
}  // namespace latchkey::parts_campaign_test
