// The consistency conditions 3.3.2.1 to 3.3.2.12 of TPC-C 5.11, checked over the whole database.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/tpcc_config.h"

namespace latchkey {

struct ConsistencyViolation {
  /// 1 to 12: condition 3.3.2.N. 0: an index of the workload, a row count of clause 1.2.1, or a row
  /// of the wrong size.
  int condition = 0;
  std::string message;  ///< the comparison, its place, and both values
};

struct ConsistencyReport {
  std::vector<int> checked;   ///< the conditions checked, ascending
  std::vector<int> violated;  ///< the violated ones, ascending
  /// The first few violations of each condition.
  std::vector<ConsistencyViolation> violations;
  uint64_t violation_count = 0;  ///< of all

  bool ok() const { return violation_count == 0; }
};

/// Checks all conditions in one transaction, with memory for one district and a few bytes per
/// warehouse. Condition 11 holds only before the first Delivery, so it is checked only if
/// `after_load`. Conditions 2 and 3 do not apply to a district without undelivered orders. Money is
/// compared to the cent. An error is one of the backend; a violation is not an error.
absl::StatusOr<ConsistencyReport> CheckConsistency(KvBackend& backend, const TpccConfig& config,
                                                   bool after_load);

/// One line: the comparison of condition `number` (0 to 12).
std::string_view DescribeCondition(int number);

}  // namespace latchkey
