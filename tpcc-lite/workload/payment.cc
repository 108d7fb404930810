// Payment (clause 2.5.2).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/tpcc_client.h"

namespace latchkey {
namespace {

// Customers with bad credit carry a record of their payments, the newest first (clause 2.5.2.2).
void RecordPayment(const PaymentInput& input, uint16_t c, Text<500>* data) {
  char note[64];
  const auto end =
      fmt::format_to_n(note, sizeof(note), "{} {} {} {} {} {}|", c, input.customer_district,
                       input.customer_warehouse, input.district, input.warehouse, input.amount);
  const size_t size = std::min(end.size, sizeof(note));
  std::memmove(data->bytes + size, data->bytes, sizeof(data->bytes) - size);
  std::memcpy(data->bytes, note, size);
}

}  // namespace

absl::Status TpccClient::Payment(const PaymentInput& input, PaymentOutput* output) {
  *output = {};
  LATCHKEY_RETURN_IF_ERROR(PrefetchNamesake(input));
  LATCHKEY_RETURN_IF_ERROR(session_.Begin());
  return Finish(PaymentBody(input, output));
}

// Without it a customer chosen by name is read while the other payments of the warehouse wait for the
// lock of its row. The lookup is a hint: the payment looks again. It is a transaction of its own
// because a payment must not read before it has that lock: it would be aborted if the row changed
// after its snapshot.
absl::Status TpccClient::PrefetchNamesake(const PaymentInput& input) {
  if (!input.customer.by_name || !options_.prefetch || !session_.lookups_pay()) {
    return absl::OkStatus();
  }
  const uint16_t w = input.customer_warehouse;
  const uint8_t d = input.customer_district;
  LATCHKEY_RETURN_IF_ERROR(session_.Begin());
  AnnounceCustomer(w, d, input.customer);
  Prefetch();
  uint16_t c = 0;
  absl::Status status = ResolveCustomer(w, d, input.customer, &c);
  if (status.ok()) {
    Announce(kCustomerTable, CustomerKey(w, d, c));
    Prefetch();
  }
  const absl::Status ended = Finish(std::move(status));
  return absl::IsAborted(ended) ? absl::OkStatus() : ended;
}

absl::Status TpccClient::PaymentBody(const PaymentInput& input, PaymentOutput* output) {
  AnnounceCustomer(input.customer_warehouse, input.customer_district, input.customer);
  Prefetch();

  const TpccKey warehouse_key = WarehouseKey(input.warehouse);
  WarehouseRow* warehouse;
  LATCHKEY_RETURN_IF_ERROR(ReadForUpdate(kWarehouseTable, warehouse_key, &warehouse_, &warehouse));
  warehouse->ytd += input.amount;
  LATCHKEY_RETURN_IF_ERROR(session_.Put(kWarehouseTable, warehouse_key, warehouse_));

  const TpccKey district_key = DistrictKey(input.warehouse, input.district);
  DistrictRow* district;
  LATCHKEY_RETURN_IF_ERROR(ReadForUpdate(kDistrictTable, district_key, &district_, &district));
  district->ytd += input.amount;
  LATCHKEY_RETURN_IF_ERROR(session_.Put(kDistrictTable, district_key, district_));

  LATCHKEY_RETURN_IF_ERROR(ResolveCustomer(input.customer_warehouse, input.customer_district,
                                           input.customer, &output->customer));
  LATCHKEY_RETURN_IF_ERROR(PayCustomer(input, output->customer, output));
  return InsertHistory(input, output->customer);
}

absl::Status TpccClient::PayCustomer(const PaymentInput& input, uint16_t c, PaymentOutput* output) {
  const TpccKey key = CustomerKey(input.customer_warehouse, input.customer_district, c);
  CustomerRow* customer;
  LATCHKEY_RETURN_IF_ERROR(Read(kCustomerTable, key, &customer_, &customer));
  customer->balance -= input.amount;
  customer->ytd_payment += input.amount;
  customer->payment_count += 1;
  if (customer->credit.view() == "BC") RecordPayment(input, c, &customer->data);
  output->balance = customer->balance;
  return session_.Put(kCustomerTable, key, customer_);
}

absl::Status TpccClient::InsertHistory(const PaymentInput& input, uint16_t c) {
  HistoryRow row;
  row.customer = c;
  row.warehouse = input.warehouse;
  row.district = input.district;
  row.date = Date();
  row.amount = input.amount;
  const std::string_view w_name = RowOf<WarehouseRow>(warehouse_)->name.view();
  const std::string_view d_name = RowOf<DistrictRow>(district_)->name.view();
  char data[24];
  const auto end = fmt::format_to_n(data, sizeof(data), "{}    {}", w_name, d_name);
  row.data.Assign({data, std::min(end.size, sizeof(data))});
  const TpccKey key = HistoryKey(input.customer_warehouse, input.customer_district, options_.run,
                                 sequence_, options_.user);
  return session_.Insert(kHistoryTable, key, BytesOf(row));
}

}  // namespace latchkey
