// Writing: the entry that holds the state of a record before a transaction's first change of it.
//
// Invariant: an entry is linked before its page changes, and unlinked after its page is restored.
// So it is linked whenever the page holds the change: a validated read and its lookup are of one
// moment.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/txn/known_writes.h"
#include "engine/txn/record_change.h"
#include "engine/txn/record_pool.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/version_table.h"
#include "engine/txn/write_checker.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class VersionWriter {
 public:
  VersionWriter(Runtime& runtime, SnapshotManager& snapshots, VersionTable& table, RecordPool& pool,
                const KnownWrites& known, VersionCounters& counters)
      : runtime_(runtime),
        snapshots_(snapshots),
        table_(table),
        pool_(pool),
        known_(known),
        counters_(counters) {}

  /// Links the entry of a write that `check` has allowed. REQUIRES: the leaf has stayed latched
  /// since the check; the page is not changed yet; same tree and key.
  /// True: the store now owns `old` and frees its overflow chain through GcClient. False: `txn` had
  /// written the key before, so `old` was its own and the caller frees its overflow chain. For
  /// kLock the result has no meaning. Throws std::bad_alloc; then nothing has changed except that
  /// `txn` may have its id.
  bool Install(Txn& txn, const WriteCheck& check, TreeId tree, std::string_view key,
               const OldVersion& old, Change change);

  /// Gives `txn` its id now instead of at its first Install: for a log that needs the id earlier.
  void EnsureWriter(Txn& txn) {
    if (txn.record_ == nullptr) BecomeWriter(txn);
  }
  /// Makes `txn` a writer that changes a range of keys, without an entry for each: no serializable
  /// transaction that runs meanwhile may commit after it.
  void EnsureRangeWriter(Txn& txn) {
    EnsureWriter(txn);
    txn.record_->changes_range = true;
  }
  /// Notes that `actor` (of Runtime::ActorIndex) uses `txn`.
  static void NoteUser(Txn& txn, uint32_t actor) {
    if (txn.record_ != nullptr) txn.record_->user.store(actor, std::memory_order_relaxed);
  }

 private:
  void BecomeWriter(Txn& txn);
  void AddEntry(WriteRecord& record, uint64_t hash, TreeId tree, std::string_view key,
                const OldVersion& old, Change change);
  bool UpdateOwnEntry(Txn& txn, VersionEntry& entry, const OldVersion& old, Change change);

  Runtime& runtime_;
  SnapshotManager& snapshots_;
  VersionTable& table_;
  RecordPool& pool_;
  const KnownWrites& known_;
  VersionCounters& counters_;
};

}  // namespace latchkey
