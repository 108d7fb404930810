#include "tools/campaign/calls/calls_campaign.h"

#include <catch2/catch.hpp>
#include <string>

#include "tools/campaign/calls/call_oracle.h"

namespace latchkey::calls_campaign_test {
namespace {

TEST_CASE("Random public calls end in what the header says, whatever fails below") {
  const CallCounts counts = CheckCalls({.first_seed = 1, .seeds = 6, .calls = 25});
  for (const std::string& mistake : counts.mistakes) UNSCOPED_INFO(mistake);
  CHECK(counts.mistakes.empty());
  CHECK(counts.ok > 500);
  CHECK(counts.compared > 50);
}

TEST_CASE("The oracle of a caller allows what it has committed, and both after an unknown end") {
  CallOracle oracle;
  CHECK(oracle.Allows("a", std::nullopt));
  oracle.Commit({{"a", MarkOf("1")}});
  CHECK(oracle.Allows("a", MarkOf("1")));
  CHECK_FALSE(oracle.Allows("a", std::nullopt));
  CHECK_FALSE(oracle.Allows("a", MarkOf("2")));
  oracle.CommitPerhaps({{"a", MarkOf("2")}, {"b", MarkOf("3")}});
  CHECK(oracle.Allows("a", MarkOf("1")));
  CHECK(oracle.Allows("a", MarkOf("2")));
  CHECK(oracle.Allows("b", std::nullopt));
  oracle.Clear(/*perhaps=*/true);
  CHECK(oracle.Allows("a", std::nullopt));
  CHECK(oracle.Allows("a", MarkOf("1")));
  oracle.Clear(/*perhaps=*/false);
  CHECK_FALSE(oracle.Allows("a", MarkOf("1")));
}

}  // namespace
}  // namespace latchkey::calls_campaign_test
