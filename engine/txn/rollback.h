// The end of a transaction by rollback: restores its records, then unlocks its keys.
//
// Invariant: no key is unlocked before the last record is restored and the end of the rollback is
// certain. Until then no other transaction may write the keys.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>

#include "engine/txn/gc_client.h"
#include "engine/txn/record_change.h"
#include "engine/txn/record_pool.h"
#include "engine/txn/savepoints.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_budget.h"
#include "engine/txn/version_spiller.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/version_table.h"
#include "engine/txn/wait_graph.h"

namespace latchkey {

/// How a rollback has ended.
enum class RollbackOutcome : uint8_t {
  kRolledBack,  ///< every record is restored, and every key is unlocked
  kKeptLocked,  ///< every record is restored, but the keys stay locked: `end` asked for it
  kUndoFailed,  ///< some records are not restored
};
struct RollbackResult {
  RollbackOutcome outcome = RollbackOutcome::kRolledBack;
  absl::Status error;  ///< kUndoFailed: the first error of `restore`; else OK
};

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class Rollback {
 public:
  Rollback(SnapshotManager& snapshots, VersionTable& table, RecordPool& pool,
           Savepoints& savepoints, VersionSpiller& spiller, VersionBudget& budget, WaitGraph& waits,
           VersionCounters& counters, GcClient& gc_client)
      : snapshots_(snapshots),
        table_(table),
        pool_(pool),
        savepoints_(savepoints),
        spiller_(spiller),
        budget_(budget),
        waits_(waits),
        counters_(counters),
        gc_client_(gc_client) {}

  /// Calls `restore` for every changed key, newest first, and ends `txn`. `restore` latches the
  /// page, puts the old state back, and frees an overflow chain that `txn` wrote. If a `restore`
  /// fails, the others still run, and the first error is returned. Keys that were not restored stay
  /// readable at their old value and refuse writes with Unavailable. REQUIRES: no latches held.
  ///
  /// `end(all_restored)` runs after the last `restore` and before the first key is unlocked. If it
  /// returns false, all keys of `txn` stay locked, as if none had been restored: for a log that
  /// will undo the transaction once more.
  RollbackResult Run(Txn& txn, absl::FunctionRef<absl::Status(const Undo&)> restore,
                     absl::FunctionRef<bool(bool)> end);

 private:
  absl::Status RestoreEntries(WriteRecord& record,
                              absl::FunctionRef<absl::Status(const Undo&)> restore);
  void ReleaseRestored(WriteRecord& record);
  void EndRolledBack(Txn& txn, WriteRecord& record, bool is_over);

  SnapshotManager& snapshots_;
  VersionTable& table_;
  RecordPool& pool_;
  Savepoints& savepoints_;
  VersionSpiller& spiller_;
  VersionBudget& budget_;
  WaitGraph& waits_;
  VersionCounters& counters_;
  GcClient& gc_client_;
};

}  // namespace latchkey
