// TransactionImpl: one transaction behind the public class Transaction. It is begun, used by one
// call at a time, and ended.
//
// The parts in the folder transaction/ do the work (its README says how they divide it). This class
// begins and ends them, and forwards calls to them. It also answers for what may be gone before the
// transaction ends: a dropped tree, a closed database, and, in a child made by fork(), the
// parent's database.
//
// Thread-safety: a TransactionImpl belongs to one actor at a time.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/database_identity.h"
#include "engine/latchkey.h"
#include "engine/transaction/blind_put.h"
#include "engine/transaction/transaction_commit.h"
#include "engine/transaction/transaction_context.h"
#include "engine/transaction/transaction_reader.h"
#include "engine/transaction/transaction_rollback.h"
#include "engine/transaction/transaction_state.h"
#include "engine/transaction/transaction_writer.h"
#include "engine/transaction/unfinished_value.h"
#include "engine/tree_impl.h"
#include "engine/watch/latencies.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

class CursorImpl;

class TransactionImpl {
 public:
  explicit TransactionImpl(TransactionContext& context) : state_(context) {}
  ~TransactionImpl();

  /// Starts the transaction. May be called again once it is over.
  absl::Status Begin(const BeginOptions& options = {}) {
    state_.known_leaves.Clear();
    state_.read_only = options.read_only;
    state_.is_vain_to_repeat = false;
    writer_.Reset();
    rollback_.Reset();
    SnapshotManager& snapshots = context().snapshots;
    LATCHKEY_RETURN_IF_ERROR(snapshots.Begin(state_.txn, this));
    // A read-only transaction is serializable as it is: its place in the order is that of its
    // snapshot.
    if (options.isolation == Isolation::kSerializable && !options.read_only) {
      const OnException end([&] { snapshots.End(state_.txn); });
      state_.txn.TrackReads();
    }
    return absl::OkStatus();
  }
  bool active() const { return state_.txn.active(); }
  /// Whether it was aborted for a reason that a repetition meets again: see Txn::is_vain_to_repeat.
  bool is_vain_to_repeat() const { return state_.is_vain_to_repeat; }
  /// Notes that the calling actor, whose index is `actor`, uses the transaction from now on.
  void NoteUser(uint32_t actor) { state_.NoteUser(actor); }

  // ---- The public calls: see Transaction in latchkey.h

  absl::Status Get(TreeImpl& tree, std::string_view key, std::string* value) {
    return reader_.Get(tree, key, value);
  }
  absl::Status GetForUpdate(TreeImpl& tree, std::string_view key, std::string* value) {
    return writer_.GetForUpdate(tree, key, value);
  }
  absl::Status Put(TreeImpl& tree, std::string_view key, std::string_view value) {
    return writer_.Put(tree, key, value);
  }
  /// See BlindPut::Try.
  absl::StatusOr<BlindPut::Outcome> PutBlind(TreeImpl& tree, std::string_view key,
                                             std::string_view value, const DescentHint& at) {
    return BlindPut(state_, *context().changes).Try(tree, key, value, at);
  }
  /// See BlindPut::SplitFull.
  void SplitFull(std::span<const ChangeBuffer::FullLeaf> leaves,
                 absl::FunctionRef<TreeImpl*(TreeId)> find_tree) {
    BlindPut(state_, *context().changes).SplitFull(leaves, find_tree);
  }
  absl::Status Insert(TreeImpl& tree, std::string_view key, std::string_view value) {
    return writer_.Insert(tree, key, value);
  }
  absl::Status Delete(TreeImpl& tree, std::string_view key) { return writer_.Delete(tree, key); }
  absl::Status GetPart(TreeImpl& tree, std::string_view key, uint64_t offset, size_t size,
                       std::string* part, uint64_t* value_size) {
    return reader_.GetPart(tree, key, offset, size, part, value_size);
  }
  UnfinishedValue& unfinished_value() { return unfinished_value_; }
  absl::Status Commit(const CommitOptions& options = {}) { return commit_.Commit(options); }
  absl::Status Rollback() { return rollback_.Rollback(); }
  absl::StatusOr<Savepoint> SetSavepoint();
  absl::Status RollbackTo(const Savepoint& savepoint);
  /// See TransactionReader::Prefetch.
  void Prefetch(size_t count, TransactionReader::KeyAt key_at) { reader_.Prefetch(count, key_at); }
  /// See TransactionReader::PrefetchToWrite.
  void PrefetchToWrite(size_t count, TransactionReader::KeyAt key_at) {
    reader_.PrefetchToWrite(count, key_at);
  }

  // ---- For cursors

  /// See TransactionReader.
  absl::Status AbortForAge() { return reader_.AbortForAge(); }
  absl::Status ReadChain(std::string_view reference, std::string* value) {
    return reader_.ReadChain(reference, value);
  }
  TransactionContext& context() { return state_.context; }
  /// Says which of the public calls are timed.
  SampledCalls& sampled() { return sampled_; }
  Txn& txn() { return state_.txn; }
  /// Number of writes so far. If it has changed since a cursor copied a leaf, the cursor copies it
  /// again.
  uint64_t writes() const { return state_.writes; }
  /// The place of this object's last commit in the order of commits; 0 = it wrote nothing.
  CommitTs last_commit() const { return commit_.last_commit(); }

  /// The memory of a cursor that is gone, for the next one; null = there is none. Cursors that outlive
  /// the transaction may come from several threads.
  std::unique_ptr<CursorImpl> TakeSpareCursor();
  void KeepSpareCursor(std::unique_ptr<CursorImpl> cursor);

  // ---- What may end before the transaction

  /// Rolls back a running transaction. In a child of the process that runs it, only forgets it.
  void EndUnfinished();
  /// For the close of the database, which this object may outlive. Rolls back; every later call
  /// returns FailedPrecondition. REQUIRES: active().
  absl::Status RollBackForClose();
  /// As RollBackForClose, but rolls nothing back: for a database that is abandoned as it is.
  void Disown();

  /// FailedPrecondition unless the transaction is running.
  absl::Status CheckActive() const { return state_.CheckActive(); }
  /// Whether the transaction is running, in this process. If not, CheckUsable returns
  /// FailedPrecondition.
  bool is_usable() const { return active() && (identity() == nullptr || !identity()->IsForeign()); }
  absl::Status CheckUsable() const;
  /// Whether the transaction may use `tree`. If not, Refuse() gives the reason.
  bool CanUse(Tree tree) const { return active() && identity()->CanUse(tree); }
  /// The tree that the handle names; nullptr = it cannot be used.
  TreeImpl* Find(Tree tree) const {
    return CanUse(tree) ? &DatabaseIdentity::ImplOf(tree) : nullptr;
  }
  absl::Status Refuse(Tree tree) const;

  /// InvalidArgument if the key is longer than a tree takes.
  static absl::Status CheckKey(std::string_view key) { return latchkey::CheckKey(key); }

 private:
  const DatabaseIdentity* identity() const { return state_.context.identity; }
  uint64_t DatabaseNumber() const { return identity() == nullptr ? 0 : identity()->number(); }

  TransactionState state_;
  SampledCalls sampled_;
  std::atomic<CursorImpl*> spare_cursor_ = nullptr;  // owned
  TransactionRollback rollback_{state_};
  TransactionReader reader_{state_, rollback_};
  TransactionWriter writer_{state_, rollback_};
  UnfinishedValue unfinished_value_{state_, writer_};
  TransactionCommit commit_{state_, rollback_};
};

}  // namespace latchkey
