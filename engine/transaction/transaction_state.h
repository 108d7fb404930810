// TransactionState: the data that the parts of one transaction share (reader, writer, rollback and
// commit).
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/latchkey.h"
#include "engine/log/engine_log.h"
#include "engine/transaction/known_leaves.h"
#include "engine/transaction/own_chains.h"
#include "engine/transaction/transaction_context.h"
#include "engine/transaction/written_trees.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_store.h"

namespace latchkey {

struct TransactionState {
  explicit TransactionState(TransactionContext& parts) : context(parts), log(parts.log) {}

  TransactionContext& context;
  EngineLog* const log;  ///< nullptr = nothing is logged
  Txn txn;
  LogTxn log_txn;
  WrittenTrees trees;
  OwnChains chains{context, txn, log_txn};
  KnownLeaves known_leaves;
  /// Number of writes so far, undone ones included.
  uint64_t writes = 0;
  bool read_only = false;
  bool was_closed = false;  ///< the database ended the transaction
  /// The transaction was aborted for a reason that a repetition meets again.
  bool is_vain_to_repeat = false;

  /// FailedPrecondition unless the transaction is running.
  absl::Status CheckActive() const { return txn.active() ? absl::OkStatus() : NotActive(); }
  /// FailedPrecondition unless the transaction is running and may write.
  absl::Status CheckWritable() const {
    return txn.active() && !read_only ? absl::OkStatus() : NotWritable();
  }
  /// Notes that the calling actor, whose index is `actor`, uses the transaction from now on.
  void NoteUser(uint32_t actor) { VersionStore::NoteUser(txn, actor); }
  void NoteUser() { NoteUser(context.pool.runtime().ActorIndex()); }

 private:
  absl::Status NotActive() const;
  absl::Status NotWritable() const;
};

/// InvalidArgument if the key is longer than a tree takes.
absl::Status KeyTooLong(size_t key_size);
inline absl::Status CheckKey(std::string_view key) {
  return key.size() <= Database::kMaxKeySize ? absl::OkStatus() : KeyTooLong(key.size());
}
absl::Status NoSuchKey();
/// The answer to a call that writes in a database opened with Options::read_only.
absl::Status OpenedReadOnly();

}  // namespace latchkey
