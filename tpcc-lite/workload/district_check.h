// One district's share of the consistency check: conditions 2 to 7 and 10 to 12, and the indexes.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>
#include <vector>

#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/rows.h"
#include "tpcc-lite/workload/tpcc_config.h"
#include "tpcc-lite/workload/violations.h"

namespace latchkey {

/// Sums up H_AMOUNT by the place of payment, over the histories of all districts.
class PaymentSums {
 public:
  explicit PaymentSums(uint32_t warehouses)
      : warehouses_(warehouses), sums_(size_t{warehouses} * kDistrictsPerWarehouse) {}

  /// False: no such district.
  bool Add(uint32_t w, uint32_t d, int64_t amount);
  int64_t OfDistrict(uint32_t w, uint32_t d) const { return sums_[IndexOf(w, d)]; }
  int64_t OfWarehouse(uint32_t w) const;

 private:
  static size_t IndexOf(uint32_t w, uint32_t d) {
    return size_t{w - 1} * kDistrictsPerWarehouse + (d - 1);
  }
  uint32_t warehouses_;
  std::vector<int64_t> sums_;
};

/// Checks one district within the session's open transaction. Memory: the district's customers and
/// a few thousand orders at a time.
class DistrictCheck {
 public:
  DistrictCheck(KvSession& session, const TpccScale& sizes, bool after_load, uint16_t w, uint8_t d,
                PaymentSums* payments, Violations* violations)
      : session_(session),
        sizes_(sizes),
        after_load_(after_load),
        w_(w),
        d_(d),
        payments_(*payments),
        violations_(*violations) {}

  /// `next_order`: D_NEXT_O_ID of the district. An error is one of the backend.
  absl::Status Run(uint32_t next_order);

 private:
  static constexpr uint32_t kOrdersAtATime = 4096;

  struct Customer {
    bool present = false;
    int64_t balance = 0, ytd_payment = 0;
    int64_t paid = 0;       // sum of H_AMOUNT
    int64_t delivered = 0;  // sum of OL_AMOUNT of delivered lines
    uint32_t names = 0;     // entries of customer_name
    int64_t orders = 0;     // rows of ORDER minus entries of customer_order
  };
  struct Order {
    uint32_t id = 0;
    uint16_t customer = 0;
    uint8_t line_count = 0;
    bool delivered = false;
    bool undelivered_entry = false;  // has a row in NEW-ORDER
    uint32_t lines = 0;              // rows in ORDER-LINE
  };
  using Visitor = absl::FunctionRef<bool(std::string_view key, std::string_view value)>;

  /// Rows of this district in `table`: all, or those of orders [from, to).
  absl::Status ScanDistrict(TableIndex table, Visitor visit);
  absl::Status ScanOrders(TableIndex table, uint32_t from, uint32_t to, Visitor visit);
  template <typename Row>
  const Row* RowOrViolation(std::string_view table, std::string_view value);

  absl::Status ReadCustomers();
  absl::Status ReadHistory();
  absl::Status ReadIndexes();
  absl::Status CheckOrders();
  /// Reads the orders of one chunk; `*end` is one past the last, UINT32_MAX after the last chunk.
  absl::Status ReadChunk(uint32_t from, uint32_t* end);
  absl::Status MatchNewOrders(uint32_t from, uint32_t to);
  absl::Status MatchLines(uint32_t from, uint32_t to);
  void AddLine(const OrderLineRow& line, uint32_t order, Order* found);
  void CheckChunk();
  Order* FindOrder(uint32_t id);
  void CheckCounts(uint32_t next_order);
  void CheckCustomers();

  KvSession& session_;
  const TpccScale& sizes_;
  const bool after_load_;
  const uint16_t w_;
  const uint8_t d_;
  PaymentSums& payments_;
  Violations& violations_;

  std::vector<Customer> customers_;  // by C_ID; 0 is unused
  std::vector<Order> orders_;        // of the chunk, by O_ID
  uint64_t order_rows_ = 0, line_rows_ = 0, line_counts_ = 0;
  uint32_t max_order_ = 0;
  uint64_t new_orders_ = 0;
  uint32_t min_new_order_ = UINT32_MAX, max_new_order_ = 0;
};

}  // namespace latchkey
