// The overflow chains that a transaction has written and that no record names.
//
// A chain is written before its record, so for a while, or for good if the write fails, no record
// names it. If the transaction replaces its own chain, nobody else has seen the old one. Both kinds
// are freed at once if there is memory and their pages can be read, else by a later call of the
// transaction, at the latest by its end. A chain that cannot be read even then stays allocated.
//
// The chain of a value that comes in parts is *unfinished* until its last part. Its pages then refer to
// nothing, and nothing refers to them. A transaction has at most one.
//
//   Begin -> unfinished --Finish--> unplaced; --DropUnfinished--> freed
//   Write -> unplaced --NotePlaced--> named by a record --FreeReplaced--> freed
//               |                                             |
//               '--FreeUnplaced--> freed                      '- an error -> replaced -> freed
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <optional>
#include <string_view>
#include <vector>

#include "engine/chain_builder.h"
#include "engine/log/engine_log.h"
#include "engine/overflow.h"
#include "engine/transaction/transaction_context.h"
#include "engine/txn/snapshot_manager.h"

namespace latchkey {

class OwnChains {
 public:
  OwnChains(TransactionContext& context, Txn& txn, LogTxn& log_txn)
      : context_(context), txn_(txn), log_txn_(log_txn) {}

  /// Writes `value` to a new chain, which is unplaced until NotePlaced or FreeUnplaced. First frees
  /// what earlier calls have left.
  absl::StatusOr<OverflowReference> Write(std::string_view value);
  /// Begins a chain that comes in parts. First frees what earlier calls have left. REQUIRES: none is
  /// unfinished.
  absl::Status Begin();
  /// The unfinished chain; nullptr: there is none.
  const ChainBuilder* unfinished() const {
    return unfinished_.has_value() ? &*unfinished_ : nullptr;
  }
  /// Adds to the unfinished chain. After an error the chain is dropped.
  absl::Status Append(std::string_view part);
  /// Ends the unfinished chain, which is unplaced from then on. Errors as Append.
  absl::StatusOr<OverflowReference> Finish();
  /// Frees the pages of the unfinished chain, if there is one.
  void DropUnfinished();
  /// A record names the unplaced chain.
  void NotePlaced() { unplaced_.clear(); }
  /// The write of the unplaced chain's record has failed. No effect if a rollback has freed the
  /// chain.
  void FreeUnplaced();

  /// Takes the memory for one FreeReplaced.
  void ReserveReplaced() { replaced_.reserve(replaced_.size() + 1); }
  /// Frees a chain that this transaction wrote and has replaced, now or in a later call. The write
  /// that replaced it is done, whatever becomes of the chain.
  void FreeReplaced(const OverflowReference& chain);

  /// Frees the chains that earlier calls have left. OutOfMemory, or another error: some are still
  /// left.
  absl::Status FreeLeft() {
    return unplaced_.empty() && replaced_.empty() && pages_left_.empty() ? absl::OkStatus()
                                                                         : TryFreeLeft();
  }
  /// For a rollback: frees the pages of unfinished chains. OutOfMemory: some are left, and the
  /// rollback may try again.
  absl::Status FreeUnfinishedPages();
  /// Hands the other chains over to a rollback, which frees them.
  void TakeLeft(absl::FunctionRef<void(std::string_view)> take);

 private:
  absl::Status TryFreeLeft();
  /// The logging transaction that owns the chains; nullptr = nothing is logged.
  LogTxn* Owner();
  absl::Status Free(const OverflowReference& chain) {
    return context_.overflow.Free(chain.view(), Owner());
  }

  TransactionContext& context_;
  Txn& txn_;
  LogTxn& log_txn_;
  std::optional<ChainBuilder> unfinished_;
  std::vector<PageId> pages_left_;  // of dropped unfinished chains, not freed yet
  OverflowReference unplaced_;
  std::vector<OverflowReference> replaced_;  // not freed yet
};

}  // namespace latchkey
