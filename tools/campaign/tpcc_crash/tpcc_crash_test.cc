#include "tools/campaign/tpcc_crash/tpcc_crash.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "storage/base/testing/temp_dir.h"
#include "tpcc-lite/workload/keys.h"
#include "tpcc-lite/workload/rows.h"
#include "tpcc-lite/workload/testing/test_database.h"

namespace latchkey::tpcc_crash_test {
namespace {

TpccCrashOptions SmallCrashes() {
  TpccCrashOptions options;
  options.scale = 0.003;
  options.crashes_per_store = 2;
  options.max_run_ms = 60;
  options.max_transactions = 60;
  return options;
}

TEST_CASE("TPC-C's conditions and its clients' successes survive kills") {
  TempDir dir;
  TpccCrashOptions options = SmallCrashes();
  options.directory = dir.path().string();
  options.kills = 2;
  options.layouts = {"hylog"};
  TpccCrashReport report;
  KillTpcc(ThreadRuntime(), options, &report);
  INFO(report.wrong);
  CHECK(report.wrong.empty());
  CHECK(report.kills == 2);
  CHECK(report.checks == 4);
}

TEST_CASE("TPC-C's conditions and its clients' successes survive power losses, repeatably") {
  TpccCrashOptions options = SmallCrashes();
  options.power_losses = 4;
  options.layouts = {"overwrite", "lfs"};
  const auto run = [&options] {
    TpccCrashReport report;
    CutPowerUnderTpcc(options, &report);
    return report;
  };
  const TpccCrashReport report = run();
  INFO(report.wrong);
  CHECK(report.wrong.empty());
  CHECK(report.power_losses == 4);
  CHECK(report.checks == 8);
  CHECK(report.new_orders > 0);
  const TpccCrashReport again = run();
  CHECK(again.new_orders == report.new_orders);
  CHECK(again.present == report.present);
}

// The successes of a run without a crash.
struct QuietRun {
  QuietRun() : config(TinyConfig(1, .003)), backend(OpenLoaded(config)) {
    config.transactions = 100;
    TpccRunHooks hooks;
    hooks.on_new_order = [this](uint16_t, uint8_t district, uint32_t order) {
      told.push_back({district, order});
    };
    REQUIRE(RunTpcc(*backend, config, hooks).ok());
    REQUIRE_FALSE(told.empty());
  }
  absl::Status Check(uint64_t others) {
    return CheckTpccAfterCrash(*backend, config, {.successes = told, .others = others});
  }
  TpccConfig config;
  std::unique_ptr<KvBackend> backend;
  std::vector<TpccSuccess> told;
};

TEST_CASE("a list of successes that the database does not keep is found out") {
  QuietRun run;
  REQUIRE(run.Check(0).ok());
  SECTION("an order that nobody made") {
    run.told.push_back({3, 1'000'000});
    CHECK(absl::IsInternal(run.Check(0)));
  }
  SECTION("an order that nobody was told of, unless it was in flight") {
    run.told.pop_back();
    CHECK(absl::IsInternal(run.Check(0)));
    CHECK(run.Check(1).ok());
  }
  SECTION("a violated condition") {
    auto session = run.backend->NewSession();
    REQUIRE(session.ok());
    REQUIRE((*session)->PutAuto(kNewOrderTable, NewOrderKey(1, 1, 1'000'000), "").ok());
    CHECK(absl::IsInternal(run.Check(0)));
  }
}

}  // namespace
}  // namespace latchkey::tpcc_crash_test
