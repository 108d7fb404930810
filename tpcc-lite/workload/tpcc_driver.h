// Loads a TPC-C-lite database, runs the mix over it, and reads its description.
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

/// For KvOptions::tables: the nine tables, the two indexes of the workload, and `meta`.
std::vector<std::string> TpccTableNames();
/// Whether the table of that name is an index beside the table that has the rows.
bool IsTpccIndex(std::string_view table);

/// The description in a database (the one row of `meta`).
struct TpccDescription {
  uint32_t warehouses = 0;
  double scale = 0;
  uint64_t seed = 0;
  uint32_t last_name_constant = 0;  ///< C-load of C_LAST (clause 2.1.6.1)
  uint32_t runs = 0;                ///< runs begun since the load; 0: condition 11 applies
  bool complete = false;            ///< false while loading, and for ever after a broken load
};

/// nullopt: the database is empty.
absl::StatusOr<std::optional<TpccDescription>> ReadTpccDescription(KvBackend& backend);

/// True: the database is loaded for `config`. False: it is empty. FailedPrecondition: it was loaded
/// with other warehouses, scale or seed, or its load did not finish.
absl::StatusOr<bool> IsTpccPrepared(KvBackend& backend, const TpccConfig& config);

struct TpccLoadOptions {
  uint32_t sessions = 2;  ///< warehouses loaded at the same time
  /// Rows loaded so far and in total, without order lines, whose number is random. Called by the
  /// loading actors, one call at a time, about once per percent.
  std::function<void(uint64_t rows, uint64_t total_rows)> progress;
};

/// Fills an empty database (clause 4.3.3), in parallel by warehouse. The same seed gives the same
/// content with any number of sessions. FailedPrecondition: the database is not empty. Cancelled:
/// config.stop was set. Ends with a checkpoint of the backend.
absl::Status LoadTpcc(KvBackend& backend, const TpccConfig& config,
                      const TpccLoadOptions& options = {}, Runtime& runtime = ThreadRuntime());

/// Called by the driver about once per second of the measured part, and at its end for the rest.
using TpccSampleCallback = std::function<void(const TpccSample&)>;

/// Called by the actor of a user after each of its New-Orders that has committed.
using TpccNewOrderCallback =
    std::function<void(uint16_t warehouse, uint8_t district, uint32_t order)>;

struct TpccRunHooks {
  TpccSampleCallback on_sample;
  TpccNewOrderCallback on_new_order;
  std::function<void()> on_measure_begin;  ///< the warm-up is over; users go on meanwhile
  std::function<void()> on_measure_end;    ///< what ends from now on does not count
};

/// Runs the mix of clause 5.2.3 in a closed loop without think time. With at least as many users as
/// warehouses, each user has the home warehouse user % warehouses. With fewer, a user draws the
/// warehouse of each transaction, so that the whole database is used. FailedPrecondition: the
/// database is not prepared for `config`. Any error of the backend except Aborted ends the run.
/// Cancelled: config.stop was set during the warm-up, so nothing was measured.
absl::StatusOr<TpccResult> RunTpcc(KvBackend& backend, const TpccConfig& config,
                                   const TpccRunHooks& hooks = {},
                                   Runtime& runtime = ThreadRuntime());

}  // namespace latchkey
