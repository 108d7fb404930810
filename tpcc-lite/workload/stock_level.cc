// Stock-Level (clause 2.8.2): read only.
#include <algorithm>

#include "storage/base/status_macros.h"
#include "tpcc-lite/workload/tpcc_client.h"

namespace latchkey {

absl::Status TpccClient::StockLevel(const StockLevelInput& input, StockLevelOutput* output) {
  *output = {};
  LATCHKEY_RETURN_IF_ERROR(session_.Begin());
  return Finish(StockLevelBody(input, output));
}

absl::Status TpccClient::StockLevelBody(const StockLevelInput& input, StockLevelOutput* output) {
  DistrictRow* district;
  LATCHKEY_RETURN_IF_ERROR(
      Read(kDistrictTable, DistrictKey(input.warehouse, input.district), &district_, &district));
  LATCHKEY_RETURN_IF_ERROR(CollectRecentItems(input, district->next_o_id));
  for (uint32_t i = 0; i < item_count_; ++i) {
    Announce(kStockTable, StockKey(input.warehouse, items_[i]));
  }
  Prefetch();
  for (uint32_t i = 0; i < item_count_; ++i) {
    StockRow* stock;
    LATCHKEY_RETURN_IF_ERROR(
        Read(kStockTable, StockKey(input.warehouse, items_[i]), &stock_, &stock));
    if (stock->quantity < input.threshold) ++output->low_stock;
  }
  return absl::OkStatus();
}

absl::Status TpccClient::CollectRecentItems(const StockLevelInput& input, uint32_t next_order) {
  const uint32_t first = next_order > kStockLevelOrders ? next_order - kStockLevelOrders : 1;
  item_count_ = 0;
  bool intact = true;
  LATCHKEY_RETURN_IF_ERROR(
      session_.Scan(kOrderLineTable, OrderKey(input.warehouse, input.district, first),
                    OrderKey(input.warehouse, input.district, next_order), /*reverse=*/false,
                    [this, &intact](std::string_view, std::string_view value) {
                      const auto* row = RowOf<OrderLineRow>(value);
                      intact = row != nullptr && item_count_ < items_.size();
                      if (intact) items_[item_count_++] = row->item;
                      return intact;
                    }));
  if (!intact) return DamagedOrderLines();
  const auto end = items_.begin() + item_count_;
  std::sort(items_.begin(), end);
  item_count_ = static_cast<uint32_t>(std::unique(items_.begin(), end) - items_.begin());
  return absl::OkStatus();
}

}  // namespace latchkey
