// New-Order (clause 2.4.2).
#include <array>

#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/tpcc_client.h"

namespace latchkey {
namespace {

constexpr int64_t kBasis = 100'00;   // basis points in one
constexpr uint32_t kUnusedItem = 0;  // marks a line whose item does not exist: items count from 1

bool IsOriginal(const Text<50>& data) {
  constexpr std::string_view kOriginal = "ORIGINAL";
  return data.view().find(kOriginal) != std::string_view::npos;
}

void TakeFromStock(const NewOrderInput& input, const NewOrderInput::Line& line, StockRow* stock) {
  const int left = stock->quantity - line.quantity;
  stock->quantity = static_cast<int16_t>(left >= 10 ? left : left + 91);
  stock->ytd += line.quantity;
  stock->order_count += 1;
  if (line.supply_warehouse != input.warehouse) stock->remote_count += 1;
}

bool StockBefore(const NewOrderInput::Line& a, const NewOrderInput::Line& b) {
  if (a.supply_warehouse != b.supply_warehouse) return a.supply_warehouse < b.supply_warehouse;
  return a.item < b.item;
}

// Indexes of the lines in the order of their stock rows. Insertion sort: at most 15 lines.
void SortByStockKey(const NewOrderInput& input, std::array<uint8_t, kMaxOrderLines>* order) {
  for (uint8_t i = 0; i < input.line_count; ++i) {
    uint8_t at = i;
    for (; at > 0 && StockBefore(input.lines[i], input.lines[(*order)[at - 1]]); --at) {
      (*order)[at] = (*order)[at - 1];
    }
    (*order)[at] = i;
  }
}

}  // namespace

absl::Status TpccClient::NewOrder(const NewOrderInput& input, NewOrderOutput* output) {
  *output = {};
  LATCHKEY_RETURN_IF_ERROR(session_.Begin());
  absl::Status status = NewOrderBody(input, output);
  return Finish(std::move(status), output->rolled_back);
}

absl::Status TpccClient::NewOrderBody(const NewOrderInput& input, NewOrderOutput* output) {
  LineOrder lines;
  SortByStockKey(input, &lines);
  PrefetchNewOrder(input, lines);
  uint32_t district_tax;
  LATCHKEY_RETURN_IF_ERROR(TakeOrderNumber(input, &output->order, &district_tax));
  WarehouseRow* warehouse;
  LATCHKEY_RETURN_IF_ERROR(
      Read(kWarehouseTable, WarehouseKey(input.warehouse), &warehouse_, &warehouse));
  CustomerRow* customer;
  LATCHKEY_RETURN_IF_ERROR(Read(kCustomerTable,
                                CustomerKey(input.warehouse, input.district, input.customer),
                                &customer_, &customer));
  int64_t sum = 0;
  LATCHKEY_RETURN_IF_ERROR(OrderLines(input, lines, output, &sum));
  LATCHKEY_RETURN_IF_ERROR(InsertOrder(input, output->order));
  output->total = sum * (kBasis - customer->discount) * (kBasis + warehouse->tax + district_tax) /
                  (kBasis * kBasis);
  return absl::OkStatus();
}

// WAREHOUSE and DISTRICT rows are always cached: announcing them would cost more than it saves.
void TpccClient::PrefetchNewOrder(const NewOrderInput& input, const LineOrder& lines) {
  if (!options_.prefetch) return;
  Announce(kCustomerTable, CustomerKey(input.warehouse, input.district, input.customer));
  // The place of the new entry: the customer's newest order sorts first.
  Announce(kCustomerOrderIndex, CustomerKey(input.warehouse, input.district, input.customer));
  for (uint32_t i = 0; i < input.line_count; ++i) {
    const NewOrderInput::Line& line = input.lines[lines[i]];
    Announce(kItemTable, ItemKey(line.item));
    Announce(kStockTable, StockKey(line.supply_warehouse, line.item));
  }
  Prefetch();
}

absl::Status TpccClient::TakeOrderNumber(const NewOrderInput& input, uint32_t* order,
                                         uint32_t* tax) {
  const TpccKey key = DistrictKey(input.warehouse, input.district);
  DistrictRow* district;
  LATCHKEY_RETURN_IF_ERROR(ReadForUpdate(kDistrictTable, key, &district_, &district));
  *order = district->next_o_id;
  *tax = district->tax;
  district->next_o_id += 1;
  return session_.Put(kDistrictTable, key, district_);
}

absl::Status TpccClient::OrderLines(const NewOrderInput& input, const LineOrder& lines,
                                    NewOrderOutput* output, int64_t* sum) {
  for (uint32_t i = 0; i < input.line_count; ++i) {
    LATCHKEY_RETURN_IF_ERROR(OrderOneLine(input, lines[i], output, sum));
  }
  return absl::OkStatus();
}

absl::Status TpccClient::OrderOneLine(const NewOrderInput& input, uint32_t index,
                                      NewOrderOutput* output, int64_t* sum) {
  const NewOrderInput::Line& line = input.lines[index];
  absl::Status found = session_.Get(kItemTable, ItemKey(line.item), &item_);
  if (absl::IsNotFound(found)) {
    // The user's mistake. The transaction still executes the rest of the profile (clause 2.4.2.3).
    output->rolled_back = true;
    lines_[index].item = kUnusedItem;
    return absl::OkStatus();
  }
  ItemRow* item;
  LATCHKEY_RETURN_IF_ERROR(Found(std::move(found), kItemTable, &item_, &item));
  const TpccKey stock_key = StockKey(line.supply_warehouse, line.item);
  StockRow* stock;
  LATCHKEY_RETURN_IF_ERROR(Read(kStockTable, stock_key, &stock_, &stock));
  TakeFromStock(input, line, stock);
  LATCHKEY_RETURN_IF_ERROR(session_.Put(kStockTable, stock_key, stock_));

  OrderLineRow& row = lines_[index];
  row.item = line.item;
  row.supply_warehouse = line.supply_warehouse;
  row.delivery_date = 0;
  row.quantity = line.quantity;
  row.amount = line.quantity * item->price;
  row.district_info = stock->district_info[input.district - 1];
  *sum += row.amount;
  if (IsOriginal(item->data) && IsOriginal(stock->data)) ++output->brand_lines;
  return absl::OkStatus();
}

absl::Status TpccClient::InsertOrder(const NewOrderInput& input, uint32_t order) {
  const uint16_t w = input.warehouse;
  const uint8_t d = input.district;
  OrderRow row;
  row.customer = input.customer;
  row.entry_date = Date();
  row.carrier = 0;
  row.line_count = input.line_count;
  row.all_local = input.all_local ? 1 : 0;
  LATCHKEY_RETURN_IF_ERROR(session_.Insert(kOrderTable, OrderKey(w, d, order), BytesOf(row)));
  LATCHKEY_RETURN_IF_ERROR(
      session_.Insert(kCustomerOrderIndex, CustomerOrderKey(w, d, input.customer, order), ""));
  LATCHKEY_RETURN_IF_ERROR(session_.Insert(kNewOrderTable, NewOrderKey(w, d, order), ""));
  for (uint8_t i = 0; i < input.line_count; ++i) {
    if (lines_[i].item == kUnusedItem) continue;
    LATCHKEY_RETURN_IF_ERROR(session_.Insert(kOrderLineTable,
                                             OrderLineKey(w, d, order, static_cast<uint8_t>(i + 1)),
                                             BytesOf(lines_[i])));
  }
  return absl::OkStatus();
}

}  // namespace latchkey
