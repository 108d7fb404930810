// TPC-C-lite after crashes (RELIABILITY.md 3.9): kills of processes on a database in files, and
// power losses on simulated disks. After each crash the campaign checks on the full data all TPC-C
// conditions that hold after a run. It also checks the list of successes of clause 3.5: every
// New-Order that a client saw succeed is there, and D_NEXT_O_ID has grown by these, plus at most
// the New-Orders in flight.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "storage/runtime/runtime.h"
#include "tools/campaign/shared/technique_items.h"
#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/tpcc_config.h"

namespace latchkey {

/// A New-Order that a client saw succeed. Its warehouse is 1, the only one of this campaign.
struct TpccSuccess {
  uint8_t district = 0;
  uint32_t order = 0;
};

/// The contents that are allowed after crashes.
struct TpccPromise {
  std::span<const TpccSuccess> successes;  ///< orders that must be there
  /// New-Orders that may or may not be there: in flight at a crash, or acknowledged and not yet
  /// durable (Durability::kGroup).
  uint64_t others = 0;
};

/// Internal: a condition or the promise is violated; other codes: an error of the store.
absl::Status CheckTpccAfterCrash(KvBackend& backend, const TpccConfig& config,
                                 const TpccPromise& promise);

struct TpccCrashOptions {
  std::string directory;  ///< for the databases in files
  uint64_t seed = 42;
  uint64_t kills = 10, power_losses = 10;
  uint64_t crashes_per_store = 3;
  uint32_t users = 4;
  double scale = 0.01;
  std::vector<std::string> layouts = LayoutItems();
  uint64_t min_run_ms = 20, max_run_ms = 300;  ///< before a kill
  uint64_t max_transactions = 400;             ///< before a power loss, at most

  TpccConfig Config() const {
    TpccConfig config;
    config.scale = scale;
    config.seed = seed;
    config.users = users;
    return config;
  }
  const std::string& LayoutOf(uint64_t store) const { return layouts[store % layouts.size()]; }
};

struct TpccCrashReport {
  uint64_t kills = 0, power_losses = 0;
  uint64_t stores = 0;
  uint64_t checks = 0;      ///< databases compared as a whole
  uint64_t new_orders = 0;  ///< reported to clients
  uint64_t present = 0;     ///< looked up after a crash and found, over all checks
  std::string wrong;        ///< the first mistake; empty: none
};

/// kill -9 while several users work, in real time. REQUIRES: this process has no other thread.
void KillTpcc(Runtime& runtime, const TpccCrashOptions& options, TpccCrashReport* report);
/// Power losses while several users work, in simulated time. Equal seeds repeat the run.
void CutPowerUnderTpcc(const TpccCrashOptions& options, TpccCrashReport* report);

/// The campaign `tpcc-crash`.
int RunTpccCrashCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
