// CheckpointRecords: notes the state of the log at one instant, and logs it as kCheckpoint records.
//
// Invariant: transactions, chains and frees under way are read in one instant of the log, and page
// images become due from that instant on.
//
// Thread-safety: every actor may call every member at once.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <vector>

#include "engine/log/active_transactions.h"
#include "engine/log/first_images.h"
#include "engine/log/frees_under_way.h"
#include "engine/log/log_health.h"
#include "engine/log/log_record.h"
#include "engine/log/pending_chains.h"
#include "storage/base/ids.h"
#include "storage/wal/log.h"

namespace latchkey {

/// The state that a checkpoint notes, all as of one LSN.
struct CheckpointSnapshot {
  Lsn as_of{0};
  /// Redo must begin here or earlier, for frees and drops that have not reached the store yet.
  /// Dirty pages are not counted. At most as_of.
  Lsn redo_from{0};
  std::vector<ActiveTransaction> transactions;  ///< by first LSN
  std::vector<OverflowChain> chains;            ///< superseded by committed transactions, not freed
};

class CheckpointRecords {
 public:
  CheckpointRecords(Log& log, LogHealth& health, const ActiveTransactions& active,
                    const FreesUnderWay& frees_under_way, const PendingChains& chains,
                    FirstImages& images)
      : log_(log),
        health_(health),
        active_(active),
        frees_under_way_(frees_under_way),
        chains_(chains),
        images_(images) {}

  /// As EngineLog::Snapshot and EngineLog::LogCheckpoint.
  CheckpointSnapshot Snapshot();
  absl::StatusOr<CheckpointSnapshot> LogCheckpoint(absl::FunctionRef<TxnId()> next_txn);

 private:
  absl::Status AppendParts(const CheckpointSnapshot& snapshot, CheckpointPart part,
                           size_t entries_per_part);

  Log& log_;
  LogHealth& health_;
  const ActiveTransactions& active_;
  const FreesUnderWay& frees_under_way_;
  const PendingChains& chains_;
  FirstImages& images_;
};

}  // namespace latchkey
