// The parts of a database that its transactions use.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <functional>

#include "engine/change_buffer/change_buffer.h"
#include "engine/database_identity.h"
#include "engine/log/engine_log.h"
#include "engine/overflow.h"
#include "engine/range/range_deletes.h"
#include "engine/tree_impl.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_store.h"

namespace latchkey {

struct TransactionContext {
  BufferPool& pool;
  SnapshotManager& snapshots;
  VersionStore& versions;
  OverflowStore& overflow;
  RangeDeletes& ranges;
  /// Notes in the catalogue that leaves of a tree may name overflow chains. Thread-safe.
  std::function<absl::Status(TreeImpl&)> note_chains;
  EngineLog* log = nullptr;  ///< nullptr = nothing is logged
  /// The database whose handles the public calls pass; nullptr = there are no handles.
  const DatabaseIdentity* identity = nullptr;
  ChangeBuffer* changes = nullptr;  ///< nullptr = puts read their leaves
  bool is_read_only = false;  ///< Options::read_only
  /// Without a log: some pages hold changes of a transaction that could not be rolled back.
  std::atomic<bool> holds_uncommitted = false;
};

}  // namespace latchkey
