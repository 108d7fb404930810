#include "tpcc-lite/workload/consistency.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "tpcc-lite/workload/rows.h"
#include "tpcc-lite/workload/testing/test_database.h"

namespace latchkey::consistency_test {
namespace {

// Damages a loaded database and lists the conditions that report it.
class Plant {
 public:
  Plant() : config_(TinyConfig(2, .01)), backend_(OpenLoaded(config_)) {
    session_ = *backend_->NewSession();
  }

  template <typename Row>
  Plant& Change(TableIndex table, const TpccKey& key, const std::function<void(Row&)>& change) {
    std::string value;
    REQUIRE(session_->Begin().ok());
    REQUIRE(session_->Get(table, key, &value).ok());
    change(*MutableRowOf<Row>(&value));
    REQUIRE(session_->Put(table, key, value).ok());
    REQUIRE(session_->Commit().ok());
    return *this;
  }
  Plant& Put(TableIndex table, const TpccKey& key, std::string_view value) {
    REQUIRE(session_->Begin().ok());
    REQUIRE(session_->Put(table, key, value).ok());
    REQUIRE(session_->Commit().ok());
    return *this;
  }
  Plant& Delete(TableIndex table, const TpccKey& key) {
    REQUIRE(session_->Begin().ok());
    REQUIRE(session_->Delete(table, key).ok());
    REQUIRE(session_->Commit().ok());
    return *this;
  }

  uint16_t CustomerOfOrder(uint16_t w, uint8_t d, uint32_t o) {
    std::string value;
    REQUIRE(session_->Begin().ok());
    REQUIRE(session_->Get(kOrderTable, OrderKey(w, d, o), &value).ok());
    REQUIRE(session_->Commit().ok());
    return RowOf<OrderRow>(value)->customer;
  }

  std::vector<int> Violated(bool after_load = true) {
    const auto report = CheckConsistency(*backend_, config_, after_load);
    REQUIRE(report.ok());
    CHECK(report->ok() == report->violated.empty());
    for (const ConsistencyViolation& violation : report->violations) {
      CHECK(std::count(report->violated.begin(), report->violated.end(), violation.condition) == 1);
      CHECK_FALSE(violation.message.empty());
    }
    return report->violated;
  }

 private:
  TpccConfig config_;
  std::unique_ptr<KvBackend> backend_;
  std::unique_ptr<KvSession> session_;
};

using Numbers = std::vector<int>;

// Scale .01: 30 orders to a district, of which 22 to 30 are undelivered.

TEST_CASE("an undamaged database violates nothing") { CHECK(Plant().Violated().empty()); }

TEST_CASE("a cent too much in a warehouse violates conditions 1 and 8") {
  CHECK(Plant()
            .Change<WarehouseRow>(kWarehouseTable, WarehouseKey(2),
                                  [](WarehouseRow& row) { row.ytd += 1; })
            .Violated() == Numbers{1, 8});
}

TEST_CASE("a cent too much in a district violates conditions 1 and 9") {
  CHECK(Plant()
            .Change<DistrictRow>(kDistrictTable, DistrictKey(1, 10),
                                 [](DistrictRow& row) { row.ytd += 1; })
            .Violated() == Numbers{1, 9});
}

TEST_CASE("a wrong next order number violates condition 2") {
  CHECK(Plant()
            .Change<DistrictRow>(kDistrictTable, DistrictKey(1, 1),
                                 [](DistrictRow& row) { row.next_o_id += 1; })
            .Violated() == Numbers{2});
}

TEST_CASE("a newest order that is not in NEW-ORDER violates conditions 2 and 5") {
  CHECK(Plant().Delete(kNewOrderTable, NewOrderKey(1, 1, 30)).Violated(false) == Numbers{2, 5});
}

TEST_CASE("a gap in NEW-ORDER violates conditions 3 and 5") {
  CHECK(Plant().Delete(kNewOrderTable, NewOrderKey(1, 1, 25)).Violated(false) == Numbers{3, 5});
}

TEST_CASE("an order line too few violates conditions 4 and 6") {
  CHECK(Plant().Delete(kOrderLineTable, OrderLineKey(2, 3, 25, 1)).Violated() == Numbers{4, 6});
}

TEST_CASE("an order line without an order violates conditions 4 and 6") {
  const std::string line(sizeof(OrderLineRow), '\0');
  CHECK(Plant().Put(kOrderLineTable, OrderLineKey(2, 3, 31, 1), line).Violated() == Numbers{4, 6});
}

TEST_CASE("an undelivered order with a carrier violates conditions 5 and 7") {
  CHECK(
      Plant()
          .Change<OrderRow>(kOrderTable, OrderKey(1, 5, 28), [](OrderRow& row) { row.carrier = 3; })
          .Violated() == Numbers{5, 7});
}

TEST_CASE("lines exchanged between two orders violate condition 6 alone") {
  CHECK(Plant()
            .Change<OrderRow>(kOrderTable, OrderKey(1, 5, 28),
                              [](OrderRow& row) { row.line_count += 1; })
            .Change<OrderRow>(kOrderTable, OrderKey(1, 5, 29),
                              [](OrderRow& row) { row.line_count -= 1; })
            .Violated() == Numbers{6});
}

TEST_CASE("a delivery date taken from a line of amount 0 violates condition 7 alone") {
  CHECK(Plant()
            .Change<OrderLineRow>(kOrderLineTable, OrderLineKey(1, 5, 1, 2),
                                  [](OrderLineRow& row) { row.delivery_date = 0; })
            .Violated() == Numbers{7});
}

TEST_CASE("a payment moved between warehouses violates conditions 8 and 9 alone") {
  CHECK(Plant()
            .Change<HistoryRow>(kHistoryTable, HistoryKey(1, 1, 0, 1, 0),
                                [](HistoryRow& row) { row.warehouse = 2; })
            .Violated() == Numbers{8, 9});
}

TEST_CASE("a payment moved between districts violates condition 9 alone") {
  CHECK(Plant()
            .Change<HistoryRow>(kHistoryTable, HistoryKey(1, 1, 0, 1, 0),
                                [](HistoryRow& row) { row.district = 2; })
            .Violated() == Numbers{9});
}

TEST_CASE("a payment booked to another customer violates condition 10 alone") {
  CHECK(Plant()
            .Change<HistoryRow>(kHistoryTable, HistoryKey(1, 1, 0, 1, 0),
                                [](HistoryRow& row) { row.customer = 2; })
            .Violated() == Numbers{10});
}

TEST_CASE("a cent too much in a balance violates conditions 10 and 12") {
  CHECK(Plant()
            .Change<CustomerRow>(kCustomerTable, CustomerKey(2, 10, 30),
                                 [](CustomerRow& row) { row.balance += 1; })
            .Violated() == Numbers{10, 12});
}

TEST_CASE("a delivered order taken back consistently violates condition 11, only after a load") {
  const auto take_back = [](Plant& plant) {
    plant.Put(kNewOrderTable, NewOrderKey(1, 1, 21), {})
        .Change<OrderRow>(kOrderTable, OrderKey(1, 1, 21), [](OrderRow& row) { row.carrier = 0; });
    for (uint8_t line = 1; line <= 5; ++line) {
      plant.Change<OrderLineRow>(kOrderLineTable, OrderLineKey(1, 1, 21, line),
                                 [](OrderLineRow& row) { row.delivery_date = 0; });
    }
  };
  Plant plant;
  take_back(plant);
  const Numbers with_11 = plant.Violated(/*after_load=*/true);
  const Numbers without = plant.Violated(/*after_load=*/false);
  CHECK(std::count(with_11.begin(), with_11.end(), 11) == 1);
  CHECK(std::count(without.begin(), without.end(), 11) == 0);
}

TEST_CASE("a year-to-date payment off by a cent violates condition 12 alone") {
  CHECK(Plant()
            .Change<CustomerRow>(kCustomerTable, CustomerKey(2, 10, 30),
                                 [](CustomerRow& row) { row.ytd_payment += 1; })
            .Violated() == Numbers{12});
}

TEST_CASE("an entry too many in an index is found") {
  CHECK(Plant().Put(kCustomerOrderIndex, CustomerOrderKey(1, 1, 1, 31), {}).Violated() ==
        Numbers{0});
  CHECK(Plant()
            .Put(kCustomerNameIndex, CustomerNameKey(1, 1, "BARBARBAR", "ann", 5), {})
            .Violated() == Numbers{0});
}

TEST_CASE("an entry too few in an index is found") {
  Plant plant;
  plant.Delete(kCustomerOrderIndex, CustomerOrderKey(1, 1, plant.CustomerOfOrder(1, 1, 6), 6));
  CHECK(plant.Violated() == Numbers{0});
}

TEST_CASE("a missing customer, item or stock row is found") {
  CHECK(Plant().Delete(kItemTable, ItemKey(17)).Violated() == Numbers{0});
  CHECK(Plant().Delete(kStockTable, StockKey(2, 17)).Violated() == Numbers{0});
  const Numbers violated = Plant().Delete(kCustomerTable, CustomerKey(1, 1, 3)).Violated();
  CHECK(std::count(violated.begin(), violated.end(), 0) == 1);
}

TEST_CASE("a row of the wrong size is found, not read") {
  const Numbers violated = Plant().Put(kCustomerTable, CustomerKey(1, 1, 3), "short").Violated();
  CHECK(std::count(violated.begin(), violated.end(), 0) == 1);
}

TEST_CASE("an empty queue of undelivered orders is no violation") {
  TpccConfig config = TinyConfig(1, .003);
  const auto backend = OpenLoaded(config);
  auto session = *backend->NewSession();
  // Scale .003: 9 orders to a district, of which 8 and 9 are undelivered.
  REQUIRE(session->Begin().ok());
  for (uint32_t o = 8; o <= 9; ++o) {
    REQUIRE(session->Delete(kNewOrderTable, NewOrderKey(1, 1, o)).ok());
  }
  REQUIRE(session->Commit().ok());
  const auto report = CheckConsistency(*backend, config, /*after_load=*/false);
  REQUIRE(report.ok());
  CHECK(report->violated == Numbers{5});
}

TEST_CASE("every condition has a description") {
  for (int number = 0; number <= 12; ++number) CHECK_FALSE(DescribeCondition(number).empty());
}

}  // namespace
}  // namespace latchkey::consistency_test
