#include "engine/txn/version_store.h"

#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {

VersionStore::VersionStore(Runtime& runtime, SnapshotManager& snapshots, GcClient& gc_client)
    : snapshots_(snapshots),
      counters_(runtime),
      table_(runtime),
      pool_(runtime),
      finished_(runtime),
      settling_(runtime),
      known_(runtime),
      settled_(runtime, known_),
      gaps_(runtime),
      wait_graph_(runtime),
      budget_(pool_, known_, settled_, gaps_),
      spiller_(runtime, snapshots, table_, settled_, gaps_, counters_, gc_client),
      reader_(snapshots, table_, settled_, spiller_, gaps_),
      checker_(snapshots, table_, settled_, spiller_, gaps_, counters_),
      writer_(runtime, snapshots, table_, pool_, known_, counters_),
      lock_waits_(runtime, wait_graph_, counters_),
      order_(snapshots, counters_),
      committer_(runtime, snapshots, order_, finished_, settling_, settled_, spiller_, budget_,
                 wait_graph_, counters_),
      savepoints_(table_, gc_client),
      rollback_(snapshots, table_, pool_, savepoints_, spiller_, budget_, wait_graph_, counters_,
                gc_client),
      collector_(snapshots, table_, pool_, finished_, settling_, counters_, gc_client),
      settler_(snapshots, table_, pool_, finished_, settling_, settled_, known_, gaps_, counters_,
               gc_client),
      reclaimer_(runtime, snapshots, table_, finished_, settling_, known_, settled_, savepoints_,
                 collector_, settler_, spiller_, gaps_, budget_, counters_),
      admission_(runtime, budget_, reclaimer_, spiller_) {}

CommitTs VersionStore::Commit(Txn& txn) {
  const absl::StatusOr<CommitTs> ts = CommitAndCollect(txn, [](CommitTs) {});
  LATCHKEY_CHECK(ts.ok());
  return *ts;
}

absl::StatusOr<CommitTs> VersionStore::CommitAndCollect(
    Txn& txn, absl::FunctionRef<void(CommitTs)> at_commit) {
  const auto last_step = [&](CommitTs ts) {
    at_commit(ts);
    return true;
  };
  LATCHKEY_ASSIGN_OR_RETURN(const Committed done, TryCommit(txn, last_step, [] {}));
  CollectAfter(done);
  return done.ts;
}

VersionStoreStats VersionStore::stats() const {
  VersionStoreStats stats;
  counters_.AddTo(&stats);
  stats.versions = counters_.CountVersions() + settled_.count() + spiller_.versions();
  stats.spilled_bytes = spiller_.disk_bytes();
  stats.version_bytes = budget_.used();
  stats.bound_bytes = budget_.bound();
  stats.reserved_bytes = bytes();
  const CommitTs oldest = snapshots_.oldest_snapshot();
  const CommitTs clock = snapshots_.clock();
  stats.oldest_snapshot_age = clock < oldest ? 0 : clock - oldest;
  return stats;
}

size_t VersionStore::bytes() const {
  return pool_.reserved_bytes() + known_.bytes() + settled_.bytes() + gaps_.bytes() +
         table_.bytes() + spiller_.bytes();
}

}  // namespace latchkey
