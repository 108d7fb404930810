// Transactions over trees: what a key's record in the leaf and its versions in memory say together.
//
// A leaf holds the newest value of each of its keys, committed or not, and one mark: the newest
// transaction that wrote in it. A reader whose snapshot sees all of that mark takes the leaf as it
// is; only otherwise it asks the version store (engine/txn/README.md). Deleted keys stay as ghosts
// until no snapshot needs them.
//
// Lock order: leaf latch, then a bucket of the version store. Nobody waits for another transaction,
// for I/O of an overflow chain or for a split while holding a leaf latch.
//
// Thread-safety: a TransactionImpl belongs to one actor at a time.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/btree/node.h"
#include "engine/known_leaves.h"
#include "engine/latchkey.h"
#include "engine/log/engine_log.h"
#include "engine/overflow.h"
#include "engine/tree_impl.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_store.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

/// The parts of a database that transactions work with.
struct TransactionContext {
  BufferPool& pool;
  SnapshotManager& snapshots;
  VersionStore& versions;
  OverflowStore& overflow;
  EngineLog* log = nullptr;  ///< null: nothing is logged
};

class TransactionImpl {
 public:
  explicit TransactionImpl(TransactionContext& context) : context_(context), log_(context.log) {}
  ~TransactionImpl() { Rollback().IgnoreError(); }

  /// Starts the transaction (again, when the object is reused).
  absl::Status Begin(const BeginOptions& options = {}) {
    known_leaves_.Clear();
    last_written_ = {};
    memory_patience_ = kMemoryPatience;
    read_only_ = options.read_only;
    LATCHKEY_RETURN_IF_ERROR(context_.snapshots.Begin(txn_));
    // Who cannot write is serializable as it is: its place in the order is its snapshot's.
    if (options.isolation == Isolation::kSerializable && !read_only_) {
      const OnException end([this] { context_.snapshots.End(txn_); });
      txn_.TrackReads();
    }
    return absl::OkStatus();
  }
  bool active() const { return txn_.active(); }

  absl::Status Get(TreeImpl& tree, std::string_view key, std::string* value);
  absl::Status GetForUpdate(TreeImpl& tree, std::string_view key, std::string* value);
  absl::Status Put(TreeImpl& tree, std::string_view key, std::string_view value);
  absl::Status Insert(TreeImpl& tree, std::string_view key, std::string_view value);
  absl::Status Delete(TreeImpl& tree, std::string_view key);
  absl::Status Commit();
  absl::Status Rollback();
  absl::StatusOr<Savepoint> SetSavepoint();
  absl::Status RollbackTo(const Savepoint& savepoint);

  /// Ends the transaction because its snapshot has expired. Returns Aborted.
  absl::Status AbortForAge() { return AbortFor(SnapshotTooOld()); }
  /// The value behind an overflow reference that a read of this transaction has found; Aborted, and
  /// the transaction is over, when the snapshot has expired.
  absl::Status ReadChain(std::string_view reference, std::string* value);

  /// Puts the record of `undo.key` back to its old state: a step of a rollback.
  absl::Status Restore(TreeImpl& tree, const Undo& undo);

  /// FailedPrecondition unless the transaction is running.
  absl::Status CheckActive() const;
  TransactionContext& context() { return context_; }
  Txn& txn() { return txn_; }
  /// Counts the writes so far: a cursor that sees it change looks again.
  uint64_t writes() const { return writes_; }
  /// The place of the last commit of this object in the order of commits; 0: it wrote nothing.
  CommitTs last_commit() const { return last_commit_; }

  /// Brings the leaves of `count` keys in, with the reads of each level of all of them in flight
  /// together. Asks the trees only now and then while everything turns out to be there.
  void Prefetch(size_t count,
                absl::FunctionRef<std::pair<TreeImpl*, std::string_view>(size_t)> key_at);

  /// InvalidArgument when the key is longer than a tree takes.
  static absl::Status CheckKey(std::string_view key);

 private:
  enum class Mode { kPut, kInsert, kDelete, kLock };
  struct Write;

  absl::Status CheckWritable() const;
  /// Restore for the tree that `undo` names.
  absl::Status RestoreIn(const Undo& undo);
  absl::Status TryRestoreIn(const Undo& undo);
  absl::Status AwaitMemoryFor(absl::FunctionRef<absl::Status()> step);
  /// Frees the chains of this transaction that no record names any more.
  absl::Status FreeOwnChains();
  absl::Status FreeReplaced(const OverflowReference& chain);
  absl::Status FreeInRollback(std::string_view chain);
  bool FreeOwnChainsInRollback();  // false: memory ran out
  absl::Status PutWith(Mode mode, TreeImpl& tree, std::string_view key, std::string_view value);
  /// Runs `write` to its end: waits for other writers, makes room.
  absl::Status Run(Write& write);
  enum class Outcome { kDone, kWait, kSplit };
  /// One attempt with the leaf latched; `wait_for` tells whom to wait for.
  absl::StatusOr<Outcome> TryWrite(Write& write, WriterRef* wait_for);
  /// For keys whose leaves are resident: brings translations, pages and records from memory into
  /// the processor's cache, the misses of all keys overlapping each other. One key after the other
  /// would wait for each of its own misses in turn.
  void WarmLeaves(PoolActor& actor, size_t count,
                  absl::FunctionRef<std::pair<TreeImpl*, std::string_view>(size_t)> key_at);
  /// Finds the leaf that covers `key` and the key's place in it. Returns whether it was known.
  absl::StatusOr<bool> FindRecord(PoolActor& actor, TreeImpl& tree, std::string_view key,
                                  KnownLeaf* found);
  /// The same, with the leaf latched.
  absl::Status FixRecord(TreeImpl& tree, std::string_view key, ExclusiveGuard* leaf,
                         SlotPosition* position);
  void Apply(Write& write, NodeEditor leaf, SlotPosition position);
  /// Logs the change that Apply makes next.
  void LogWrite(const Write& write, ExclusiveGuard& leaf, const OldVersion& old,
                bool store_owns_old, EngineLog::SupersededChain superseded);
  void LogUndo(TreeImpl& tree, const Undo& undo, std::string_view own_chain, ExclusiveGuard& leaf);
  /// Where this transaction's overflow chains are logged; nullptr: nowhere.
  LogTxn* ChainOwner();
  /// The last step of a rollback; whether the keys may be given free.
  bool EndRollback(bool all_restored);
  /// Ends the transaction for `why` (Aborted and the like) and returns `why`.
  absl::Status AbortFor(absl::Status why);

  TransactionContext& context_;
  EngineLog* const log_;
  LogTxn log_txn_;
  Txn txn_;
  bool read_only_ = false;
  uint64_t writes_ = 0;
  CommitTs last_commit_ = 0;
  std::vector<TreeImpl*> trees_;  // written by this transaction, for its rollback
  std::string scratch_;
  absl::Status chain_left_;  // why a rollback has not freed the chain of a record it restored
  OverflowReference unplaced_chain_;  // written, but its reference is not in a leaf yet
  std::vector<OverflowReference> replaced_chains_;  // own ones, for want of memory not freed yet
  static constexpr uint32_t kMemoryPatience = 200;  // back-offs: with threads about 30 ms
  uint32_t memory_patience_ = kMemoryPatience;
  KnownLeaves known_leaves_;
  // Many writes are next to the one before.
  struct {
    const TreeImpl* tree = nullptr;
    DescentHint hint;
  } last_written_;
};

/// Splits until the record fits, then calls `change(leaf, position)` with the leaf latched and room
/// for `value_size`: for changes outside transactions (catalogue, rollback). `must_not_fail`: as of
/// TreeLog::Reserve.
absl::Status ChangeLeaf(
    BTree& tree, std::string_view key, size_t value_size, bool must_not_fail,
    absl::FunctionRef<absl::Status(ExclusiveGuard& leaf, SlotPosition position)> change);
/// As above, with an editor of the leaf: for trees without a log.
absl::Status ChangeRecord(
    BTree& tree, std::string_view key, size_t value_size,
    absl::FunctionRef<absl::Status(NodeEditor& leaf, SlotPosition position)> change);

}  // namespace latchkey
