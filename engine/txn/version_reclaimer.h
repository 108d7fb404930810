// When garbage goes: a bounded amount after each commit, and at the bound whatever helps. At the
// bound the store first collects what no snapshot needs, then lets versions settle, then spills
// them. If the disk has no room either, the oldest snapshot expires, then the next.
//
// Settling, sweeping and spilling are the work of an actor of their own, if it is started. Now and
// then a commit that leaves such work wakes it. It spills from half of the bound on, if enough has
// settled. If it lags, committers let their own commits settle, and from three quarters of the bound
// on they do all of the work themselves, as they do without the actor.
//
// Invariants
//  1. Only the actor that has set `reclaiming_` freezes and thaws settled versions.
//  2. The actor works under `rounds_mutex_`. CollectAll holds it, too, so nothing is on its way
//     through that actor when CollectAll returns.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/txn/committer.h"
#include "engine/txn/empty_gaps.h"
#include "engine/txn/known_writes.h"
#include "engine/txn/reclaim_actor.h"
#include "engine/txn/record_pool.h"
#include "engine/txn/savepoints.h"
#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_budget.h"
#include "engine/txn/version_collector.h"
#include "engine/txn/version_settler.h"
#include "engine/txn/version_spiller.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/version_table.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once, except Start and Stop. REQUIRES, for
/// all: no latches held.
class VersionReclaimer {
 public:
  VersionReclaimer(Runtime& runtime, SnapshotManager& snapshots, VersionTable& table,
                   const FinishedQueues& finished, const FinishedQueues& settling,
                   KnownWrites& known, SettledVersions& settled, Savepoints& savepoints,
                   VersionCollector& collector, VersionSettler& settler, VersionSpiller& spiller,
                   EmptyGaps& gaps, const VersionBudget& budget, VersionCounters& counters)
      : runtime_(runtime),
        snapshots_(snapshots),
        table_(table),
        finished_(finished),
        settling_(settling),
        known_(known),
        settled_(settled),
        savepoints_(savepoints),
        collector_(collector),
        settler_(settler),
        spiller_(spiller),
        gaps_(gaps),
        budget_(budget),
        counters_(counters),
        rounds_mutex_(runtime),
        actor_(runtime, [this] { ReclaimAhead(); }) {}

  /// Starts the actor that settles and spills, see above. Throws if there is no memory for it.
  void Start() { actor_.Start(); }
  /// Ends it, after the round that it may be in. Committers then do the work.
  void Stop() {
    actor_.Stop();
    gaps_.NoteFor(0);
  }

  /// Collects a bounded amount of garbage: what `commit` leaves, and a share of what others left.
  /// May read and write pages, log, and spill versions. Call it once for every commit, after the
  /// commit is acknowledged: the sync of the log need not wait for it. The bound holds all the
  /// same: an actor that waits for a sync adds no versions, and WriteAdmission checks before each
  /// write.
  void CollectAfter(const Committed& commit);
  /// Collects everything that no running snapshot needs.
  void CollectAll();
  /// Makes room if the store is near its bound. No effect while another actor does the same.
  void Reclaim();

 private:
  // `tidies`: asks for a round also if nothing waits to settle, but something may be swept or dropped.
  void AskForRound(uint32_t queue, uint32_t other, bool tidies);
  // Commits of the queue that wait behind a snapshot.
  uint64_t Waiting(uint32_t queue) const { return finished_.size(queue) + settling_.size(queue); }
  void TidyGaps();
  void RememberWrites();
  // A round of the actor.
  void ReclaimAhead();
  void SpillAhead();

  Runtime& runtime_;
  SnapshotManager& snapshots_;
  VersionTable& table_;
  const FinishedQueues& finished_;
  const FinishedQueues& settling_;
  KnownWrites& known_;
  SettledVersions& settled_;
  Savepoints& savepoints_;
  VersionCollector& collector_;
  VersionSettler& settler_;
  VersionSpiller& spiller_;
  EmptyGaps& gaps_;
  const VersionBudget& budget_;
  VersionCounters& counters_;
  std::atomic<bool> reclaiming_{false};
  Mutex rounds_mutex_;
  uint64_t refused_at_ = UINT64_MAX;  // bytes on the device when it last refused more; the actor's
  ReclaimActor actor_;                // the last member: it uses the others
};

}  // namespace latchkey
