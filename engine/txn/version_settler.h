// Settling: the versions behind a long snapshot become packed (settled_versions.h), so that they
// take little memory, and only those that some snapshot sees are kept.
//
// Invariants
//  1. The entries of a key settle oldest first.
//  2. Commits above LiveSnapshots::validated_from do not settle: a read set may have to be checked
//     against them.
//  3. If memory runs out, the remaining entries stay where they are and settle later.
#pragma once

#include <absl/functional/function_ref.h>

#include <atomic>
#include <cstdint>

#include "engine/txn/empty_gaps.h"
#include "engine/txn/gc_client.h"
#include "engine/txn/record_pool.h"
#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/version_table.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once. REQUIRES, for all: no latches held.
class VersionSettler {
 public:
  VersionSettler(SnapshotManager& snapshots, VersionTable& table, RecordPool& pool,
                 FinishedQueues& finished, SettledVersions& settled, EmptyGaps& gaps,
                 VersionCounters& counters, GcClient& gc_client)
      : snapshots_(snapshots),
        table_(table),
        pool_(pool),
        finished_(finished),
        settled_(settled),
        gaps_(gaps),
        counters_(counters),
        gc_client_(gc_client) {}

  /// Lets the commits of the finished `queue` settle, except the newest few.
  void SettleBehind(uint32_t queue);
  /// Sweeps one shard of the settled versions, the next in turn, if that is worth it.
  void SweepSome();
  /// Lets every commit settle that may, and sweeps all shards that are worth it. `thaw`: sweeps all
  /// shards, frozen versions included; the caller then is the only one that may freeze versions.
  /// False: memory ran out before everything was done.
  bool SettleAndSweepAll(bool thaw);

 private:
  void SettleFrom(uint32_t queue, uint64_t leave, const LiveSnapshots& live, Chores* chores);
  void SettleRecord(WriteRecord& record, const LiveSnapshots& live, Chores* chores,
                    absl::FunctionRef<void()> before_each);

  SnapshotManager& snapshots_;
  VersionTable& table_;
  RecordPool& pool_;
  FinishedQueues& finished_;
  SettledVersions& settled_;
  EmptyGaps& gaps_;
  VersionCounters& counters_;
  GcClient& gc_client_;
  std::atomic<uint32_t> next_sweep_{0};
};

}  // namespace latchkey
