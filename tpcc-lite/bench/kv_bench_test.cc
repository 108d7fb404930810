#include "tpcc-lite/bench/kv_bench.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "storage/runtime/testing/forwarding_runtime.h"
#include "tpcc-lite/bench/kv_bench_data.h"
#include "tpcc-lite/kv/kv_backends.h"

namespace latchkey::kv_bench_test {
namespace {

std::unique_ptr<KvBackend> OpenMemory() {
  KvOptions options;
  options.tables = KvBenchTableNames();
  auto backend = OpenMemoryBackend(options);
  REQUIRE(backend.ok());
  return *std::move(backend);
}

KvBenchConfig SmallConfig(std::string_view workload) {
  KvBenchConfig config;
  config.workload = *FindKvWorkload(workload);
  config.records = 2'000;
  config.value_size = 20;
  config.threads = config.workload->bulk ? 1 : 2;
  config.operations = 3'001;
  return config;
}

TEST_CASE("Every workload of the KV benchmark completes its operations") {
  for (const KvWorkload& workload : KvWorkloads()) {
    CAPTURE(workload.name);
    const KvBenchConfig config = SmallConfig(workload.name);
    const auto backend = OpenMemory();
    if (!workload.load) REQUIRE(LoadKvBench(*backend, config).ok());
    const auto result = RunKvBench(*backend, config);
    REQUIRE(result.ok());
    const uint64_t fixed = config.FixedOperations();
    CHECK(result->operations == (fixed != 0 ? fixed : config.operations));
    CHECK(result->latency_us.has_value());
    CHECK_FALSE(result->interrupted);
    uint64_t sampled = 0;
    for (const KvBenchSample& sample : result->samples) sampled += sample.operations;
    CHECK(sampled == result->operations);
  }
}

// A runtime in which reading the clock takes the main actor a long time.
class SlowClock final : public ForwardingRuntime {
 public:
  SlowClock() : ForwardingRuntime(ThreadRuntime()), owner_(ActorIndex()) {}
  Nanos Now() override {
    if (ActorIndex() == owner_) SleepFor(20 * kNanosPerMilli);
    return ForwardingRuntime::Now();
  }

 private:
  const uint32_t owner_;
};

// Operations before the first reading of the clock were not counted, and the end of the run lay
// before its begin.
TEST_CASE("Operations count though the workers are done before the bench comes to count them") {
  const KvBenchConfig config = SmallConfig("read-uniform");
  const auto backend = OpenMemory();
  REQUIRE(LoadKvBench(*backend, config).ok());
  SlowClock runtime;
  const auto result = RunKvBench(*backend, config, {}, runtime);
  REQUIRE(result.ok());
  CHECK(result->operations == config.operations);
  CHECK(result->duration_s < 3600);
  uint64_t sampled = 0;
  for (const KvBenchSample& sample : result->samples) sampled += sample.operations;
  CHECK(sampled == config.operations);
}

TEST_CASE("The loads leave the same records whatever their order") {
  for (const char* name : {"load-seq", "load-random", "load-bulk"}) {
    CAPTURE(name);
    const auto backend = OpenMemory();
    REQUIRE(RunKvBench(*backend, SmallConfig(name)).ok());
    KvBenchConfig read = SmallConfig("read-uniform");
    read.operations = 20'000;  // a missing record is DataLoss
    CHECK(RunKvBench(*backend, read).ok());
  }
}

TEST_CASE("A bulk load counts each record once, and refuses a second thread") {
  KvBenchConfig config = SmallConfig("load-bulk");
  const auto backend = OpenMemory();
  const auto result = RunKvBench(*backend, config);
  REQUIRE(result.ok());
  CHECK(result->operations == config.records);
  config.threads = 2;
  const auto refused = RunKvBench(*OpenMemory(), config);
  CHECK(absl::IsInvalidArgument(refused.status()));
  CHECK(std::string(refused.status().message()).find("one thread") != std::string::npos);
}

TEST_CASE("Puts in batches count each record once and leave the same records") {
  const uint32_t threads = GENERATE(1u, 3u);
  for (const char* name : {"load-seq", "load-random", "update-zipf"}) {
    CAPTURE(name, threads);
    const auto backend = OpenMemory();
    KvBenchConfig config = SmallConfig(name);
    config.threads = threads;
    config.batch = 300;  // the last batch of a thread is smaller
    if (!config.workload->load) REQUIRE(LoadKvBench(*backend, config).ok());
    const auto result = RunKvBench(*backend, config);
    REQUIRE(result.ok());
    CHECK(result->operations == (config.workload->load ? config.records : config.operations));
    KvBenchConfig read = SmallConfig("read-uniform");
    read.operations = 20'000;  // a missing record is DataLoss
    CHECK(RunKvBench(*backend, read).ok());
  }
}

TEST_CASE("The deletions leave the first and the last twentieth of the records") {
  const std::string_view name = GENERATE("delete-seq", "delete-range");
  const uint32_t threads = GENERATE(1u, 3u);
  CAPTURE(name, threads);
  const auto backend = OpenMemory();
  KvBenchConfig config = SmallConfig(name);
  config.threads = threads;
  REQUIRE(LoadKvBench(*backend, config).ok());
  const auto result = RunKvBench(*backend, config);
  REQUIRE(result.ok());
  CHECK(result->operations == 1800);
  std::vector<std::string> left;
  const auto session = *backend->NewSession();
  REQUIRE(session->Begin().ok());
  REQUIRE(session
              ->Scan(0, "", "\xff", false,
                     [&](std::string_view key, std::string_view) {
                       left.emplace_back(key);
                       return true;
                     })
              .ok());
  REQUIRE(session->Commit().ok());
  KvBenchKey key(config.key_size);
  REQUIRE(left.size() == 200);
  for (uint64_t i = 0; i < 100; ++i) {
    CHECK(left[i] == key.Of(i));
    CHECK(left[100 + i] == key.Of(1900 + i));
  }
}

std::vector<std::string> ValuesOf(KvBackend& backend) {
  std::vector<std::string> values;
  const auto session = *backend.NewSession();
  REQUIRE(session->Begin().ok());
  const absl::Status scanned =
      session->Scan(0, "", "\xff", false, [&](std::string_view, std::string_view value) {
        values.emplace_back(value);
        return true;
      });
  REQUIRE(scanned.ok());
  REQUIRE(session->Commit().ok());
  return values;
}

TEST_CASE("Before the scan of updated records each record was updated once") {
  const uint32_t threads = GENERATE(1u, 3u);
  const auto backend = OpenMemory();
  KvBenchConfig config = SmallConfig("scan-updated");
  config.threads = threads;
  REQUIRE(LoadKvBench(*backend, config).ok());
  const std::vector<std::string> loaded = ValuesOf(*backend);
  const auto result = RunKvBench(*backend, config);
  REQUIRE(result.ok());
  CHECK(result->operations == config.records);
  const std::vector<std::string> updated = ValuesOf(*backend);
  REQUIRE(updated.size() == loaded.size());
  uint64_t same = 0;
  for (size_t i = 0; i < loaded.size(); ++i) same += updated[i] == loaded[i];
  CHECK(same < config.records / 100);  // values are drawn, so a few are drawn twice
}

TEST_CASE("Missing records are reported, not counted as reads") {
  const auto backend = OpenMemory();
  const auto result = RunKvBench(*backend, SmallConfig("read-uniform"));
  CHECK(absl::IsDataLoss(result.status()));
}

TEST_CASE("A stop flag ends load and run with what was done") {
  std::atomic<bool> stop{true};
  const auto backend = OpenMemory();
  KvBenchConfig config = SmallConfig("a");
  REQUIRE(LoadKvBench(*backend, config).ok());
  config.stop = &stop;
  config.operations = 0;
  config.duration = 1000 * kNanosPerSecond;
  CHECK(absl::IsCancelled(LoadKvBench(*OpenMemory(), config)));
  config.warmup = kNanosPerSecond;
  CHECK(absl::IsCancelled(RunKvBench(*backend, config).status()));  // measured nothing
  stop = false;
  config.warmup = 0;
  KvBenchHooks hooks;
  hooks.on_measure_begin = [&] { stop = true; };
  const auto result = RunKvBench(*backend, config, hooks);
  REQUIRE(result.ok());
  CHECK(result->interrupted);
}

TEST_CASE("Impossible benchmark settings are refused by name") {
  KvBenchConfig config = SmallConfig("a");
  config.key_size = 4;
  CHECK(config.Validate().message().find("--key-size=4") != absl::string_view::npos);
  config = SmallConfig("a");
  config.threads = 0;
  CHECK_FALSE(config.Validate().ok());
  const auto unknown = FindKvWorkload("z");
  CHECK(unknown.status().message().find("read-zipf") != absl::string_view::npos);
}

}  // namespace
}  // namespace latchkey::kv_bench_test
