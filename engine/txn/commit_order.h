// The commit order. A writer takes the next place in it; a serializable one first proves that no
// commit since its snapshot has changed what it read (Kung and Robinson 1981, backward validation).
//
// Invariants
//  1. The records of the commits form a chain, newest first, by WriteRecord::previous_commit. It is
//     extended in the critical section in which the timestamp is drawn, so it has no gaps.
//  2. The chain is followed only while a held snapshot keeps its records from being collected.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include "engine/txn/read_set.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/write_record.h"
#include "storage/base/ids.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class CommitOrder {
 public:
  CommitOrder(SnapshotManager& snapshots, VersionCounters& counters)
      : snapshots_(snapshots), counters_(counters) {}

  /// Stamps the record of `txn` with the next timestamp and returns it: the commit point. Aborted,
  /// only for a serializable transaction: a commit after its snapshot changed something it has
  /// read, or the snapshot has expired; nothing has happened.
  ///
  /// `at_commit(ts)` runs in the critical section of the commit order, when nothing can refuse the
  /// commit any more: a few instructions, no waiting. If it returns false, nothing has happened:
  /// `before_retry()` runs outside the critical section, then the attempt is repeated.
  /// REQUIRES: `txn` is a writer.
  absl::StatusOr<CommitTs> Append(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                  absl::FunctionRef<void()> before_retry);

 private:
  CommitTs Stamp(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                 absl::FunctionRef<void()> before_retry);
  absl::StatusOr<CommitTs> ValidateAndStamp(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                            absl::FunctionRef<void()> before_retry);
  /// Whether no commit in (from, upto] changed a key of `reads`. `newest`: the record of the commit
  /// `upto`.
  static bool AreCurrent(const ReadSet& reads, WriteRecord* newest, CommitTs upto, CommitTs from);
  void Link(WriteRecord& record);

  SnapshotManager& snapshots_;
  VersionCounters& counters_;
  WriteRecord* latest_commit_ = nullptr;  // written in the critical section of commits
};

}  // namespace latchkey
