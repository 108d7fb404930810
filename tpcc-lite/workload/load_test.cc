#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tpcc-lite/workload/consistency.h"
#include "tpcc-lite/workload/rows.h"
#include "tpcc-lite/workload/testing/test_database.h"

namespace latchkey::load_test {
namespace {

TEST_CASE("a load has the standard's cardinalities, times the scale") {
  const TpccConfig config = TinyConfig(2, .01);
  const auto backend = OpenLoaded(config);
  CHECK(CountRows(*backend, kWarehouseTable) == 2);
  CHECK(CountRows(*backend, kDistrictTable) == 20);
  CHECK(CountRows(*backend, kCustomerTable) == 600);
  CHECK(CountRows(*backend, kHistoryTable) == 600);
  CHECK(CountRows(*backend, kOrderTable) == 600);
  CHECK(CountRows(*backend, kNewOrderTable) == 180);
  CHECK(CountRows(*backend, kItemTable) == 1'000);
  CHECK(CountRows(*backend, kStockTable) == 2'000);
  CHECK(CountRows(*backend, kCustomerNameIndex) == 600);
  CHECK(CountRows(*backend, kCustomerOrderIndex) == 600);
  CHECK(CountRows(*backend, kOrderLineTable) == Approx(6'000).epsilon(.05));
}

TEST_CASE("the full scale is the standard's") {
  const TpccScale sizes = TpccScale::Of(5, 1);
  const TpccScale standard{.warehouses = 5};
  CHECK(sizes == standard);
}

TEST_CASE("all twelve conditions hold after a load") {
  for (const double scale : {.001, .01, .03}) {
    const TpccConfig config = TinyConfig(1, scale);
    const auto backend = OpenLoaded(config);
    const auto report = CheckConsistency(*backend, config, /*after_load=*/true);
    REQUIRE(report.ok());
    CHECK(report->checked == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    for (const auto& violation : report->violations) FAIL_CHECK(violation.message);
    CHECK(report->ok());
  }
}

TEST_CASE("a load depends on its seed, not on the number of sessions") {
  TpccConfig config = TinyConfig(3, .003);
  const uint64_t serial = Fingerprint(*OpenLoaded(config, 1));
  CHECK(Fingerprint(*OpenLoaded(config, 3)) == serial);
  config.seed = 8;
  CHECK(Fingerprint(*OpenLoaded(config, 1)) != serial);
}

TEST_CASE("one item and one customer in ten are marked as the standard wants it") {
  const auto backend = OpenLoaded(TinyConfig(1, .05));
  uint64_t original = 0, bad_credit = 0;
  ForEachRow(*backend, kItemTable, [&original](std::string_view, std::string_view value) {
    if (RowOf<ItemRow>(value)->data.view().find("ORIGINAL") != std::string_view::npos) ++original;
  });
  ForEachRow(*backend, kCustomerTable, [&bad_credit](std::string_view, std::string_view value) {
    if (RowOf<CustomerRow>(value)->credit.view() == "BC") ++bad_credit;
  });
  CHECK(original == Approx(500).epsilon(.2));
  CHECK(bad_credit == Approx(150).epsilon(.3));
}

TEST_CASE("every customer of a district has one initial order") {
  const auto backend = OpenLoaded(TinyConfig(1, .01));
  std::set<std::string> seen;
  ForEachRow(*backend, kOrderTable, [&seen](std::string_view key, std::string_view value) {
    const auto* row = RowOf<OrderRow>(value);
    seen.insert(std::string(key.substr(0, 3)) + std::to_string(row->customer));
  });
  CHECK(seen.size() == 300);
}

TEST_CASE("the estimate of the data's size is near what a load holds") {
  const TpccConfig config = TinyConfig(2, .02);
  const auto backend = OpenLoaded(config);
  uint64_t bytes = 0;
  for (TableIndex table = 0; table < kTpccTables; ++table) {
    ForEachRow(*backend, table, [&bytes](std::string_view key, std::string_view value) {
      bytes += key.size() + value.size();
    });
  }
  CHECK(static_cast<double>(EstimateTpccDataBytes(config.Sizes())) ==
        Approx(static_cast<double>(bytes)).epsilon(.03));
}

TEST_CASE("progress runs up to all rows") {
  const TpccConfig config = TinyConfig(2, .005);
  const auto backend = OpenEmpty();
  uint64_t last = 0, total = 0;
  TpccLoadOptions options;
  options.progress = [&last, &total](uint64_t rows, uint64_t total_rows) {
    CHECK(rows >= last);
    last = rows;
    total = total_rows;
  };
  REQUIRE(LoadTpcc(*backend, config, options).ok());
  CHECK(last == total);
  CHECK(total > 0);
}

TEST_CASE("a loaded database knows what it is, and refuses what it is not") {
  const TpccConfig config = TinyConfig(2, .003);
  const auto backend = OpenEmpty();
  CHECK(*IsTpccPrepared(*backend, config) == false);
  REQUIRE(LoadTpcc(*backend, config).ok());
  CHECK(*IsTpccPrepared(*backend, config) == true);
  CHECK(absl::IsFailedPrecondition(LoadTpcc(*backend, config)));

  TpccConfig other = config;
  other.warehouses = 3;
  const absl::Status refused = IsTpccPrepared(*backend, other).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(refused.ToString().find("warehouses = 2") != std::string::npos);
  other = config;
  other.scale = .004;
  CHECK(absl::IsFailedPrecondition(IsTpccPrepared(*backend, other).status()));
  other = config;
  other.seed = 1;
  CHECK(absl::IsFailedPrecondition(IsTpccPrepared(*backend, other).status()));
}

TEST_CASE("an interrupted load is told from a finished one") {
  TpccConfig config = TinyConfig(2, .003);
  const auto backend = OpenEmpty();
  const std::atomic<bool> stop{true};
  config.stop = &stop;
  CHECK(absl::IsCancelled(LoadTpcc(*backend, config)));
  CHECK(absl::IsFailedPrecondition(IsTpccPrepared(*backend, config).status()));
}

TEST_CASE("impossible sizes are refused with their range") {
  TpccConfig config = TinyConfig();
  const auto refused = [&config](std::string_view name) {
    const absl::Status status = config.Validate();
    return absl::IsInvalidArgument(status) && status.ToString().find(name) != std::string::npos;
  };
  config.scale = 1.5;
  CHECK(refused("scale = 1.5"));
  config = TinyConfig();
  config.warehouses = 0;
  CHECK(refused("warehouses = 0"));
  config = TinyConfig();
  config.users = 0;
  CHECK(refused("users = 0"));
  config = TinyConfig();
  config.transactions = 0;
  config.duration = 0;
  CHECK(refused("duration"));
}

}  // namespace
}  // namespace latchkey::load_test
