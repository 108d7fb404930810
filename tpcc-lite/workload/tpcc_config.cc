#include "tpcc-lite/workload/tpcc_config.h"

#include <algorithm>
#include <cmath>

#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/rows.h"

namespace latchkey {
namespace {

constexpr double kMinScale = 0.001;

uint32_t Scaled(uint32_t full, double scale) {
  return std::max<uint32_t>(1, static_cast<uint32_t>(std::lround(full * scale)));
}

}  // namespace

TpccScale TpccScale::Of(uint32_t warehouses, double scale) {
  const TpccScale full;
  TpccScale sizes;
  sizes.warehouses = warehouses;
  sizes.items = Scaled(full.items, scale);
  sizes.customers = Scaled(full.customers, scale);
  sizes.orders = sizes.customers;
  sizes.undelivered_orders = sizes.orders * 3 / 10;
  sizes.last_names = std::max<uint32_t>(1, sizes.customers / 3);
  return sizes;
}

absl::Status TpccConfig::Validate() const {
  if (warehouses < 1 || warehouses > kMaxWarehouses) {
    return InvalidArgument("warehouses = {}: give 1 to {}", warehouses, kMaxWarehouses);
  }
  if (!(scale >= kMinScale && scale <= 1)) {
    return InvalidArgument(
        "scale = {}: give {} to 1 (1 = the standard's cardinalities; add warehouses for more data)",
        scale, kMinScale);
  }
  if (users < 1 || users > kMaxTpccUsers) {
    return InvalidArgument("users = {}: give 1 to {}", users, kMaxTpccUsers);
  }
  if (transactions == 0 && duration == 0) {
    return InvalidArgument("neither a duration nor a number of transactions: give one of them");
  }
  return absl::OkStatus();
}

uint64_t EstimateTpccDataBytes(const TpccScale& sizes) {
  constexpr uint64_t kLinesPerOrder = 10;
  constexpr uint64_t kNameIndexKey = 29;  // an average name of each kind
  const uint64_t per_customer = sizeof(CustomerRow) + 5 + sizeof(HistoryRow) + 11 + kNameIndexKey;
  const uint64_t per_order = sizeof(OrderRow) + 7 + 9 + kLinesPerOrder * (sizeof(OrderLineRow) + 8);
  const uint64_t per_district = sizes.customers * per_customer + sizes.orders * per_order +
                                sizes.undelivered_orders * uint64_t{7} + sizeof(DistrictRow) + 3;
  const uint64_t per_warehouse = kDistrictsPerWarehouse * per_district +
                                 sizes.items * (sizeof(StockRow) + 6) + sizeof(WarehouseRow) + 2;
  return sizes.warehouses * per_warehouse + sizes.items * (sizeof(ItemRow) + 4);
}

}  // namespace latchkey
