#include "tools/campaign/store/bare_store.h"

#include <catch2/catch.hpp>
#include <string>

#include "tools/campaign/crash/crash_campaign.h"

namespace latchkey::bare_store_test {
namespace {

TEST_CASE("a store without a log keeps what it has flushed, also from a process that was killed") {
  const std::string layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  BareStore store(layout, 40);
  const CrashReport report =
      RunCrashCampaign(store, {.first_seed = 1, .seeds = 1, .max_states = 60, .recovery_every = 1});
  INFO((report.failures.empty() ? "" : report.failures.front().Describe()));
  CHECK(report.failures.empty());
  CHECK(report.recovery_states > 0);
}

}  // namespace
}  // namespace latchkey::bare_store_test
