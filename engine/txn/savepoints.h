// Savepoints: a transaction sets them and rolls back to them. The states in between are in its
// SavepointLog.
//
// Invariant: after RollbackTo, an entry that was made after the savepoint only locks its key.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "engine/txn/gc_client.h"
#include "engine/txn/record_change.h"
#include "engine/txn/savepoint_log.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_table.h"
#include "storage/base/ids.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class Savepoints {
 public:
  Savepoints(VersionTable& table, GcClient& gc_client) : table_(table), gc_client_(gc_client) {}

  /// A point in `txn` to which RollbackTo can return; unique in this store. `as_of`: the newest log
  /// record of `txn`; the Undo steps carry it.
  uint64_t Set(Txn& txn, Lsn as_of);
  /// Undoes the writes of `txn` since the savepoint. Calls `restore` as Rollback does, for each
  /// changed key once per savepoint, newest first. Locks stay held, reads stay noted, and the
  /// savepoint stays; later ones are gone. InvalidArgument: not a savepoint of `txn`, or gone.
  /// Every other error comes from `restore`; then only Rollback is possible. REQUIRES: no latches
  /// held.
  absl::Status RollbackTo(Txn& txn, uint64_t savepoint,
                          absl::FunctionRef<absl::Status(const Undo&)> restore);

  /// Hands over the overflow chains that only a savepoint of `txn` still needs, and forgets the
  /// savepoints. Rollback::Run then does not free these chains.
  static void TakeChains(Txn& txn, absl::FunctionRef<void(std::string_view)> take);
  /// Frees the overflow chains that only these savepoints needed; nullptr = there are none.
  void FreeChains(const SavepointLog* savepoints);

 private:
  VersionTable& table_;
  GcClient& gc_client_;
  std::atomic<uint64_t> next_savepoint_{1};
};

}  // namespace latchkey
