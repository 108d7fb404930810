#include "tpcc-lite/workload/consistency.h"

#include <array>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/district_check.h"
#include "tpcc-lite/workload/in_transaction.h"
#include "tpcc-lite/workload/keys.h"
#include "tpcc-lite/workload/rows.h"
#include "tpcc-lite/workload/violations.h"

namespace latchkey {
namespace {

// The whole check: district by district, then the conditions that need all histories.
class DatabaseCheck {
 public:
  DatabaseCheck(KvSession& session, const TpccScale& sizes, bool after_load)
      : session_(session),
        sizes_(sizes),
        after_load_(after_load),
        payments_(sizes.warehouses),
        warehouse_ytd_(sizes.warehouses + 1),
        district_ytd_(size_t{sizes.warehouses} * kDistrictsPerWarehouse) {}

  absl::Status Run() {
    for (uint32_t w = 1; w <= sizes_.warehouses; ++w) {
      LATCHKEY_RETURN_IF_ERROR(CheckWarehouse(static_cast<uint16_t>(w)));
    }
    for (uint32_t w = 1; w <= sizes_.warehouses; ++w) CompareYearToDate(w);
    LATCHKEY_RETURN_IF_ERROR(
        CheckRowCount(kItemTable, "item", ItemKey(0), ItemKey(UINT32_MAX), sizes_.items));
    return absl::OkStatus();
  }

  ConsistencyReport Take() { return violations_.Take(after_load_); }

 private:
  absl::Status CheckWarehouse(uint16_t w) {
    int64_t ytd = 0;
    LATCHKEY_RETURN_IF_ERROR(ReadRow<WarehouseRow>(
        kWarehouseTable, WarehouseKey(w), [&ytd](const WarehouseRow& row) { ytd = row.ytd; }));
    warehouse_ytd_[w] = ytd;
    for (uint8_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
      uint32_t next_order = 0;
      int64_t& district_ytd = district_ytd_[DistrictIndex(w, d)];
      LATCHKEY_RETURN_IF_ERROR(ReadRow<DistrictRow>(
          kDistrictTable, DistrictKey(w, d), [&next_order, &district_ytd](const DistrictRow& row) {
            next_order = row.next_o_id;
            district_ytd = row.ytd;
          }));
      DistrictCheck check(session_, sizes_, after_load_, w, d, &payments_, &violations_);
      LATCHKEY_RETURN_IF_ERROR(check.Run(next_order));
    }
    return CheckRowCount(kStockTable, "stock", WarehouseKey(w),
                         WarehouseKey(static_cast<uint16_t>(w + 1)), sizes_.items);
  }

  static size_t DistrictIndex(uint32_t w, uint32_t d) {
    return size_t{w - 1} * kDistrictsPerWarehouse + (d - 1);
  }

  template <typename Row, typename Use>
  absl::Status ReadRow(TableIndex table, const TpccKey& key, const Use& use) {
    const absl::Status status = session_.Get(table, key, &value_);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
    const Row* row = status.ok() ? RowOf<Row>(value_) : nullptr;
    if (row == nullptr) {
      violations_.Add(0, "a row of {} is missing or has the wrong size",
                      table == kWarehouseTable ? "warehouse" : "district");
    } else {
      use(*row);
    }
    return absl::OkStatus();
  }

  absl::Status CheckRowCount(TableIndex table, std::string_view name, std::string_view from,
                             std::string_view to, uint64_t expected) {
    uint64_t rows = 0;
    LATCHKEY_RETURN_IF_ERROR(session_.Scan(table, from, to, /*reverse=*/false,
                                           [&rows](std::string_view, std::string_view) {
                                             ++rows;
                                             return true;
                                           }));
    if (rows != expected) violations_.Add(0, "{} has {} rows instead of {}", name, rows, expected);
    return absl::OkStatus();
  }

  void CompareYearToDate(uint32_t w) {
    int64_t districts = 0;
    for (uint32_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
      const int64_t ytd = district_ytd_[DistrictIndex(w, d)];
      districts += ytd;
      if (ytd != payments_.OfDistrict(w, d)) {
        violations_.Add(9, "warehouse {} district {}: D_YTD is {} cents, sum(H_AMOUNT) is {}", w, d,
                        ytd, payments_.OfDistrict(w, d));
      }
    }
    if (warehouse_ytd_[w] != districts) {
      violations_.Add(1, "warehouse {}: W_YTD is {} cents, sum(D_YTD) is {}", w, warehouse_ytd_[w],
                      districts);
    }
    if (warehouse_ytd_[w] != payments_.OfWarehouse(w)) {
      violations_.Add(8, "warehouse {}: W_YTD is {} cents, sum(H_AMOUNT) is {}", w,
                      warehouse_ytd_[w], payments_.OfWarehouse(w));
    }
  }

  KvSession& session_;
  const TpccScale sizes_;
  const bool after_load_;
  Violations violations_;
  PaymentSums payments_;
  std::vector<int64_t> warehouse_ytd_;  // by W_ID; 0 is unused
  std::vector<int64_t> district_ytd_;
  std::string value_;
};

}  // namespace

absl::StatusOr<ConsistencyReport> CheckConsistency(KvBackend& backend, const TpccConfig& config,
                                                   bool after_load) {
  LATCHKEY_RETURN_IF_ERROR(config.Validate());
  LATCHKEY_ASSIGN_OR_RETURN(auto session, backend.NewSession());
  ConsistencyReport report;
  const auto check = [&] {
    DatabaseCheck attempt(*session, config.Sizes(), after_load);
    absl::Status status = attempt.Run();
    report = attempt.Take();
    return status;
  };
  LATCHKEY_RETURN_IF_ERROR(InTransaction(*session, check));
  return report;
}

std::string_view DescribeCondition(int number) {
  static constexpr std::array<std::string_view, 13> kDescriptions = {
      "row counts, row sizes and the indexes customer_name and customer_order",
      "W_YTD = sum(D_YTD)",
      "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
      "max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER",
      "sum(O_OL_CNT) = rows of ORDER-LINE",
      "O_CARRIER_ID is null if and only if NEW-ORDER has the order",
      "O_OL_CNT = the order's rows of ORDER-LINE",
      "OL_DELIVERY_D is null if and only if O_CARRIER_ID is null",
      "W_YTD = sum(H_AMOUNT)",
      "D_YTD = sum(H_AMOUNT)",
      "C_BALANCE = sum(delivered OL_AMOUNT) - sum(H_AMOUNT)",
      "rows of ORDER - rows of NEW-ORDER = orders delivered by the load",
      "C_BALANCE + C_YTD_PAYMENT = sum(delivered OL_AMOUNT)"};
  LATCHKEY_CHECK(number >= 0 && number < static_cast<int>(kDescriptions.size()));
  return kDescriptions[static_cast<size_t>(number)];
}

}  // namespace latchkey
