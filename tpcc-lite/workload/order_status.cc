// Order-Status (clause 2.6.2): read only.
#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/tpcc_client.h"

namespace latchkey {

absl::Status TpccClient::OrderStatus(const OrderStatusInput& input, OrderStatusOutput* output) {
  *output = {};
  LATCHKEY_RETURN_IF_ERROR(session_.Begin());
  return Finish(OrderStatusBody(input, output));
}

absl::Status TpccClient::OrderStatusBody(const OrderStatusInput& input, OrderStatusOutput* output) {
  const uint16_t w = input.warehouse;
  const uint8_t d = input.district;
  LATCHKEY_RETURN_IF_ERROR(ResolveCustomer(w, d, input.customer, &output->customer));
  const TpccKey customer_key = CustomerKey(w, d, output->customer);
  Announce(kCustomerTable, customer_key);
  Announce(kCustomerOrderIndex, customer_key);
  Prefetch();

  CustomerRow* customer;
  LATCHKEY_RETURN_IF_ERROR(Read(kCustomerTable, customer_key, &customer_, &customer));
  output->balance = customer->balance;
  const TpccKey next_customer = CustomerKey(w, d, static_cast<uint16_t>(output->customer + 1));
  LATCHKEY_RETURN_IF_ERROR(session_.Scan(kCustomerOrderIndex, customer_key, next_customer,
                                         /*reverse=*/false,
                                         [output](std::string_view key, std::string_view) {
                                           output->order = OrderOfCustomerOrderKey(key);
                                           return false;  // the newest is the first
                                         }));
  if (output->order == 0) return absl::OkStatus();

  const TpccKey order_key = OrderKey(w, d, output->order);
  Announce(kOrderTable, order_key);
  Announce(kOrderLineTable, order_key);
  Prefetch();
  OrderRow* order;
  LATCHKEY_RETURN_IF_ERROR(Read(kOrderTable, order_key, &order_, &order));
  return session_.Scan(kOrderLineTable, order_key, OrderKey(w, d, output->order + 1),
                       /*reverse=*/false, [output](std::string_view, std::string_view) {
                         ++output->lines;
                         return true;
                       });
}

}  // namespace latchkey
