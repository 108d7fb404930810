#include "tpcc-lite/workload/inputs.h"

#include <utility>

#include "storage/base/hash.h"

namespace latchkey {

TransactionDeck::TransactionDeck() {
  size_t at = 0;
  for (size_t type = 0; type < kTpccTransactions; ++type) {
    for (uint32_t i = 0; i < kPercent[type]; ++i) {
      cards_[at++] = static_cast<TpccTransaction>(type);
    }
  }
}

TpccTransaction TransactionDeck::Next(Rng& rng) {
  if (next_ == kCards) {
    for (size_t i = kCards; i > 1; --i) std::swap(cards_[i - 1], cards_[rng.Below(i)]);
    next_ = 0;
  }
  return cards_[next_++];
}

InputGenerator::InputGenerator(const TpccScale& sizes, const TpccDistributions& distributions,
                               uint64_t seed, uint32_t user, uint16_t home)
    : sizes_(sizes), distributions_(distributions), rng_(MixHash(seed) + user), home_(home) {}

uint16_t InputGenerator::Warehouse() {
  return home_ != 0 ? home_ : static_cast<uint16_t>(rng_.Between(1, sizes_.warehouses));
}

uint16_t InputGenerator::OtherWarehouse(uint16_t than) {
  const auto drawn = static_cast<uint16_t>(rng_.Between(1, sizes_.warehouses - 1));
  return drawn < than ? drawn : static_cast<uint16_t>(drawn + 1);
}

CustomerChoice InputGenerator::Customer() {
  CustomerChoice choice{};
  choice.by_name = Percent(60);
  if (choice.by_name) {
    choice.last_name = static_cast<uint16_t>(distributions_.last_name.Draw(rng_));
  } else {
    choice.customer = static_cast<uint16_t>(distributions_.customer.Draw(rng_));
  }
  return choice;
}

NewOrderInput InputGenerator::NewOrder() {
  NewOrderInput input;
  input.warehouse = Warehouse();
  input.district = District();
  input.customer = static_cast<uint16_t>(distributions_.customer.Draw(rng_));
  input.line_count = static_cast<uint8_t>(rng_.Between(5, kMaxOrderLines));
  input.all_local = true;
  for (uint32_t i = 0; i < input.line_count; ++i) {
    NewOrderInput::Line& line = input.lines[i];
    line.item = distributions_.item.Draw(rng_);
    line.supply_warehouse = input.warehouse;
    if (sizes_.warehouses > 1 && Percent(1)) {
      line.supply_warehouse = OtherWarehouse(input.warehouse);
      input.all_local = false;
    }
    line.quantity = static_cast<uint8_t>(rng_.Between(1, 10));
  }
  if (Percent(1)) input.lines[input.line_count - 1].item = sizes_.items + 1;
  return input;
}

PaymentInput InputGenerator::Payment() {
  PaymentInput input;
  input.warehouse = Warehouse();
  input.district = District();
  input.customer_warehouse = input.warehouse;
  input.customer_district = input.district;
  if (sizes_.warehouses > 1 && Percent(15)) {
    input.customer_warehouse = OtherWarehouse(input.warehouse);
    input.customer_district = District();
  }
  input.customer = Customer();
  input.amount = static_cast<int32_t>(rng_.Between(1'00, 5000'00));
  return input;
}

OrderStatusInput InputGenerator::OrderStatus() {
  OrderStatusInput input;
  input.warehouse = Warehouse();
  input.district = District();
  input.customer = Customer();
  return input;
}

DeliveryInput InputGenerator::Delivery() {
  DeliveryInput input;
  input.warehouse = Warehouse();
  input.carrier = static_cast<uint8_t>(rng_.Between(1, 10));
  return input;
}

StockLevelInput InputGenerator::StockLevel() {
  StockLevelInput input;
  input.warehouse = Warehouse();
  input.district = District();
  input.threshold = static_cast<int16_t>(rng_.Between(10, 20));
  return input;
}

}  // namespace latchkey
