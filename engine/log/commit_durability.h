// CommitDurability: the moment at which a commit, and everything logged so far, is durable.
//
// Invariant: no commit is acknowledged as durable before everything that it has read, because the
// log becomes durable in the order of its records.
//
// Thread-safety: every actor may call every member at once, without the latch that orders commits.
#pragma once

#include <absl/status/status.h>

#include <optional>

#include "engine/latchkey.h"
#include "engine/log/deferred_frees.h"
#include "engine/log/group_flusher.h"
#include "engine/log/log_health.h"
#include "storage/base/ids.h"
#include "storage/wal/log.h"

namespace latchkey {

class CommitDurability {
 public:
  /// `waits`: as EngineLogOptions::wait_for_commits. `ledger`: where waits for a sync are noted; may be
  /// nullptr.
  CommitDurability(Log& log, LogHealth& health, DeferredFrees& frees, GroupFlusher& flusher,
                   bool waits, WaitLedger* ledger = nullptr);

  /// As the functions of EngineLog.
  absl::Status WaitOrPromiseDurable(Lsn commit, std::optional<Durability> durability);
  void PromiseDurable();
  absl::Status EnsureDurable(Lsn lsn);

 private:
  absl::Status Wait(Lsn commit);
  absl::Status Promise();
  bool is_durable(Lsn lsn) const { return log_.durable() > lsn; }

  Log& log_;
  LogHealth& health_;
  DeferredFrees& frees_;
  GroupFlusher& flusher_;
  const bool waits_;
  WaitLedger* const ledger_;
  const absl::Status outcome_unknown_;  // allocated while there is memory
};

}  // namespace latchkey
