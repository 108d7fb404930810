// Settling: the versions behind a long snapshot become packed (settled_versions.h), so that they
// take little memory, and only those that some snapshot sees are kept.
//
// Invariants
//  1. The entries of a key settle oldest first.
//  2. Commits above LiveSnapshots::validated_from are not touched: a read set may have to be checked
//     against them. DropUnneeded does not touch those above LongBounds::others_from, which is no
//     higher.
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
                 FinishedQueues& finished, FinishedQueues& settling, SettledVersions& settled,
                 KnownWrites& known, EmptyGaps& gaps, VersionCounters& counters,
                 GcClient& gc_client)
      : snapshots_(snapshots),
        table_(table),
        pool_(pool),
        finished_(finished),
        settling_(settling),
        settled_(settled),
        known_(known),
        gaps_(gaps),
        counters_(counters),
        gc_client_(gc_client) {}

  /// Looks at the commits of the finished `queue` that only long snapshots hold back. Drops their
  /// versions of which it is known that no long snapshot needs them: the key was written since, or lies
  /// in a gap. What is left moves to the settling queue, and so does a commit of more than
  /// kMostDropped entries. It stops after so many entries. The commits of the caller are still in its
  /// caches, so this costs a fraction of settling.
  void DropUnneeded(uint32_t queue);
  /// Lets the commits of the settling `queue` settle, and those of the finished one except the newest
  /// few.
  void SettleBehind(uint32_t queue);
  /// Sweeps one shard of the settled versions, the next in turn, if that is worth it.
  void SweepSome();
  /// Lets every commit settle that may, and sweeps all shards that are worth it. `thaw`: sweeps all
  /// shards, frozen versions included; the caller then is the only one that may freeze versions.
  /// False: memory ran out before everything was done.
  bool SettleAndSweepAll(bool thaw);

 private:
  // What one commit may have to do for those before it.
  static constexpr uint64_t kMostDropped = 1024;

  void DropUnneededOf(WriteRecord& record, CommitTs long_below, EmptyGaps::Search* gaps,
                      Chores* chores, uint64_t* gone);
  bool IsUnneeded(const VersionEntry& version, CommitTs ts, CommitTs long_below,
                  EmptyGaps::Search* gaps);
  void SettleFrom(FinishedQueues& queues, uint32_t queue, uint64_t leave, const LiveSnapshots& live,
                  Chores* chores);
  void SettleRecord(WriteRecord& record, const LiveSnapshots& live, Chores* chores,
                    absl::FunctionRef<void()> before_each);

  SnapshotManager& snapshots_;
  VersionTable& table_;
  RecordPool& pool_;
  FinishedQueues& finished_;
  FinishedQueues& settling_;
  SettledVersions& settled_;
  KnownWrites& known_;
  EmptyGaps& gaps_;
  VersionCounters& counters_;
  GcClient& gc_client_;
  std::atomic<uint32_t> next_sweep_{0};
};

}  // namespace latchkey
