// The end of a transaction by commit: its place in the commit order, then the release of what it
// held. Its garbage is left to VersionReclaimer.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>

#include "engine/txn/commit_order.h"
#include "engine/txn/record_pool.h"
#include "engine/txn/savepoint_log.h"
#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_budget.h"
#include "engine/txn/version_spiller.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/wait_graph.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// A commit, and what it leaves to VersionStore::CollectAfter.
struct Committed {
  CommitTs ts = 0;       ///< its place in the order of commits; 0 = the transaction wrote nothing
  uint64_t entries = 0;  ///< versions that it wrote
  std::unique_ptr<SavepointLog> savepoints;  ///< their overflow chains are needed no more
};

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class Committer {
 public:
  Committer(Runtime& runtime, SnapshotManager& snapshots, CommitOrder& order,
            FinishedQueues& finished, const FinishedQueues& settling,
            const SettledVersions& settled, VersionSpiller& spiller, VersionBudget& budget,
            WaitGraph& waits, VersionCounters& counters)
      : runtime_(runtime),
        snapshots_(snapshots),
        order_(order),
        finished_(finished),
        settling_(settling),
        settled_(settled),
        spiller_(spiller),
        budget_(budget),
        waits_(waits),
        counters_(counters) {}

  /// Makes the writes of `txn` visible to later snapshots and ends it. Errors and callbacks: see
  /// CommitOrder::Append; after an error `txn` still runs, and the caller rolls back. No callback
  /// runs if the transaction wrote nothing. REQUIRES: no latches held.
  absl::StatusOr<Committed> TryCommit(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                      absl::FunctionRef<void()> before_retry);

 private:
  void EndReader(Txn& txn, uint32_t queue);
  void EndWriter(Txn& txn, CommitTs ts, uint32_t queue);

  Runtime& runtime_;
  SnapshotManager& snapshots_;
  CommitOrder& order_;
  FinishedQueues& finished_;
  const FinishedQueues& settling_;
  const SettledVersions& settled_;
  VersionSpiller& spiller_;
  VersionBudget& budget_;
  WaitGraph& waits_;
  VersionCounters& counters_;
};

}  // namespace latchkey
