#include "tpcc-lite/workload/district_check.h"

#include <algorithm>

#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/keys.h"

namespace latchkey {
namespace {

uint32_t OrderOfKey(std::string_view key) {
  TpccKeyReader columns(key);
  columns.U16();
  columns.U8();
  return columns.U32();
}

uint16_t CustomerOfKey(std::string_view key) {
  TpccKeyReader columns(key);
  columns.U16();
  columns.U8();
  return columns.U16();
}

}  // namespace

bool PaymentSums::Add(uint32_t w, uint32_t d, int64_t amount) {
  if (w < 1 || w > warehouses_ || d < 1 || d > kDistrictsPerWarehouse) return false;
  sums_[IndexOf(w, d)] += amount;
  return true;
}

int64_t PaymentSums::OfWarehouse(uint32_t w) const {
  int64_t sum = 0;
  for (uint32_t d = 1; d <= kDistrictsPerWarehouse; ++d) sum += OfDistrict(w, d);
  return sum;
}

absl::Status DistrictCheck::Run(uint32_t next_order) {
  customers_.assign(sizes_.customers + 1, {});
  LATCHKEY_RETURN_IF_ERROR(ReadCustomers());
  LATCHKEY_RETURN_IF_ERROR(ReadHistory());
  LATCHKEY_RETURN_IF_ERROR(CheckOrders());
  LATCHKEY_RETURN_IF_ERROR(ReadIndexes());
  CheckCounts(next_order);
  CheckCustomers();
  return absl::OkStatus();
}

absl::Status DistrictCheck::ScanDistrict(TableIndex table, Visitor visit) {
  return session_.Scan(table, DistrictKey(w_, d_), DistrictKey(w_, static_cast<uint8_t>(d_ + 1)),
                       /*reverse=*/false, visit);
}

absl::Status DistrictCheck::ScanOrders(TableIndex table, uint32_t from, uint32_t to,
                                       Visitor visit) {
  const TpccKey end =
      to == UINT32_MAX ? DistrictKey(w_, static_cast<uint8_t>(d_ + 1)) : OrderKey(w_, d_, to);
  return session_.Scan(table, OrderKey(w_, d_, from), end, /*reverse=*/false, visit);
}

template <typename Row>
const Row* DistrictCheck::RowOrViolation(std::string_view table, std::string_view value) {
  const auto* row = RowOf<Row>(value);
  if (row == nullptr) {
    violations_.Add(0, "warehouse {} district {}: a row of {} has {} bytes instead of {}", w_, d_,
                    table, value.size(), sizeof(Row));
  }
  return row;
}

absl::Status DistrictCheck::ReadCustomers() {
  return ScanDistrict(kCustomerTable, [this](std::string_view key, std::string_view value) {
    const auto* row = RowOrViolation<CustomerRow>("customer", value);
    const uint16_t c = CustomerOfKey(key);
    if (c < 1 || c >= customers_.size()) {
      violations_.Add(0, "warehouse {} district {}: customer {} of 1 to {}", w_, d_, c,
                      sizes_.customers);
    } else if (row != nullptr) {
      customers_[c].present = true;
      customers_[c].balance = row->balance;
      customers_[c].ytd_payment = row->ytd_payment;
    }
    return true;
  });
}

absl::Status DistrictCheck::ReadHistory() {
  return ScanDistrict(kHistoryTable, [this](std::string_view, std::string_view value) {
    const auto* row = RowOrViolation<HistoryRow>("history", value);
    if (row == nullptr) return true;
    const uint32_t c = row->customer, w = row->warehouse, d = row->district;
    if (c < 1 || c >= customers_.size() || !payments_.Add(w, d, row->amount)) {
      violations_.Add(0,
                      "warehouse {} district {}: a payment of customer {} at {}/{}: no such place",
                      w_, d_, c, w, d);
      return true;
    }
    customers_[c].paid += row->amount;
    return true;
  });
}

absl::Status DistrictCheck::ReadIndexes() {
  LATCHKEY_RETURN_IF_ERROR(
      ScanDistrict(kCustomerNameIndex, [this](std::string_view key, std::string_view) {
        const uint16_t c = CustomerOfNameKey(key);
        if (c >= 1 && c < customers_.size()) ++customers_[c].names;
        return true;
      }));
  return ScanDistrict(kCustomerOrderIndex, [this](std::string_view key, std::string_view) {
    const uint16_t c = CustomerOfKey(key);
    if (c >= 1 && c < customers_.size()) --customers_[c].orders;
    return true;
  });
}

absl::Status DistrictCheck::CheckOrders() {
  for (uint32_t from = 0, end = 0; end != UINT32_MAX; from = end) {
    LATCHKEY_RETURN_IF_ERROR(ReadChunk(from, &end));
    LATCHKEY_RETURN_IF_ERROR(MatchNewOrders(from, end));
    LATCHKEY_RETURN_IF_ERROR(MatchLines(from, end));
    CheckChunk();
  }
  return absl::OkStatus();
}

absl::Status DistrictCheck::ReadChunk(uint32_t from, uint32_t* end) {
  orders_.clear();
  LATCHKEY_RETURN_IF_ERROR(ScanOrders(kOrderTable, from, UINT32_MAX,
                                      [this](std::string_view key, std::string_view value) {
                                        const auto* row = RowOrViolation<OrderRow>("orders", value);
                                        if (row == nullptr) return true;
                                        orders_.push_back({.id = OrderOfKey(key),
                                                           .customer = row->customer,
                                                           .line_count = row->line_count,
                                                           .delivered = row->carrier != 0});
                                        return orders_.size() < kOrdersAtATime;
                                      }));
  *end = orders_.size() < kOrdersAtATime ? UINT32_MAX : orders_.back().id + 1;
  return absl::OkStatus();
}

DistrictCheck::Order* DistrictCheck::FindOrder(uint32_t id) {
  const auto at = std::lower_bound(orders_.begin(), orders_.end(), id,
                                   [](const Order& order, uint32_t key) { return order.id < key; });
  return at != orders_.end() && at->id == id ? &*at : nullptr;
}

absl::Status DistrictCheck::MatchNewOrders(uint32_t from, uint32_t to) {
  return ScanOrders(kNewOrderTable, from, to, [this](std::string_view key, std::string_view) {
    const uint32_t id = OrderOfKey(key);
    ++new_orders_;
    min_new_order_ = std::min(min_new_order_, id);
    max_new_order_ = std::max(max_new_order_, id);
    if (Order* order = FindOrder(id); order != nullptr) {
      order->undelivered_entry = true;
    } else {
      violations_.Add(5, "warehouse {} district {}: NEW-ORDER has order {}, ORDER has not", w_, d_,
                      id);
    }
    return true;
  });
}

absl::Status DistrictCheck::MatchLines(uint32_t from, uint32_t to) {
  return ScanOrders(kOrderLineTable, from, to,
                    [this](std::string_view key, std::string_view value) {
                      ++line_rows_;
                      const auto* line = RowOrViolation<OrderLineRow>("order_line", value);
                      if (line != nullptr)
                        AddLine(*line, OrderOfKey(key), FindOrder(OrderOfKey(key)));
                      return true;
                    });
}

void DistrictCheck::AddLine(const OrderLineRow& line, uint32_t order, Order* found) {
  const bool delivered = line.delivery_date != 0;
  if (found == nullptr) {
    violations_.Add(6, "warehouse {} district {}: ORDER-LINE has order {}, ORDER has not", w_, d_,
                    order);
    return;
  }
  ++found->lines;
  if (delivered != found->delivered) {
    violations_.Add(7,
                    "warehouse {} district {} order {}: a line's OL_DELIVERY_D is {}, O_CARRIER_ID "
                    "is {}",
                    w_, d_, order, delivered ? "set" : "null", found->delivered ? "set" : "null");
  }
  if (delivered && found->customer < customers_.size()) {
    customers_[found->customer].delivered += line.amount;
  }
}

void DistrictCheck::CheckChunk() {
  for (const Order& order : orders_) {
    ++order_rows_;
    line_counts_ += order.line_count;
    max_order_ = std::max(max_order_, order.id);
    if (order.customer < customers_.size()) ++customers_[order.customer].orders;
    if (order.delivered == order.undelivered_entry) {
      violations_.Add(5, "warehouse {} district {} order {}: O_CARRIER_ID is {}, NEW-ORDER has {}",
                      w_, d_, order.id, order.delivered ? "set" : "null",
                      order.undelivered_entry ? "a row" : "no row");
    }
    if (order.lines != order.line_count) {
      violations_.Add(6,
                      "warehouse {} district {} order {}: O_OL_CNT is {}, ORDER-LINE has {} rows",
                      w_, d_, order.id, order.line_count, order.lines);
    }
  }
}

void DistrictCheck::CheckCounts(uint32_t next_order) {
  if (next_order != max_order_ + 1) {
    violations_.Add(2, "warehouse {} district {}: D_NEXT_O_ID - 1 is {}, max(O_ID) is {}", w_, d_,
                    int64_t{next_order} - 1, max_order_);
  }
  if (new_orders_ > 0 && max_new_order_ != max_order_) {
    violations_.Add(2, "warehouse {} district {}: max(O_ID) is {}, max(NO_O_ID) is {}", w_, d_,
                    max_order_, max_new_order_);
  }
  if (new_orders_ > 0 && new_orders_ != uint64_t{max_new_order_} - min_new_order_ + 1) {
    violations_.Add(3, "warehouse {} district {}: NO_O_ID spans {} to {}, NEW-ORDER has {} rows",
                    w_, d_, min_new_order_, max_new_order_, new_orders_);
  }
  if (line_counts_ != line_rows_) {
    violations_.Add(4, "warehouse {} district {}: sum(O_OL_CNT) is {}, ORDER-LINE has {} rows", w_,
                    d_, line_counts_, line_rows_);
  }
  const uint64_t delivered = sizes_.orders - sizes_.undelivered_orders;
  if (after_load_ && order_rows_ - new_orders_ != delivered) {
    violations_.Add(11, "warehouse {} district {}: {} orders less {} new orders is not {}", w_, d_,
                    order_rows_, new_orders_, delivered);
  }
}

void DistrictCheck::CheckCustomers() {
  for (uint32_t c = 1; c < customers_.size(); ++c) {
    const Customer& customer = customers_[c];
    if (!customer.present) {
      violations_.Add(0, "warehouse {} district {}: customer {} is missing", w_, d_, c);
    }
    if (customer.balance != customer.delivered - customer.paid) {
      violations_.Add(10,
                      "warehouse {} district {} customer {}: C_BALANCE is {} cents, delivered "
                      "OL_AMOUNT {} less H_AMOUNT {}",
                      w_, d_, c, customer.balance, customer.delivered, customer.paid);
    }
    if (customer.balance + customer.ytd_payment != customer.delivered) {
      violations_.Add(
          12,
          "warehouse {} district {} customer {}: C_BALANCE {} + C_YTD_PAYMENT {} is not "
          "the delivered OL_AMOUNT {} (cents)",
          w_, d_, c, customer.balance, customer.ytd_payment, customer.delivered);
    }
    if (customer.names != 1 || customer.orders != 0) {
      violations_.Add(0,
                      "warehouse {} district {} customer {}: {} entries in customer_name (1 "
                      "expected), {} rows of ORDER without an entry in customer_order",
                      w_, d_, c, customer.names, customer.orders);
    }
  }
}

}  // namespace latchkey
