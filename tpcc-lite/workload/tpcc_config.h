// The parameters of a TPC-C-lite database and of a run.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>

#include "storage/runtime/runtime.h"

namespace latchkey {

inline constexpr uint32_t kDistrictsPerWarehouse = 10;
inline constexpr uint32_t kMaxOrderLines = 15;
inline constexpr uint32_t kMaxWarehouses = 65'000;
inline constexpr uint32_t kMaxTpccUsers = 4'000;

/// Row counts of a database (TPC-C 5.11, clause 1.2.1, times `scale`).
struct TpccScale {
  uint32_t warehouses = 1;
  uint32_t items = 100'000;           ///< also stock rows per warehouse
  uint32_t customers = 3'000;         ///< per district
  uint32_t orders = 3'000;            ///< per district, after the load: one per customer
  uint32_t undelivered_orders = 900;  ///< of these, the newest: three in ten
  uint32_t last_names = 1'000;        ///< distinct C_LAST: a third of the customers

  /// The cardinalities for `warehouses` warehouses: those of the standard times `scale` (0.001 to
  /// 1).
  static TpccScale Of(uint32_t warehouses, double scale);

  bool operator==(const TpccScale&) const = default;
};

struct TpccConfig {
  // The database.
  uint32_t warehouses = 1;  ///< 1 to kMaxWarehouses
  double scale = 1;         ///< 0.001 to 1
  uint64_t seed = 42;       ///< of the load and of the users' inputs

  // The run.
  uint32_t users = 1;  ///< 1 to kMaxTpccUsers; each a session and an actor, without think time
  Nanos warmup = 0;    ///< runs before anything is counted
  Nanos duration = 10 * kNanosPerSecond;  ///< of the measured part; ignored when `transactions` > 0
  /// Total to complete in the measured part, split evenly over the users; 0 = run for `duration`.
  /// With one user and no warm-up such a run is repeatable: same seed, same database.
  uint64_t transactions = 0;
  bool prefetch = true;  ///< announce the keys a transaction is about to read

  /// Set by another thread or a signal handler to end a load or a run early, with partial results.
  const std::atomic<bool>* stop = nullptr;

  TpccScale Sizes() const { return TpccScale::Of(warehouses, scale); }
  /// InvalidArgument that names the first value out of range.
  absl::Status Validate() const;
};

/// Bytes of keys and values in a freshly loaded database, indexes included, with an error of a few
/// percent. For cache sizes given as a share of the data.
uint64_t EstimateTpccDataBytes(const TpccScale& sizes);

}  // namespace latchkey
