#include <atomic>
#include <catch2/catch.hpp>

#include "tpcc-lite/workload/consistency.h"
#include "tpcc-lite/workload/testing/test_database.h"

namespace latchkey::run_test {
namespace {

void RequireConsistent(KvBackend& backend, const TpccConfig& config) {
  const auto report = CheckConsistency(backend, config, /*after_load=*/false);
  REQUIRE(report.ok());
  CHECK(report->checked.size() == 11);
  for (const auto& violation : report->violations) FAIL_CHECK(violation.message);
  REQUIRE(report->ok());
}

TEST_CASE("the conditions hold after a run of the whole mix") {
  TpccConfig config = TinyConfig(3, .02);
  config.transactions = 2'000;
  for (const uint32_t users : {1u, 2u, 5u}) {
    config.users = users;
    const auto backend = OpenLoaded(config);
    const auto result = RunTpcc(*backend, config);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    CHECK(result->Completed() == 2'000);
    CHECK_FALSE(result->interrupted);
    RequireConsistent(*backend, config);
  }
}

TEST_CASE("a run's counts follow the mix exactly, and its rollbacks are New-Orders") {
  TpccConfig config = TinyConfig(2, .01);
  config.transactions = 1'000;
  const auto backend = OpenLoaded(config);
  const auto result = RunTpcc(*backend, config);
  REQUIRE(result.ok());
  const std::array<uint64_t, kTpccTransactions> expected = {450, 430, 40, 40, 40};
  for (size_t t = 0; t < kTpccTransactions; ++t) {
    CHECK(result->types[t].commits + result->types[t].rollbacks == expected[t]);
    if (t > 0) CHECK(result->types[t].rollbacks == 0);
    CHECK(result->types[t].latency_us.has_value());
  }
  CHECK(result->Of(TpccTransaction::kNewOrder).rollbacks > 0);
  CHECK(result->Aborts() == 0);
  CHECK(result->TransactionsPerSecond() > 0);
  CHECK(result->NewOrdersPerMinute() > 0);
}

TEST_CASE("the same seed repeats a single user's run bit for bit") {
  TpccConfig config = TinyConfig(2, .01);
  config.transactions = 500;
  const auto run = [](const TpccConfig& c) {
    const auto backend = OpenLoaded(c);
    REQUIRE(RunTpcc(*backend, c).ok());
    return Fingerprint(*backend);
  };
  const uint64_t first = run(config);
  CHECK(run(config) == first);
  config.prefetch = false;
  CHECK(run(config) == first);
  config.seed += 1;
  CHECK(run(config) != first);
}

TEST_CASE("runs over one database follow one another") {
  TpccConfig config = TinyConfig(1, .01);
  config.users = 2;
  const auto backend = OpenLoaded(config);
  for (uint32_t run = 1; run <= 3; ++run) {
    REQUIRE(RunTpcc(*backend, config).ok());
    CHECK((*ReadTpccDescription(*backend))->runs == run);
  }
  RequireConsistent(*backend, config);
}

TEST_CASE("fewer transactions than users end all the same") {
  TpccConfig config = TinyConfig(1, .003);
  config.users = 5;
  config.transactions = 3;
  const auto backend = OpenLoaded(config);
  const auto result = RunTpcc(*backend, config);
  REQUIRE(result.ok());
  CHECK(result->Completed() == 3);
}

TEST_CASE("an empty database is not run over") {
  const auto backend = OpenEmpty();
  CHECK(absl::IsFailedPrecondition(RunTpcc(*backend, TinyConfig()).status()));
}

TEST_CASE("a stop request ends a run with what was measured so far") {
  TpccConfig config = TinyConfig(1, .003);
  config.transactions = 0;
  config.duration = 3600 * kNanosPerSecond;
  std::atomic<bool> stop{false};
  config.stop = &stop;
  const auto backend = OpenLoaded(config);
  TpccRunHooks hooks;
  hooks.on_measure_begin = [&stop] { stop.store(true); };
  const auto result = RunTpcc(*backend, config, hooks);
  REQUIRE(result.ok());
  CHECK(result->interrupted);
  CHECK(result->duration_s < 3600);
  RequireConsistent(*backend, config);
}

TEST_CASE("the end of the measured part is told before its last sample") {
  TpccConfig config = TinyConfig(1, .003);
  config.transactions = 0;
  config.duration = 20 * kNanosPerMilli;
  const auto backend = OpenLoaded(config);
  std::vector<std::string> told;
  TpccRunHooks hooks;
  hooks.on_measure_begin = [&] { told.push_back("begin"); };
  hooks.on_measure_end = [&] { told.push_back("end"); };
  hooks.on_sample = [&](const TpccSample&) { told.push_back("sample"); };
  REQUIRE(RunTpcc(*backend, config, hooks).ok());
  REQUIRE(told.size() >= 3);
  CHECK(told.front() == "begin");
  CHECK(told[told.size() - 2] == "end");
  CHECK(told.back() == "sample");
}

TEST_CASE("the samples of a run add up to its counts") {
  TpccConfig config = TinyConfig(1, .003);
  config.users = 2;
  config.transactions = 300;
  config.warmup = 10 * kNanosPerMilli;
  const auto backend = OpenLoaded(config);
  uint64_t transactions = 0, new_orders = 0;
  TpccRunHooks hooks;
  hooks.on_sample = [&](const TpccSample& sample) {
    transactions += sample.transactions;
    new_orders += sample.new_orders;
  };
  const auto result = RunTpcc(*backend, config, hooks);
  REQUIRE(result.ok());
  CHECK(result->samples.size() >= 1);
  CHECK(transactions == result->Completed());
  CHECK(new_orders == result->Of(TpccTransaction::kNewOrder).commits);
}

TEST_CASE("a client is told of every New-Order that committed, and of no other") {
  TpccConfig config = TinyConfig(1, .003);
  config.users = 3;
  config.transactions = 300;
  const auto backend = OpenLoaded(config);
  const uint64_t orders = CountRows(*backend, kOrderTable);
  std::atomic<uint64_t> told{0};
  TpccRunHooks hooks;
  hooks.on_new_order = [&](uint16_t warehouse, uint8_t district, uint32_t order) {
    told += warehouse == 1 && district >= 1 && district <= 10 && order > 0 ? 1 : 1'000'000;
  };
  const auto result = RunTpcc(*backend, config, hooks);
  REQUIRE(result.ok());
  CHECK(told == result->Of(TpccTransaction::kNewOrder).commits);
  CHECK(CountRows(*backend, kOrderTable) == orders + told);
}

}  // namespace
}  // namespace latchkey::run_test
