// TPC-C-lite over every backend of the build: the consistency conditions test its isolation.
#include "tpcc-lite/kv/testing/every_backend.h"

#include <catch2/catch.hpp>

#include "tpcc-lite/workload/consistency.h"
#include "tpcc-lite/workload/testing/test_database.h"

namespace latchkey::every_backend_test {
namespace {

void RequireNoViolation(KvBackend& backend, const TpccConfig& config, bool after_load) {
  const auto report = CheckConsistency(backend, config, after_load);
  INFO(report.status().ToString());
  REQUIRE(report.ok());
  for (const ConsistencyViolation& violation : report->violations) FAIL_CHECK(violation.message);
  REQUIRE(report->ok());
}

TEST_CASE("every backend stays consistent, and one user leaves the same rows in each") {
  TpccConfig config = TinyConfig(2, .004);
  config.transactions = 300;
  const auto oracle = OpenLoaded(config);
  REQUIRE(RunTpcc(*oracle, config).ok());

  const auto which = GENERATE(from_range(EveryBackend()));
  const TempDir directory;
  const auto backend = OpenIn(which, directory, TpccTableNames());
  const absl::Status loaded = LoadTpcc(*backend, config);
  INFO(which.name << ": " << loaded.ToString());
  REQUIRE(loaded.ok());
  RequireNoViolation(*backend, config, /*after_load=*/true);
  REQUIRE(RunTpcc(*backend, config).ok());
  CHECK(Fingerprint(*backend) == Fingerprint(*oracle));

  config.users = 4;  // two per warehouse: conflicts happen
  config.transactions = 800;
  const auto result = RunTpcc(*backend, config);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->Completed() == 800);
  RequireNoViolation(*backend, config, /*after_load=*/false);
  CHECK(backend->Close().ok());
}

}  // namespace
}  // namespace latchkey::every_backend_test
