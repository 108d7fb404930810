#include "tpcc-lite/workload/warehouse_loader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/keys.h"
#include "tpcc-lite/workload/rows.h"

namespace latchkey {
namespace {

constexpr uint64_t kLoadDate = 1;
constexpr int64_t kInitialPayment = 10'00;
constexpr int32_t kMaxLineAmount = 9999'99;

Rng UnitRng(uint64_t seed, uint32_t unit) { return Rng(MixHash(seed) + unit); }

// Puts "ORIGINAL" at a random place of one text in ten (clause 4.3.3.1).
void AssignData(Rng& rng, Text<50>* data) {
  constexpr std::string_view kOriginal = "ORIGINAL";
  AssignRandom(rng, 26, 50, data);
  if (rng.Below(10) != 0) return;
  const uint64_t at = rng.Below(data->view().size() - kOriginal.size() + 1);
  std::memcpy(data->bytes + at, kOriginal.data(), kOriginal.size());
}

void AssignAddress(Rng& rng, Address* address) {
  AssignRandom(rng, 10, 20, &address->street_1);
  AssignRandom(rng, 10, 20, &address->street_2);
  AssignRandom(rng, 10, 20, &address->city);
  AssignRandom(rng, 2, 2, &address->state);
  RandomDigits(rng, 4, address->zip.bytes);
  std::memcpy(address->zip.bytes + 4, "11111", 5);
}

void FillCustomer(Rng& rng, std::string_view last, CustomerRow* row) {
  AssignRandom(rng, 8, 16, &row->first);
  row->middle.Assign("OE");
  row->last.Assign(last);
  AssignAddress(rng, &row->address);
  RandomDigits(rng, 16, row->phone.bytes);
  row->since = kLoadDate;
  row->credit.Assign(rng.Below(10) == 0 ? "BC" : "GC");
  row->credit_limit = 50'000'00;
  row->discount = static_cast<uint16_t>(rng.Between(0, 50'00));
  row->balance = -kInitialPayment;
  row->ytd_payment = kInitialPayment;
  row->payment_count = 1;
  row->delivery_count = 0;
  AssignRandom(rng, 300, 500, &row->data);
}

void FillStock(Rng& rng, StockRow* row) {
  row->quantity = static_cast<int16_t>(rng.Between(10, 100));
  for (Text<24>& info : row->district_info) AssignRandom(rng, 24, 24, &info);
  row->ytd = 0;
  row->order_count = 0;
  row->remote_count = 0;
  AssignData(rng, &row->data);
}

}  // namespace

WarehouseLoader::WarehouseLoader(KvSession& session, Runtime& runtime, const TpccScale& sizes,
                                 uint64_t seed)
    : sizes_(sizes),
      seed_(seed),
      last_name_(TpccDistributions::ForLoad(sizes, seed).last_name),
      rng_(seed),
      writer_(session, runtime) {}

uint64_t WarehouseLoader::TotalRows(const TpccScale& sizes) {
  const uint64_t district =
      1 + uint64_t{sizes.customers} * 2 + sizes.orders + sizes.undelivered_orders;
  return sizes.items +
         sizes.warehouses * (1 + uint64_t{sizes.items} + kDistrictsPerWarehouse * district);
}

absl::Status WarehouseLoader::LoadItems(Progress progress) {
  rng_ = UnitRng(seed_, 0);
  for (uint32_t i = 1; i <= sizes_.items; ++i) {
    ItemRow row;
    row.image = static_cast<uint32_t>(rng_.Between(1, 10'000));
    AssignRandom(rng_, 14, 24, &row.name);
    row.price = static_cast<int32_t>(rng_.Between(1'00, 100'00));
    AssignData(rng_, &row.data);
    LATCHKEY_RETURN_IF_ERROR(writer_.Insert(kItemTable, ItemKey(i), BytesOf(row)));
  }
  LATCHKEY_RETURN_IF_ERROR(writer_.Flush());
  return progress(sizes_.items);
}

absl::Status WarehouseLoader::LoadWarehouse(uint16_t w, Progress progress) {
  rng_ = UnitRng(seed_, w);
  WarehouseRow row;
  AssignRandom(rng_, 6, 10, &row.name);
  AssignAddress(rng_, &row.address);
  row.tax = static_cast<uint16_t>(rng_.Between(0, 20'00));
  row.ytd = kInitialPayment * sizes_.customers * kDistrictsPerWarehouse;
  LATCHKEY_RETURN_IF_ERROR(writer_.Insert(kWarehouseTable, WarehouseKey(w), BytesOf(row)));
  LATCHKEY_RETURN_IF_ERROR(LoadStock(w, progress));
  LATCHKEY_RETURN_IF_ERROR(progress(1));
  for (uint8_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
    LATCHKEY_RETURN_IF_ERROR(LoadDistrict(w, d));
    LATCHKEY_RETURN_IF_ERROR(
        progress(1 + uint64_t{sizes_.customers} * 2 + sizes_.orders + sizes_.undelivered_orders));
  }
  return absl::OkStatus();
}

absl::Status WarehouseLoader::LoadStock(uint16_t w, Progress progress) {
  constexpr uint32_t kReportEvery = 10'000;
  for (uint32_t i = 1; i <= sizes_.items; ++i) {
    StockRow row;
    FillStock(rng_, &row);
    LATCHKEY_RETURN_IF_ERROR(writer_.Insert(kStockTable, StockKey(w, i), BytesOf(row)));
    if (i % kReportEvery == 0) LATCHKEY_RETURN_IF_ERROR(progress(kReportEvery));
  }
  return progress(sizes_.items % kReportEvery);
}

absl::Status WarehouseLoader::LoadDistrict(uint16_t w, uint8_t d) {
  DistrictRow row;
  AssignRandom(rng_, 6, 10, &row.name);
  AssignAddress(rng_, &row.address);
  row.tax = static_cast<uint16_t>(rng_.Between(0, 20'00));
  row.ytd = kInitialPayment * sizes_.customers;
  row.next_o_id = sizes_.orders + 1;
  LATCHKEY_RETURN_IF_ERROR(writer_.Insert(kDistrictTable, DistrictKey(w, d), BytesOf(row)));
  LATCHKEY_RETURN_IF_ERROR(LoadCustomers(w, d));
  LATCHKEY_RETURN_IF_ERROR(LoadOrders(w, d));
  return writer_.Flush();
}

absl::Status WarehouseLoader::LoadCustomers(uint16_t w, uint8_t d) {
  name_keys_.clear();
  for (uint32_t c = 1; c <= sizes_.customers; ++c) {
    LATCHKEY_RETURN_IF_ERROR(LoadCustomer(w, d, static_cast<uint16_t>(c)));
    LATCHKEY_RETURN_IF_ERROR(LoadHistory(w, d, static_cast<uint16_t>(c)));
  }
  std::sort(name_keys_.begin(), name_keys_.end());
  for (const std::string& key : name_keys_) {
    LATCHKEY_RETURN_IF_ERROR(writer_.Insert(kCustomerNameIndex, key, {}));
  }
  return absl::OkStatus();
}

// Every last name occurs in every district: the first customers have one each.
uint32_t WarehouseLoader::LastNameNumber(uint16_t c) {
  return c <= sizes_.last_names ? c - 1u : last_name_.Draw(rng_);
}

absl::Status WarehouseLoader::LoadCustomer(uint16_t w, uint8_t d, uint16_t c) {
  CustomerRow row;
  const LastName last(LastNameNumber(c));
  FillCustomer(rng_, last.view(), &row);
  name_keys_.emplace_back(CustomerNameKey(w, d, last.view(), row.first.view(), c).view());
  return writer_.Insert(kCustomerTable, CustomerKey(w, d, c), BytesOf(row));
}

absl::Status WarehouseLoader::LoadHistory(uint16_t w, uint8_t d, uint16_t c) {
  HistoryRow row;
  row.customer = c;
  row.warehouse = w;
  row.district = d;
  row.date = kLoadDate;
  row.amount = kInitialPayment;
  AssignRandom(rng_, 12, 24, &row.data);
  return writer_.Insert(kHistoryTable, HistoryKey(w, d, 0, c, 0), BytesOf(row));
}

void WarehouseLoader::ShuffleCustomers() {
  order_customers_.resize(sizes_.orders);
  std::iota(order_customers_.begin(), order_customers_.end(), uint16_t{1});
  for (size_t i = order_customers_.size(); i > 1; --i) {
    std::swap(order_customers_[i - 1], order_customers_[rng_.Below(i)]);
  }
}

absl::Status WarehouseLoader::LoadOrders(uint16_t w, uint8_t d) {
  ShuffleCustomers();
  for (uint32_t o = 1; o <= sizes_.orders; ++o) {
    LATCHKEY_RETURN_IF_ERROR(LoadOrder(w, d, o, order_customers_[o - 1]));
  }
  std::vector<uint32_t> order_of(sizes_.customers + 1);
  for (uint32_t o = 1; o <= sizes_.orders; ++o) order_of[order_customers_[o - 1]] = o;
  for (uint32_t c = 1; c <= sizes_.customers; ++c) {
    LATCHKEY_RETURN_IF_ERROR(writer_.Insert(
        kCustomerOrderIndex, CustomerOrderKey(w, d, static_cast<uint16_t>(c), order_of[c]), {}));
  }
  return absl::OkStatus();
}

absl::Status WarehouseLoader::LoadOrder(uint16_t w, uint8_t d, uint32_t o, uint16_t c) {
  const bool delivered = o <= sizes_.orders - sizes_.undelivered_orders;
  OrderRow order;
  order.customer = c;
  order.entry_date = kLoadDate;
  order.carrier = delivered ? static_cast<uint8_t>(rng_.Between(1, 10)) : 0;
  order.line_count = static_cast<uint8_t>(rng_.Between(5, kMaxOrderLines));
  order.all_local = 1;
  LATCHKEY_RETURN_IF_ERROR(writer_.Insert(kOrderTable, OrderKey(w, d, o), BytesOf(order)));
  if (!delivered) {
    LATCHKEY_RETURN_IF_ERROR(writer_.Insert(kNewOrderTable, NewOrderKey(w, d, o), {}));
  }
  for (uint8_t number = 1; number <= order.line_count; ++number) {
    OrderLineRow line;
    line.item = static_cast<uint32_t>(rng_.Between(1, sizes_.items));
    line.supply_warehouse = w;
    line.delivery_date = delivered ? kLoadDate : 0;
    line.quantity = 5;
    line.amount = delivered ? 0 : static_cast<int32_t>(rng_.Between(1, kMaxLineAmount));
    AssignRandom(rng_, 24, 24, &line.district_info);
    LATCHKEY_RETURN_IF_ERROR(
        writer_.Insert(kOrderLineTable, OrderLineKey(w, d, o, number), BytesOf(line)));
  }
  return absl::OkStatus();
}

}  // namespace latchkey
