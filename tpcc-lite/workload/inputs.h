// The input that a terminal user would type: the mix (clause 5.2.3) and the input of each
// transaction (2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1). Drawn once per transaction, so a retry has the
// same input.
#pragma once

#include <array>
#include <cstdint>

#include "storage/base/rng.h"
#include "tpcc-lite/workload/random_inputs.h"
#include "tpcc-lite/workload/tpcc_config.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

struct NewOrderInput {
  struct Line {
    uint32_t item;
    uint16_t supply_warehouse;
    uint8_t quantity;
  };
  uint16_t warehouse;
  uint8_t district;
  uint16_t customer;
  uint8_t line_count;  ///< 5 to 15
  bool all_local;
  Line lines[kMaxOrderLines];  ///< 1 % end in an item that does not exist: items + 1
};

/// By number (40 %) or, when `by_name`, by last name (60 %).
struct CustomerChoice {
  bool by_name;
  uint16_t customer;   ///< when not by_name
  uint16_t last_name;  ///< number of the LastName, when by_name
};

struct PaymentInput {
  uint16_t warehouse;
  uint8_t district;
  uint16_t customer_warehouse;  ///< 15 % remote
  uint8_t customer_district;
  CustomerChoice customer;
  int32_t amount;  ///< cents
};

struct OrderStatusInput {
  uint16_t warehouse;
  uint8_t district;
  CustomerChoice customer;
};

struct DeliveryInput {
  uint16_t warehouse;
  uint8_t carrier;  ///< 1 to 10
};

struct StockLevelInput {
  uint16_t warehouse;
  uint8_t district;
  int16_t threshold;  ///< 10 to 20
};

/// The mix 45/43/4/4/4 as a deck of 100 cards, which is shuffled again when it is used up (clause
/// 5.2.4.2). So the proportions are exact after every 100 transactions of a user.
class TransactionDeck {
 public:
  static constexpr std::array<uint8_t, kTpccTransactions> kPercent = {45, 43, 4, 4, 4};

  TransactionDeck();
  TpccTransaction Next(Rng& rng);

 private:
  static constexpr uint32_t kCards = 100;
  std::array<TpccTransaction, kCards> cards_;
  uint32_t next_ = kCards;
};

/// The inputs of one user: the same seed and user give the same sequence. Used by one actor.
class InputGenerator {
 public:
  /// `home`: the user's warehouse for every transaction; 0 = draw one for each.
  InputGenerator(const TpccScale& sizes, const TpccDistributions& distributions, uint64_t seed,
                 uint32_t user, uint16_t home);

  TpccTransaction NextType() { return deck_.Next(rng_); }
  NewOrderInput NewOrder();
  PaymentInput Payment();
  OrderStatusInput OrderStatus();
  DeliveryInput Delivery();
  StockLevelInput StockLevel();

 private:
  uint16_t Warehouse();
  uint16_t OtherWarehouse(uint16_t than);
  uint8_t District() { return static_cast<uint8_t>(rng_.Between(1, kDistrictsPerWarehouse)); }
  CustomerChoice Customer();
  bool Percent(uint32_t chance) { return rng_.Below(100) < chance; }

  TpccScale sizes_;
  TpccDistributions distributions_;
  Rng rng_;
  uint16_t home_;
  TransactionDeck deck_;
};

}  // namespace latchkey
