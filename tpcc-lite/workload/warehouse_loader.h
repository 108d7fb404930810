// The initial content of TPC-C's tables (clause 4.3.3.1), one unit of work at a time.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/rng.h"
#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/batch_writer.h"
#include "tpcc-lite/workload/random_inputs.h"
#include "tpcc-lite/workload/tpcc_config.h"

namespace latchkey {

/// Loads unit 0 (ITEM) or unit w (all rows of warehouse w). The content of a unit depends on the
/// seed and its number only, so any actor may load units in any order. Within a unit the rows of
/// each table come in key order. Used by one actor.
class WarehouseLoader {
 public:
  /// Called with the number of rows (without order lines) of each finished piece. Its error ends
  /// the load.
  using Progress = absl::FunctionRef<absl::Status(uint64_t rows)>;

  WarehouseLoader(KvSession& session, Runtime& runtime, const TpccScale& sizes, uint64_t seed);

  absl::Status LoadItems(Progress progress);
  absl::Status LoadWarehouse(uint16_t w, Progress progress);

  /// Rows reported to `progress` after all units of `sizes`.
  static uint64_t TotalRows(const TpccScale& sizes);

 private:
  absl::Status LoadStock(uint16_t w, Progress progress);
  absl::Status LoadDistrict(uint16_t w, uint8_t d);
  absl::Status LoadCustomers(uint16_t w, uint8_t d);
  absl::Status LoadCustomer(uint16_t w, uint8_t d, uint16_t c);
  absl::Status LoadHistory(uint16_t w, uint8_t d, uint16_t c);
  absl::Status LoadOrders(uint16_t w, uint8_t d);
  absl::Status LoadOrder(uint16_t w, uint8_t d, uint32_t o, uint16_t c);
  void ShuffleCustomers();
  uint32_t LastNameNumber(uint16_t c);

  TpccScale sizes_;
  uint64_t seed_;
  NonUniform last_name_;
  Rng rng_;
  BatchWriter writer_;
  std::vector<std::string> name_keys_;
  std::vector<uint16_t> order_customers_;  // O_C_ID of order i + 1: a permutation
};

}  // namespace latchkey
