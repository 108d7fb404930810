// The life of a TPC-C-lite database: load it, run the mix over it, know what it is.
//
// Works over any KvBackend opened with TpccTableNames() that gives at least snapshot isolation.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/tpcc_config.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

/// For KvOptions::tables: the nine tables, the two indexes that the workload keeps, and `meta`.
std::vector<std::string> TpccTableNames();

/// What a database says of itself (the one row of `meta`).
struct TpccDescription {
  uint32_t warehouses = 0;
  double scale = 0;
  uint64_t seed = 0;
  uint32_t last_name_constant = 0;  ///< C-load of C_LAST (clause 2.1.6.1)
  uint32_t runs = 0;                ///< runs begun since the load; 0: condition 11 applies
  bool complete = false;            ///< false while loading, and for ever after a broken load
};

/// nullopt for a database without one: empty.
absl::StatusOr<std::optional<TpccDescription>> ReadTpccDescription(KvBackend& backend);

/// True when the database is loaded for `config`, false when it is empty. FailedPrecondition when
/// it was loaded for other warehouses, scale or seed, or when a load did not finish.
absl::StatusOr<bool> IsTpccPrepared(KvBackend& backend, const TpccConfig& config);

struct TpccLoadOptions {
  uint32_t sessions = 2;  ///< warehouses loaded at the same time
  /// Rows loaded so far and in all, not counting order lines, whose number is random. Called from
  /// the loading actors, one call at a time, about once per percent.
  std::function<void(uint64_t rows, uint64_t total_rows)> progress;
};

/// Fills an empty database (clause 4.3.3), in parallel by warehouse; same seed, same content,
/// however many sessions. FailedPrecondition when the database is not empty; Cancelled when
/// config.stop is set. Ends with a checkpoint of the backend.
absl::Status LoadTpcc(KvBackend& backend, const TpccConfig& config,
                      const TpccLoadOptions& options = {}, Runtime& runtime = ThreadRuntime());

/// Called by the driver about once a second of the measured part, and for the rest at its end.
using TpccSampleCallback = std::function<void(const TpccSample&)>;

/// Called by a user from its own actor, behind each of its New-Orders that has committed.
using TpccNewOrderCallback =
    std::function<void(uint16_t warehouse, uint8_t district, uint32_t order)>;

struct TpccRunHooks {
  TpccSampleCallback on_sample;
  TpccNewOrderCallback on_new_order;
  std::function<void()> on_measure_begin;  ///< the warm-up is over; users go on meanwhile
};

/// Runs the mix of clause 5.2.3 in a closed loop without think time. Where there are at least as
/// many users as warehouses, each has the home warehouse user % warehouses; with fewer, a user
/// draws the warehouse of each transaction, so that the whole database is used. FailedPrecondition
/// when the database is not prepared for `config`; any error of the backend but Aborted ends the
/// run.
absl::StatusOr<TpccResult> RunTpcc(KvBackend& backend, const TpccConfig& config,
                                   const TpccRunHooks& hooks = {},
                                   Runtime& runtime = ThreadRuntime());

}  // namespace latchkey
