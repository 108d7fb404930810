#include "bufferpool/policy_presets.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "bufferpool/synchronization/synchronization_list.h"

namespace latchkey::policy_presets_test {
namespace {

TEST_CASE("Every preset names a policy that a pool can run, and no two the same") {
  std::set<std::string_view> names;
  std::set<std::string> policies;
  for (const PolicyPreset& preset : PolicyPresets()) {
    CAPTURE(std::string(preset.name));
    CHECK(names.insert(preset.name).second);
    const auto items = ParsePolicy(preset.name);
    REQUIRE(items.ok());
    CHECK(policies.insert(items->replacement + " " + items->synchronization).second);
    const auto replacement = ReplacementAlgorithms().Parse(items->replacement);
    REQUIRE(replacement.ok());
    const auto synchronization = SynchronizationSchemes().Parse(items->synchronization);
    REQUIRE(synchronization.ok());
    constexpr size_t kFrames = 8192;
    CHECK(MakeFixPolicy(ThreadRuntime(), *replacement, *synchronization, kFrames, kFrames, 1).ok());
  }
}

TEST_CASE("mr-ALG:N is the multi-region cache of an algorithm") {
  const auto items = ParsePolicy("mr-2q:kin=0.3:16");
  REQUIRE(items.ok());
  CHECK(items->replacement == "2q:kin=0.3");
  CHECK(items->synchronization == "regions:16");
}

TEST_CASE("Unknown policies are refused with the known ones") {
  const auto error = [](std::string_view policy) {
    const auto items = ParsePolicy(policy);
    REQUIRE(absl::IsInvalidArgument(items.status()));
    return std::string(items.status().message());
  };
  CHECK_THAT(error("pg3q"), Catch::Contains("pg3q") && Catch::Contains("pgbat-pre") &&
                                Catch::Contains("mr-ALG:N"));
  CHECK_THAT(error("mr-lru"), Catch::Contains("mr-lru:64"));
  CHECK_THAT(error("mr-mru:4"), Catch::Contains("mru"));
  CHECK_THAT(error("mr-lru:0"), Catch::Contains("from 1 to"));
}

}  // namespace
}  // namespace latchkey::policy_presets_test
