// Delivery (clause 2.7.4): the oldest undelivered order of each district, all in one transaction.
// Each step runs over all districts, so that its reads are announced together.
#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/tpcc_client.h"

namespace latchkey {

absl::Status TpccClient::Delivery(const DeliveryInput& input, DeliveryOutput* output) {
  *output = {};
  LATCHKEY_RETURN_IF_ERROR(session_.Begin());
  return Finish(DeliveryBody(input, output));
}

absl::Status TpccClient::DeliveryBody(const DeliveryInput& input, DeliveryOutput* output) {
  const uint16_t w = input.warehouse;
  LATCHKEY_RETURN_IF_ERROR(FindOldestOrders(w));
  for (uint32_t i = 0; i < delivery_count_; ++i) {
    const TpccKey order_key = OrderKey(w, deliveries_[i].district, deliveries_[i].order);
    Announce(kOrderTable, order_key);
    Announce(kOrderLineTable, order_key);
    Announce(kOrderLineTable,
             OrderLineKey(w, deliveries_[i].district, deliveries_[i].order, kMaxOrderLines));
  }
  Prefetch();
  for (uint32_t i = 0; i < delivery_count_; ++i) {
    LATCHKEY_RETURN_IF_ERROR(DeliverOrder(input, &deliveries_[i]));
    Announce(kCustomerTable, CustomerKey(w, deliveries_[i].district, deliveries_[i].customer));
  }
  Prefetch();
  for (uint32_t i = 0; i < delivery_count_; ++i) {
    int64_t sum = 0;
    LATCHKEY_RETURN_IF_ERROR(DeliverLines(w, deliveries_[i], &sum));
    LATCHKEY_RETURN_IF_ERROR(CreditCustomer(w, deliveries_[i], sum));
  }
  output->delivered = delivery_count_;
  return absl::OkStatus();
}

absl::Status TpccClient::FindOldestOrders(uint16_t w) {
  delivery_count_ = 0;
  for (uint8_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
    LATCHKEY_RETURN_IF_ERROR(session_.Scan(
        kNewOrderTable, DistrictKey(w, d), DistrictKey(w, static_cast<uint8_t>(d + 1)),
        /*reverse=*/false, [this, d](std::string_view key, std::string_view) {
          TpccKeyReader columns(key);
          columns.U16();
          columns.U8();
          deliveries_[delivery_count_++] = {.district = d, .customer = 0, .order = columns.U32()};
          return false;
        }));
  }
  return absl::OkStatus();
}

absl::Status TpccClient::DeliverOrder(const DeliveryInput& input, DistrictDelivery* delivery) {
  const uint16_t w = input.warehouse;
  // Deleted first: if two Deliveries take the same order, the second fails before it has done its
  // work.
  LATCHKEY_RETURN_IF_ERROR(
      session_.Delete(kNewOrderTable, NewOrderKey(w, delivery->district, delivery->order)));
  const TpccKey key = OrderKey(w, delivery->district, delivery->order);
  OrderRow* order;
  LATCHKEY_RETURN_IF_ERROR(Read(kOrderTable, key, &order_, &order));
  delivery->customer = order->customer;
  order->carrier = input.carrier;
  return session_.Put(kOrderTable, key, order_);
}

absl::Status TpccClient::DeliverLines(uint16_t w, const DistrictDelivery& delivery, int64_t* sum) {
  uint32_t count = 0;
  bool intact = true;
  const uint8_t d = delivery.district;
  LATCHKEY_RETURN_IF_ERROR(session_.Scan(
      kOrderLineTable, OrderKey(w, d, delivery.order), OrderKey(w, d, delivery.order + 1),
      /*reverse=*/false, [this, &count, &intact](std::string_view key, std::string_view value) {
        const auto* row = RowOf<OrderLineRow>(value);
        intact = row != nullptr && count < kMaxOrderLines;
        if (!intact) return false;
        lines_[count] = *row;
        line_numbers_[count] = static_cast<uint8_t>(key.back());
        ++count;
        return true;
      }));
  if (!intact) return DamagedOrderLines();
  for (uint32_t i = 0; i < count; ++i) {
    lines_[i].delivery_date = Date();
    *sum += lines_[i].amount;
    LATCHKEY_RETURN_IF_ERROR(session_.Put(
        kOrderLineTable, OrderLineKey(w, d, delivery.order, line_numbers_[i]), BytesOf(lines_[i])));
  }
  return absl::OkStatus();
}

absl::Status TpccClient::CreditCustomer(uint16_t w, const DistrictDelivery& delivery, int64_t sum) {
  const TpccKey key = CustomerKey(w, delivery.district, delivery.customer);
  CustomerRow* customer;
  LATCHKEY_RETURN_IF_ERROR(Read(kCustomerTable, key, &customer_, &customer));
  customer->balance += sum;
  customer->delivery_count += 1;
  return session_.Put(kCustomerTable, key, customer_);
}

}  // namespace latchkey
