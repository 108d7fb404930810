// TPC-C-lite on simulated disks measures the time of the disks, and every run gives the same
// figures.
#include "tpcc-lite/kv/virtual_time.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tpcc-lite/kv/latchkey_backend.h"
#include "tpcc-lite/workload/consistency.h"
#include "tpcc-lite/workload/testing/test_database.h"

namespace latchkey::virtual_time_test {
namespace {

struct Outcome {
  TpccResult result;
  Statistics statistics;  // of the measured part and what came before it
  uint64_t rows = 0;      // a hash of all of them
  uint64_t history = 0;   // a hash of every decision of the simulation
};

KvOptions OnElevenDisks(Durability durability) {
  KvOptions options;
  options.path = "simulated";
  options.tables = TpccTableNames();
  options.device = *ParseDeviceSpec("fixed:service_ms=9:disks=11");
  options.durability = durability;
  options.cache_bytes = 4 << 20;
  return options;
}

TpccConfig TwoSeconds(uint32_t users) {
  TpccConfig config = TinyConfig(4, .01);
  config.transactions = 0;
  config.users = users;
  config.warmup = kNanosPerSecond / 2;
  config.duration = 2 * kNanosPerSecond;
  return config;
}

Outcome Simulate(const TpccConfig& config, KvOptions options) {
  SimulatedRuntime runtime(VirtualTimeOptions(options.techniques.seed));
  options.runtime = &runtime;
  Outcome outcome;
  const absl::Status ran = runtime.Run([&] {
    const auto backend = OpenLatchkeyBackend(options);
    INFO(backend.status().ToString());
    REQUIRE(backend.ok());
    REQUIRE(LoadTpcc(**backend, config, {}, runtime).ok());
    auto result = RunTpcc(**backend, config, {}, runtime);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    outcome.result = *std::move(result);
    outcome.statistics = *(*backend)->GetStatistics().latchkey;
    outcome.rows = Fingerprint(**backend);
    const auto report = CheckConsistency(**backend, config, /*after_load=*/false);
    REQUIRE(report.ok());
    for (const ConsistencyViolation& violation : report->violations) FAIL_CHECK(violation.message);
    REQUIRE((*backend)->Close().ok());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  outcome.history = runtime.history_hash();
  return outcome;
}

std::vector<uint64_t> SampledTransactions(const Outcome& outcome) {
  std::vector<uint64_t> counts;
  for (const TpccSample& sample : outcome.result.samples) counts.push_back(sample.transactions);
  return counts;
}

TEST_CASE("In virtual time a seed decides everything, at every durability") {
  const Durability durability =
      GENERATE(Durability::kNone, Durability::kGroup, Durability::kCommit);
  CAPTURE(static_cast<int>(durability));
  KvOptions options = OnElevenDisks(durability);
  options.cpu_per_operation = 10 * kNanosPerMicro;
  const TpccConfig config = TwoSeconds(8);
  const Outcome first = Simulate(config, options);
  const Outcome second = Simulate(config, options);
  CHECK(first.history == second.history);
  CHECK(first.rows == second.rows);
  CHECK(first.result.Completed() == second.result.Completed());
  CHECK(SampledTransactions(first) == SampledTransactions(second));
  CHECK(first.result.Of(TpccTransaction::kPayment).latency_us->p99 ==
        second.result.Of(TpccTransaction::kPayment).latency_us->p99);
  CHECK(first.statistics.device_busy_s == second.statistics.device_busy_s);
  // The run is large enough to be meaningful.
  CHECK(first.result.Completed() > 50);
  CHECK(first.statistics.misses > 100);

  options.techniques.seed += 1;
  CHECK(Simulate(config, options).history != first.history);
}

TEST_CASE("A measured part of two seconds takes two virtual seconds, with a sample for each") {
  const Outcome outcome = Simulate(TwoSeconds(4), OnElevenDisks(Durability::kNone));
  CHECK(outcome.result.duration_s == Approx(2).epsilon(.01));
  CHECK(outcome.result.samples.size() >= 2);
}

TEST_CASE("Where work takes no time, one user's durable commits wait for the disk of the log") {
  KvOptions options = OnElevenDisks(Durability::kCommit);
  options.cache_bytes = 64 << 20;  // everything but the log is in memory
  const Outcome outcome = Simulate(TwoSeconds(1), options);
  const auto& payments = outcome.result.Of(TpccTransaction::kPayment);
  REQUIRE(payments.latency_us.has_value());
  CHECK(payments.latency_us->p50 >= 9'000 * .98);  // the histogram's buckets are 1.6 % wide
  CHECK(payments.latency_us->p50 < 2 * 9'000);
  const auto writers = outcome.result.Of(TpccTransaction::kNewOrder).commits + payments.commits;
  CHECK(writers <= 2 / .009 + 1);
}

TEST_CASE("Where everything is in memory, a transaction takes its operations' charges") {
  KvOptions options = OnElevenDisks(Durability::kNone);
  options.cache_bytes = 64 << 20;
  options.cpu_per_operation = kNanosPerMilli;
  const Outcome slow = Simulate(TwoSeconds(1), options);
  options.cpu_per_operation = kNanosPerMilli / 10;
  const Outcome fast = Simulate(TwoSeconds(1), options);
  // A Payment begins, reads and updates three rows, inserts one and commits.
  CHECK(slow.result.Of(TpccTransaction::kPayment).latency_us->p50 >= 9'000 * .98);
  const double ratio = fast.result.TransactionsPerSecond() / slow.result.TransactionsPerSecond();
  CHECK(ratio == Approx(10).epsilon(.25));
}

// A payment by last name used to read its customer's page under the lock of the warehouse's row.
TEST_CASE(
    "Ten pages of announced keys are read ahead for each page that a user has to wait for alone") {
  KvOptions options = OnElevenDisks(Durability::kNone);
  options.cache_bytes = 16 << 20;
  TpccConfig config = TinyConfig(4, .05);
  config.transactions = 0;
  config.users = 8;
  config.duration = 120 * kNanosPerSecond;
  const Outcome outcome = Simulate(config, options);
  CAPTURE(outcome.statistics.ahead_reads, outcome.statistics.demand_reads);
  CHECK(outcome.statistics.ahead_reads > 1'000);
  CHECK(outcome.statistics.demand_reads * 10 < outcome.statistics.ahead_reads);
}

}  // namespace
}  // namespace latchkey::virtual_time_test
