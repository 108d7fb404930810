#include "tpcc-lite/bench/reopen.h"

#include <catch2/catch.hpp>

#include "storage/base/testing/temp_dir.h"
#include "tpcc-lite/bench/bench_report.h"
#include "tpcc-lite/kv/latchkey_backend.h"
#include "tpcc-lite/kv/memory_backend.h"

namespace latchkey::reopen_test {
namespace {

KvBenchConfig SmallReopen() {
  KvBenchConfig config;
  config.workload = *FindKvWorkload("reopen");
  config.records = 2'000;
  config.threads = 2;
  config.scan_first = true;
  return config;
}

KvOptions InFiles(const std::string& path) {
  KvOptions options;
  options.path = path;
  options.tables = KvBenchTableNames();
  options.cache_bytes = 8 << 20;
  // Commits that the killed process has counted are in its log, even if a flusher comes late.
  options.durability = Durability::kCommit;
  return options;
}

TEST_CASE("A database whose process was killed with its cache dirty opens with all its records") {
  const TempDir directory;
  const KvOptions options = InFiles(directory.File("db"));
  const KvBenchConfig config = SmallReopen();
  {
    const auto backend = OpenLatchkeyBackend(options);
    REQUIRE(backend.ok());
    REQUIRE(LoadKvBench(**backend, config).ok());
    REQUIRE((*backend)->Close().ok());
  }
  const auto reopened = MeasureReopen([&] { return OpenLatchkeyBackend(options); }, config);
  INFO(reopened.status().ToString());
  REQUIRE(reopened.ok());
  CHECK(reopened->commits > 0);
  CHECK(reopened->dirty_pages > 0);
  CHECK(reopened->dirty_share > 0);
  CHECK(reopened->phases.redone_changes > 0);
  CHECK(reopened->phases.log_bytes > 0);
  const Statistics::Recovery& phases = reopened->phases;
  CHECK(phases.layout_s + phases.log_read_s + phases.redo_s + phases.undo_s + phases.checkpoint_s <=
        reopened->open_s);

  BenchRecord record;
  record.config = config;
  record.reopen = *reopened;
  const Json row = BenchToJson(record);
  CHECK(row["reopen"]["open_s"] == reopened->open_s);
  CHECK(row["operations_per_s"].is_null());
}

TEST_CASE("What the updating process cannot do is said by the one that measures") {
  const TempDir directory;
  const KvBenchConfig config = SmallReopen();
  const auto no_pages =
      MeasureReopen([&] { return OpenMemoryBackend(InFiles(directory.File("none"))); }, config);
  CHECK(absl::IsFailedPrecondition(no_pages.status()));
  KvOptions nowhere = InFiles(directory.File("no/such/folder"));
  const auto unopened = MeasureReopen([&] { return OpenLatchkeyBackend(nowhere); }, config);
  CHECK_THAT(std::string(unopened.status().message()), Catch::Contains("no/such/folder"));
}

}  // namespace
}  // namespace latchkey::reopen_test
