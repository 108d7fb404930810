#include "tpcc-lite/workload/tpcc_client.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tpcc-lite/workload/testing/test_database.h"

namespace latchkey::tpcc_client_test {
namespace {

// A loaded database and one user's client.
struct Fixture {
  Fixture() : backend(OpenLoaded(TinyConfig(2, .01))) {
    session = *backend->NewSession();
    client = std::make_unique<TpccClient>(*session, TpccClient::Options{.run = 1, .user = 0});
    client->NextTransaction();
  }

  template <typename Row>
  Row ReadRow(TableIndex table, std::string_view key) {
    std::string value;
    REQUIRE(session->Begin().ok());
    REQUIRE(session->Get(table, key, &value).ok());
    REQUIRE(session->Commit().ok());
    REQUIRE(value.size() == sizeof(Row));
    return *RowOf<Row>(value);
  }

  std::unique_ptr<KvBackend> backend;
  std::unique_ptr<KvSession> session;
  std::unique_ptr<TpccClient> client;
};

NewOrderInput ThreeLines() {
  NewOrderInput input{};
  input.warehouse = 1;
  input.district = 4;
  input.customer = 9;
  input.line_count = 3;
  input.all_local = false;
  input.lines[0] = {.item = 500, .supply_warehouse = 1, .quantity = 3};
  input.lines[1] = {.item = 7, .supply_warehouse = 2, .quantity = 10};
  input.lines[2] = {.item = 500, .supply_warehouse = 1, .quantity = 1};
  return input;
}

TEST_CASE("a New-Order takes the stock, numbers the order and totals it") {
  Fixture f;
  const NewOrderInput input = ThreeLines();
  const auto district = f.ReadRow<DistrictRow>(kDistrictTable, DistrictKey(1, 4));
  const auto warehouse = f.ReadRow<WarehouseRow>(kWarehouseTable, WarehouseKey(1));
  const auto customer = f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(1, 4, 9));
  const auto item_500 = f.ReadRow<ItemRow>(kItemTable, ItemKey(500));
  const auto item_7 = f.ReadRow<ItemRow>(kItemTable, ItemKey(7));

  NewOrderOutput output;
  REQUIRE(f.client->NewOrder(input, &output).ok());
  CHECK_FALSE(output.rolled_back);
  CHECK(output.order == district.next_o_id);
  CHECK(f.ReadRow<DistrictRow>(kDistrictTable, DistrictKey(1, 4)).next_o_id == output.order + 1);

  const int64_t sum = int64_t{4} * item_500.price + int64_t{10} * item_7.price;
  CHECK(output.total ==
        sum * (10'000 - customer.discount) * (10'000 + warehouse.tax + district.tax) / 100'000'000);

  const auto order = f.ReadRow<OrderRow>(kOrderTable, OrderKey(1, 4, output.order));
  CHECK(order.customer == 9);
  CHECK(order.line_count == 3);
  CHECK(order.carrier == 0);
  CHECK(order.all_local == 0);
  const auto line = f.ReadRow<OrderLineRow>(kOrderLineTable, OrderLineKey(1, 4, output.order, 2));
  CHECK(line.item == 7);
  CHECK(line.supply_warehouse == 2);
  CHECK(line.amount == 10 * item_7.price);
  CHECK(line.delivery_date == 0);
  const auto remote = f.ReadRow<StockRow>(kStockTable, StockKey(2, 7));
  CHECK(remote.remote_count == 1);
  CHECK(line.district_info.view() == remote.district_info[3].view());
  const auto local = f.ReadRow<StockRow>(kStockTable, StockKey(1, 500));
  CHECK(local.order_count == 2);
  CHECK(local.ytd == 4);
  CHECK(local.remote_count == 0);
}

TEST_CASE("stock that runs low is filled up by 91") {
  Fixture f;
  NewOrderInput input = ThreeLines();
  input.line_count = 1;
  input.lines[0].quantity = 10;
  NewOrderOutput output;
  int16_t quantity = f.ReadRow<StockRow>(kStockTable, StockKey(1, 500)).quantity;
  for (int i = 0; i < 30; ++i) {
    REQUIRE(f.client->NewOrder(input, &output).ok());
    const auto expected = static_cast<int16_t>(quantity >= 20 ? quantity - 10 : quantity + 81);
    quantity = f.ReadRow<StockRow>(kStockTable, StockKey(1, 500)).quantity;
    CHECK(quantity == expected);
  }
}

TEST_CASE("a New-Order with an unused item leaves nothing behind") {
  Fixture f;
  NewOrderInput input = ThreeLines();
  input.lines[2].item = 1'001;
  const uint64_t before = Fingerprint(*f.backend);
  NewOrderOutput output;
  REQUIRE(f.client->NewOrder(input, &output).ok());
  CHECK(output.rolled_back);
  CHECK(Fingerprint(*f.backend) == before);
}

TEST_CASE("a Payment moves its amount through warehouse, district, customer and history") {
  Fixture f;
  const PaymentInput input{.warehouse = 1,
                           .district = 2,
                           .customer_warehouse = 2,
                           .customer_district = 5,
                           .customer = {.by_name = false, .customer = 3, .last_name = 0},
                           .amount = 123'45};
  const auto w = f.ReadRow<WarehouseRow>(kWarehouseTable, WarehouseKey(1));
  const auto d = f.ReadRow<DistrictRow>(kDistrictTable, DistrictKey(1, 2));
  const auto c = f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(2, 5, 3));
  PaymentOutput output;
  REQUIRE(f.client->Payment(input, &output).ok());
  CHECK(output.customer == 3);
  CHECK(output.balance == c.balance - 123'45);
  CHECK(f.ReadRow<WarehouseRow>(kWarehouseTable, WarehouseKey(1)).ytd == w.ytd + 123'45);
  CHECK(f.ReadRow<DistrictRow>(kDistrictTable, DistrictKey(1, 2)).ytd == d.ytd + 123'45);
  const auto paid = f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(2, 5, 3));
  CHECK(paid.ytd_payment == c.ytd_payment + 123'45);
  CHECK(paid.payment_count == c.payment_count + 1);
  const auto history = f.ReadRow<HistoryRow>(kHistoryTable, HistoryKey(2, 5, 1, 1, 0));
  CHECK(history.amount == 123'45);
  CHECK(history.warehouse == 1);
  CHECK(history.district == 2);
}

TEST_CASE("a Payment of a customer with bad credit is recorded in C_DATA, at its front") {
  Fixture f;
  uint16_t bad = 0;
  for (uint16_t c = 1; c <= 30 && bad == 0; ++c) {
    const auto row = f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(1, 1, c));
    if (row.credit.view() == "BC") bad = c;
  }
  REQUIRE(bad != 0);
  const auto before = f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(1, 1, bad));
  const PaymentInput input{.warehouse = 2,
                           .district = 3,
                           .customer_warehouse = 1,
                           .customer_district = 1,
                           .customer = {.by_name = false, .customer = bad, .last_name = 0},
                           .amount = 55'00};
  PaymentOutput output;
  REQUIRE(f.client->Payment(input, &output).ok());
  const auto after = f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(1, 1, bad));
  const std::string note = std::to_string(bad) + " 1 1 3 2 5500|";
  CHECK(after.data.view().substr(0, note.size()) == note);
  CHECK(after.data.view().substr(note.size(), 200) == before.data.view().substr(0, 200));
}

TEST_CASE("by last name, the middle customer by first name is chosen, rounded up") {
  Fixture f;
  for (uint16_t name = 0; name < 10; ++name) {
    std::vector<std::pair<std::string, uint16_t>> namesakes;
    for (uint16_t c = 1; c <= 30; ++c) {
      const auto row = f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(1, 6, c));
      if (row.last.view() == LastName(name).view()) namesakes.emplace_back(row.first.view(), c);
    }
    REQUIRE_FALSE(namesakes.empty());
    std::sort(namesakes.begin(), namesakes.end());
    const size_t middle = (namesakes.size() + 1) / 2;  // counted from 1
    OrderStatusOutput output;
    REQUIRE(f.client
                ->OrderStatus({.warehouse = 1,
                               .district = 6,
                               .customer = {.by_name = true, .customer = 0, .last_name = name}},
                              &output)
                .ok());
    CHECK(output.customer == namesakes[middle - 1].second);
  }
}

TEST_CASE("Order-Status finds the customer's newest order with all its lines") {
  Fixture f;
  NewOrderOutput placed;
  REQUIRE(f.client->NewOrder(ThreeLines(), &placed).ok());
  OrderStatusOutput status;
  REQUIRE(f.client
              ->OrderStatus({.warehouse = 1,
                             .district = 4,
                             .customer = {.by_name = false, .customer = 9, .last_name = 0}},
                            &status)
              .ok());
  CHECK(status.order == placed.order);
  CHECK(status.lines == 3);
}

TEST_CASE("a Delivery delivers each district's oldest order, until none is left") {
  Fixture f;
  DeliveryOutput output;
  const auto order_before = f.ReadRow<OrderRow>(kOrderTable, OrderKey(1, 7, 22));
  const auto customer_before =
      f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(1, 7, order_before.customer));
  REQUIRE(order_before.carrier == 0);
  int64_t sum = 0;
  for (uint8_t l = 1; l <= order_before.line_count; ++l) {
    sum += f.ReadRow<OrderLineRow>(kOrderLineTable, OrderLineKey(1, 7, 22, l)).amount;
  }
  REQUIRE(f.client->Delivery({.warehouse = 1, .carrier = 8}, &output).ok());
  CHECK(output.delivered == 10);
  CHECK(f.ReadRow<OrderRow>(kOrderTable, OrderKey(1, 7, 22)).carrier == 8);
  CHECK(f.ReadRow<OrderLineRow>(kOrderLineTable, OrderLineKey(1, 7, 22, 1)).delivery_date != 0);
  const auto customer =
      f.ReadRow<CustomerRow>(kCustomerTable, CustomerKey(1, 7, order_before.customer));
  CHECK(customer.balance == customer_before.balance + sum);
  CHECK(customer.delivery_count == 1);
  CHECK(CountRows(*f.backend, kNewOrderTable) == 180 - 10);

  for (int i = 1; i < 9; ++i) {
    REQUIRE(f.client->Delivery({.warehouse = 1, .carrier = 1}, &output).ok());
    CHECK(output.delivered == 10);
  }
  REQUIRE(f.client->Delivery({.warehouse = 1, .carrier = 1}, &output).ok());
  CHECK(output.delivered == 0);
}

TEST_CASE("Stock-Level counts the distinct low items of the last twenty orders") {
  Fixture f;
  NewOrderInput input = ThreeLines();
  input.lines[1].supply_warehouse = 1;
  NewOrderOutput placed;
  for (int i = 0; i < 20; ++i) REQUIRE(f.client->NewOrder(input, &placed).ok());
  const auto quantity = [&f](uint32_t item) {
    return f.ReadRow<StockRow>(kStockTable, StockKey(1, item)).quantity;
  };
  StockLevelOutput output;
  for (const int16_t threshold : {int16_t{0}, int16_t{15}, int16_t{50}, int16_t{1000}}) {
    REQUIRE(f.client->StockLevel({.warehouse = 1, .district = 4, .threshold = threshold}, &output)
                .ok());
    const uint32_t expected =
        (quantity(500) < threshold ? 1 : 0) + (quantity(7) < threshold ? 1 : 0);
    CHECK(output.low_stock == expected);
  }
}

TEST_CASE("a missing row is reported, and the transaction is over") {
  Fixture f;
  REQUIRE(f.session->Begin().ok());
  REQUIRE(f.session->Delete(kCustomerTable, CustomerKey(1, 4, 9)).ok());
  REQUIRE(f.session->Commit().ok());
  const uint64_t before = Fingerprint(*f.backend);
  NewOrderOutput output;
  const absl::Status status = f.client->NewOrder(ThreeLines(), &output);
  CHECK(absl::IsDataLoss(status));
  CHECK(status.ToString().find("customer") != std::string::npos);
  CHECK(Fingerprint(*f.backend) == before);
}

}  // namespace
}  // namespace latchkey::tpcc_client_test
