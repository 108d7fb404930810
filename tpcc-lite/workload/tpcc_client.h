// The five transactions over one session (clauses 2.4.2 to 2.8.2).
//
// Written for snapshot isolation. All of them keep two orders:
//  - Before its first lock a transaction announces the keys that it will read (Prefetch), except
//    WAREHOUSE and DISTRICT rows, which are always cached. So a hot row is not locked across device
//    reads. A payment by last name looks its customer up before it begins (PrefetchNamesake).
//  - Then it locks the hot rows that it changes, WAREHOUSE before DISTRICT. The first GetForUpdate
//    of a transaction takes the snapshot after it has the lock, so a queue at a hot row does not
//    end in aborts. Stock is updated in key order, so that New-Orders do not deadlock on it.
//
// Other rows that change are read by Get: the Put detects conflicts, and a separate lock would cost
// another descent.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/inputs.h"
#include "tpcc-lite/workload/keys.h"
#include "tpcc-lite/workload/rows.h"
#include "tpcc-lite/workload/tpcc_config.h"

namespace latchkey {

struct NewOrderOutput {
  bool rolled_back = false;  ///< an unused item: the transaction was rolled back
  uint32_t order = 0;
  int64_t total = 0;         ///< cents, taxes and discount applied
  uint32_t brand_lines = 0;  ///< lines with "ORIGINAL" in item and stock
};
struct PaymentOutput {
  uint16_t customer = 0;
  int64_t balance = 0;  ///< cents
};
struct OrderStatusOutput {
  uint16_t customer = 0;
  int64_t balance = 0;
  uint32_t order = 0;  ///< 0: the customer has none
  uint32_t lines = 0;
};
struct DeliveryOutput {
  uint32_t delivered = 0;  ///< districts that had an undelivered order, 0 to 10
};
struct StockLevelOutput {
  uint32_t low_stock = 0;  ///< distinct items below the threshold
};

/// One user's transactions. Each call is one attempt. OK: committed, or rolled back by the user.
/// Aborted: a conflict; run it again with the same input. DataLoss: a required row is missing or
/// has the wrong size. Any other error is the backend's. After every return no transaction is open.
/// Used by one actor; allocates nothing in the long run.
class TpccClient {
 public:
  struct Options {
    bool prefetch = true;
    uint16_t run = 1;   ///< from BeginTpccRun
    uint16_t user = 0;  ///< distinct among the users of the run
  };

  TpccClient(KvSession& session, const Options& options);

  /// Advances the logical clock. Call it before the first attempt of each transaction.
  void NextTransaction() { ++sequence_; }

  absl::Status NewOrder(const NewOrderInput& input, NewOrderOutput* output);
  absl::Status Payment(const PaymentInput& input, PaymentOutput* output);
  absl::Status OrderStatus(const OrderStatusInput& input, OrderStatusOutput* output);
  absl::Status Delivery(const DeliveryInput& input, DeliveryOutput* output);
  absl::Status StockLevel(const StockLevelInput& input, StockLevelOutput* output);

 private:
  static constexpr uint32_t kStockLevelOrders = 20;
  // The most keys announced at once are those of Stock-Level: 20 orders of 15 lines.
  static constexpr size_t kMaxPrefetch = kStockLevelOrders * kMaxOrderLines;

  /// One district's share of a Delivery.
  struct DistrictDelivery {
    uint8_t district;
    uint16_t customer;
    uint32_t order;
  };

  uint64_t Date() const { return (uint64_t{options_.run} << 32) + sequence_; }

  /// Commits or rolls back the transaction as `status` requires.
  absl::Status Finish(absl::Status status, bool roll_back = false);
  /// Reads a required row into `buffer`; `*row` points into it.
  template <typename Row>
  absl::Status Read(TableIndex table, std::string_view key, std::string* buffer, Row** row) {
    absl::Status status = session_.Get(table, key, buffer);
    return Found(std::move(status), table, buffer, row);
  }
  template <typename Row>
  absl::Status ReadForUpdate(TableIndex table, std::string_view key, std::string* buffer,
                             Row** row) {
    absl::Status status = session_.GetForUpdate(table, key, buffer);
    return Found(std::move(status), table, buffer, row);
  }
  template <typename Row>
  absl::Status Found(absl::Status status, TableIndex table, std::string* buffer, Row** row) {
    if (!status.ok()) [[unlikely]]
      return MissingRow(std::move(status), table);
    *row = MutableRowOf<Row>(buffer);
    if (*row == nullptr) [[unlikely]]
      return WrongSize(table, buffer->size(), sizeof(Row));
    return absl::OkStatus();
  }
  static absl::Status MissingRow(absl::Status status, TableIndex table);
  static absl::Status DamagedOrderLines();
  static absl::Status WrongSize(TableIndex table, size_t size, size_t expected);

  void Announce(TableIndex table, const TpccKey& key);
  void Prefetch();

  /// The chosen customer: by number, or, of those with that last name, the middle one (rounded up)
  /// by first name.
  absl::Status ResolveCustomer(uint16_t w, uint8_t d, const CustomerChoice& choice, uint16_t* c);
  void AnnounceCustomer(uint16_t w, uint8_t d, const CustomerChoice& choice);

  absl::Status NewOrderBody(const NewOrderInput& input, NewOrderOutput* output);
  /// Indexes of an order's lines.
  using LineOrder = std::array<uint8_t, kMaxOrderLines>;
  void PrefetchNewOrder(const NewOrderInput& input, const LineOrder& lines);
  absl::Status TakeOrderNumber(const NewOrderInput& input, uint32_t* order, uint32_t* tax);
  absl::Status OrderLines(const NewOrderInput& input, const LineOrder& lines,
                          NewOrderOutput* output, int64_t* sum);
  absl::Status OrderOneLine(const NewOrderInput& input, uint32_t index, NewOrderOutput* output,
                            int64_t* sum);
  absl::Status InsertOrder(const NewOrderInput& input, uint32_t order);

  absl::Status PaymentBody(const PaymentInput& input, PaymentOutput* output);
  /// Brings the page of a customer chosen by name into the cache, in a transaction of its own.
  absl::Status PrefetchNamesake(const PaymentInput& input);
  absl::Status PayCustomer(const PaymentInput& input, uint16_t c, PaymentOutput* output);
  absl::Status InsertHistory(const PaymentInput& input, uint16_t c);

  absl::Status OrderStatusBody(const OrderStatusInput& input, OrderStatusOutput* output);

  absl::Status DeliveryBody(const DeliveryInput& input, DeliveryOutput* output);
  absl::Status FindOldestOrders(uint16_t w);
  absl::Status DeliverOrder(const DeliveryInput& input, DistrictDelivery* delivery);
  absl::Status DeliverLines(uint16_t w, const DistrictDelivery& delivery, int64_t* sum);
  absl::Status CreditCustomer(uint16_t w, const DistrictDelivery& delivery, int64_t sum);

  absl::Status StockLevelBody(const StockLevelInput& input, StockLevelOutput* output);
  absl::Status CollectRecentItems(const StockLevelInput& input, uint32_t next_order);

  KvSession& session_;
  const Options options_;
  uint32_t sequence_ = 0;

  // Reused buffers. Rows point into them, so each table in a transaction has its own.
  std::string warehouse_, district_, customer_, order_, item_, stock_;
  std::vector<uint16_t> namesakes_;
  std::array<OrderLineRow, kMaxOrderLines> lines_;
  std::array<uint8_t, kMaxOrderLines> line_numbers_;
  std::array<DistrictDelivery, kDistrictsPerWarehouse> deliveries_;
  uint32_t delivery_count_ = 0;
  std::array<uint32_t, kMaxPrefetch> items_;
  uint32_t item_count_ = 0;
  std::array<TpccKey, kMaxPrefetch> prefetch_bytes_;
  std::array<TableKey, kMaxPrefetch> prefetch_;
  uint32_t prefetch_count_ = 0;
};

}  // namespace latchkey
