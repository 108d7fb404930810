// The writes and locks of a transaction.
//
// One write runs in attempts. Each attempt latches the leaf of its key and asks the version store
// whether the transaction may write the key. Then it changes the record, or it unlatches the leaf
// and waits for another writer, or for a split that makes room:
//
//   attempt --kGo, room--> installed, logged, changed
//     | ^-----WaitFor------ kWait
//     ' ^-----Split-------- no room
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "engine/btree/node.h"
#include "engine/btree/tree.h"
#include "engine/transaction/transaction_rollback.h"
#include "engine/transaction/transaction_state.h"
#include "engine/tree_impl.h"

namespace latchkey {

/// Every call may return Aborted; then the transaction is over.
class TransactionWriter {
 public:
  TransactionWriter(TransactionState& state, TransactionRollback& rollback)
      : state_(state), rollback_(rollback) {}

  /// For a transaction that begins.
  void Reset() { last_written_ = {}; }
  absl::Status Put(TreeImpl& tree, std::string_view key, std::string_view value) {
    return PutWith(Mode::kPut, tree, key, value);
  }
  /// AlreadyExists: the key has a value.
  absl::Status Insert(TreeImpl& tree, std::string_view key, std::string_view value) {
    return PutWith(Mode::kInsert, tree, key, value);
  }
  /// NotFound: the key has no value.
  absl::Status Delete(TreeImpl& tree, std::string_view key);
  /// Locks the key and reads its newest value. NotFound: it has none, and is locked.
  absl::Status GetForUpdate(TreeImpl& tree, std::string_view key, std::string* value);
  /// Locks the key, whether it has a value or not.
  absl::Status LockKey(TreeImpl& tree, std::string_view key);
  /// As Put, of a value that OwnChains holds as the unplaced chain `chain`.
  absl::Status PutChain(TreeImpl& tree, std::string_view key, const OverflowReference& chain) {
    return PlaceChain(Mode::kPut, tree, key, chain);
  }
  /// Notes that leaves of the tree may name chains. REQUIRED before PutChain.
  absl::Status NoteChains(TreeImpl& tree);

 private:
  enum class Mode { kPut, kInsert, kDelete, kLock };
  enum class Outcome { kDone, kWait, kSplit };
  struct Write;
  struct Place;

  absl::Status PutWith(Mode mode, TreeImpl& tree, std::string_view key, std::string_view value);
  absl::Status PlaceChain(Mode mode, TreeImpl& tree, std::string_view key,
                          const OverflowReference& chain);
  /// Runs `write` to its end: waits for other writers and makes room in the leaf.
  absl::Status Run(Write& write);
  /// One attempt with the leaf latched. kWait: `wait_for` names the writer to wait for.
  absl::StatusOr<Outcome> TryWrite(Write& write, WriterRef* wait_for);
  /// Latches the leaf that covers `key` and finds the key's position.
  /// Waits for range deletes that cover the key.
  absl::Status PassRanges(const Write& write);
  absl::Status FixRecord(TreeImpl& tree, std::string_view key, ExclusiveGuard* leaf,
                         SlotPosition* position);
  /// The error of a write that depends on whether its key has a value.
  absl::Status RefuseFor(const Write& write, bool exists);
  /// The last steps of an attempt: the record is locked, or replaced.
  absl::Status Lock(Write& write, Place& place);
  void Replace(Write& write, Place& place);
  /// Notes that there is no record between the neighbours of a key that is about to be inserted.
  void NoteGap(const Write& write, const Place& place);
  /// Logs the change that Replace makes next.
  void Log(const Write& write, Place& place, bool store_owns_old,
           EngineLog::SupersededChain superseded);

  TransactionState& state_;
  TransactionRollback& rollback_;
  std::string locked_value_;  // scratch of LockKey
  // Where the last write found its key: many writes are next to the one before.
  struct {
    const TreeImpl* tree = nullptr;
    DescentHint hint;
  } last_written_;
};

}  // namespace latchkey
