// Collection: drops the entries of finished transactions once no snapshot needs them.
//
// Invariants
//  1. A committed entry is dropped once oldest_snapshot() >= its timestamp: every reader would stop
//     at it.
//  2. Every ghost on a page has an entry, or a PurgeGhost call under way, that will remove it.
#pragma once

#include <cstdint>

#include "engine/txn/gc_client.h"
#include "engine/txn/record_pool.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/version_table.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once.
class VersionCollector {
 public:
  VersionCollector(const SnapshotManager& snapshots, VersionTable& table, RecordPool& pool,
                   FinishedQueues& finished, FinishedQueues& settling, VersionCounters& counters,
                   GcClient& gc_client)
      : snapshots_(snapshots),
        table_(table),
        pool_(pool),
        finished_(finished),
        settling_(settling),
        counters_(counters),
        gc_client_(gc_client) {}

  /// Drops up to `budget` entries of `queue`, oldest commit first. REQUIRES: no latches held.
  void CollectFrom(uint32_t queue, uint64_t budget);
  /// CollectFrom of every queue, without a limit.
  void CollectFromAll();

 private:
  // Returns the number of entries dropped.
  uint64_t CollectFrom(FinishedQueues& queues, uint32_t queue, uint64_t budget);
  uint64_t CollectRecord(WriteRecord& record, uint64_t budget, uint64_t* unlinked);
  bool CollectEntry(VersionEntry& entry);

  const SnapshotManager& snapshots_;
  VersionTable& table_;
  RecordPool& pool_;
  FinishedQueues& finished_;
  FinishedQueues& settling_;
  VersionCounters& counters_;
  GcClient& gc_client_;
};

}  // namespace latchkey
