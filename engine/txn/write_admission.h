// Admission of writes: whether the undo of a transaction may grow. If the undo of running
// transactions alone fills the store, writes are refused.
#pragma once

#include <absl/status/status.h>

#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_budget.h"
#include "engine/txn/version_reclaimer.h"
#include "engine/txn/version_spiller.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class WriteAdmission {
 public:
  WriteAdmission(Runtime& runtime, const VersionBudget& budget, VersionReclaimer& reclaimer,
                 VersionSpiller& spiller)
      : runtime_(runtime), budget_(budget), reclaimer_(reclaimer), spiller_(spiller) {}

  /// Call it before each write, with no latches held. Aborted: the undo of all running transactions
  /// leaves no room for that of `txn`, which is at most half of the bound; the caller rolls back,
  /// and may run the transaction again. ResourceExhausted: the undo of `txn` alone exceeds the
  /// bound, or is more than half of it and finds no room; the transaction may go on reading, commit
  /// or roll back.
  absl::Status Admit(Txn& txn) {
    if (txn.record_ == nullptr || VersionBudget::OwnUndo(txn) <= txn.admitted_bytes_) {
      return absl::OkStatus();
    }
    return AdmitGrowth(txn);
  }

 private:
  absl::Status AdmitGrowth(Txn& txn);

  Runtime& runtime_;
  const VersionBudget& budget_;
  VersionReclaimer& reclaimer_;
  VersionSpiller& spiller_;
};

}  // namespace latchkey
