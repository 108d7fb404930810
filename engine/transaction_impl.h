// Transactions over trees: the value of a key follows from its record in the leaf and its versions
// in memory.
//
// A leaf holds the newest value of each of its keys, committed or not, and one mark: the newest
// transaction that wrote in the leaf. If a reader's snapshot sees every transaction up to the mark,
// the reader takes the records as they are. Otherwise it asks the version store
// (engine/txn/README.md). A deleted key stays in its leaf as a ghost until no snapshot needs it.
//
// Lock order: leaf latch, then a bucket of the version store. A transaction holds no leaf latch
// while it waits for another transaction, for I/O of an overflow chain or for a split.
//
// Thread-safety: a TransactionImpl belongs to one actor at a time.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/btree/node.h"
#include "engine/database_identity.h"
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

/// The parts of a database that transactions use.
struct TransactionContext {
  BufferPool& pool;
  SnapshotManager& snapshots;
  VersionStore& versions;
  OverflowStore& overflow;
  EngineLog* log = nullptr;  ///< nullptr = nothing is logged
  /// The database whose handles the public calls pass; nullptr = there are no handles.
  const DatabaseIdentity* identity = nullptr;
  /// Without a log: some pages hold changes of a transaction that could not be rolled back.
  std::atomic<bool> holds_uncommitted = false;
};

class TransactionImpl {
 public:
  explicit TransactionImpl(TransactionContext& context) : context_(context), log_(context.log) {}
  ~TransactionImpl() { EndUnfinished(); }

  /// Starts the transaction. May be called again once it is over.
  absl::Status Begin(const BeginOptions& options = {}) {
    known_leaves_.Clear();
    last_written_ = {};
    memory_patience_ = kMemoryPatience;
    read_only_ = options.read_only;
    is_vain_to_repeat_ = false;
    LATCHKEY_RETURN_IF_ERROR(context_.snapshots.Begin(txn_, this));
    // A read-only transaction is serializable as it is: its place in the order is that of its
    // snapshot.
    if (options.isolation == Isolation::kSerializable && !read_only_) {
      const OnException end([this] { context_.snapshots.End(txn_); });
      txn_.TrackReads();
    }
    return absl::OkStatus();
  }
  bool active() const { return txn_.active(); }
  /// Whether it was aborted for a reason that a repetition meets again: see Txn::is_vain_to_repeat.
  bool is_vain_to_repeat() const { return is_vain_to_repeat_; }
  /// Notes that the calling actor, whose index is `actor`, uses the transaction from now on.
  void NoteUser(uint32_t actor) { VersionStore::NoteUser(txn_, actor); }

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
  /// Reads the value behind an overflow reference that a read of this transaction has found.
  /// Aborted: the snapshot has expired, and the transaction is over.
  absl::Status ReadChain(std::string_view reference, std::string* value);

  /// A step of a rollback: puts the record of `undo.key` back to its old state.
  absl::Status Restore(TreeImpl& tree, const Undo& undo);

  /// Rolls back a running transaction. In a child of the process that runs it, only forgets it.
  void EndUnfinished();
  /// For the close of the database, which this object may outlive. Rolls back; every later call
  /// returns FailedPrecondition. REQUIRES: active().
  absl::Status RollBackForClose();
  /// As RollBackForClose, but rolls nothing back: for a database that is abandoned as it is.
  void Disown();

  /// FailedPrecondition unless the transaction is running.
  absl::Status CheckActive() const;
  /// Whether the transaction is running, in this process. If not, CheckUsable returns
  /// FailedPrecondition.
  bool is_usable() const {
    return active() && (context_.identity == nullptr || !context_.identity->IsForeign());
  }
  absl::Status CheckUsable() const;
  /// Whether the transaction may use `tree`. If not, Refuse() gives the reason.
  bool CanUse(Tree tree) const { return active() && context_.identity->CanUse(tree); }
  /// The tree that the handle names; nullptr = it cannot be used.
  TreeImpl* Find(Tree tree) const {
    return CanUse(tree) ? &DatabaseIdentity::ImplOf(tree) : nullptr;
  }
  absl::Status Refuse(Tree tree) const;
  TransactionContext& context() { return context_; }
  Txn& txn() { return txn_; }
  /// Number of writes so far. If it has changed since a cursor copied a leaf, the cursor copies it
  /// again.
  uint64_t writes() const { return writes_; }
  /// The place of this object's last commit in the order of commits; 0 = it wrote nothing.
  CommitTs last_commit() const { return last_commit_; }

  /// Brings the leaves of `count` keys into the cache. On each tree level the reads for all keys
  /// are in flight together. While all pages turn out to be resident, it descends the trees only
  /// now and then.
  void Prefetch(size_t count,
                absl::FunctionRef<std::pair<TreeImpl*, std::string_view>(size_t)> key_at);

  /// InvalidArgument if the key is longer than a tree takes.
  static absl::Status CheckKey(std::string_view key);

 private:
  enum class Mode { kPut, kInsert, kDelete, kLock };
  struct Write;

  absl::Status CheckWritable() const;
  uint64_t DatabaseNumber() const {
    return context_.identity == nullptr ? 0 : context_.identity->number();
  }
  /// Restore for the tree that `undo` names.
  absl::Status RestoreIn(const Undo& undo);
  absl::Status TryRestoreIn(const Undo& undo);
  /// How a step of a rollback has ended.
  enum class StepOutcome { kDone, kFailed, kNoMemory };
  struct StepResult {
    StepOutcome outcome;
    absl::Status status;  ///< OK only if kDone
  };
  StepResult AwaitMemoryFor(absl::FunctionRef<absl::Status()> step);
  /// Frees the chains of this transaction that no record names any more.
  absl::Status FreeOwnChains();
  absl::Status FreeReplaced(const OverflowReference& chain);
  StepResult FreeInRollback(std::string_view chain);
  bool FreeOwnChainsInRollback();  // false = memory ran out
  absl::Status PutWith(Mode mode, TreeImpl& tree, std::string_view key, std::string_view value);
  /// Runs `write` to its end: waits for other writers and makes room in the leaf.
  absl::Status Run(Write& write);
  enum class Outcome { kDone, kWait, kSplit };
  /// One attempt with the leaf latched. kWait: `wait_for` names the writer to wait for.
  absl::StatusOr<Outcome> TryWrite(Write& write, WriterRef* wait_for);
  /// Called before the descent for the first write in a tree. FailedPrecondition if it is being
  /// dropped.
  absl::Status EnterTree(TreeImpl& tree);
  /// Called at the end of a transaction that holds no key in its trees any more.
  void LeaveTrees();
  /// For keys whose leaves are resident: brings translations, pages and records from memory into
  /// the processor's cache. The cache misses of all keys overlap; key by key each miss would be
  /// waited for alone.
  void WarmLeaves(PoolActor& actor, size_t count,
                  absl::FunctionRef<std::pair<TreeImpl*, std::string_view>(size_t)> key_at);
  /// Finds the leaf that covers `key` and the key's position. Returns whether the leaf was a known
  /// one.
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
  /// The logging transaction that owns this transaction's overflow chains; nullptr = nothing is
  /// logged.
  LogTxn* ChainOwner();
  /// The last step of a rollback. Returns whether its keys may be unlocked.
  bool EndRollback(bool all_restored);
  /// Ends the transaction because of `why` (e.g. Aborted) and returns `why`.
  absl::Status AbortFor(absl::Status why);

  TransactionContext& context_;
  EngineLog* const log_;
  LogTxn log_txn_;
  Txn txn_;
  bool read_only_ = false;
  bool was_closed_ = false;  // the database ended it
  bool is_vain_to_repeat_ = false;
  uint64_t writes_ = 0;
  CommitTs last_commit_ = 0;
  // The trees that this transaction may have written in. The slot lists the first of them
  // (TxnSlot::kListedTrees); the others count this transaction (TreeImpl::CountWriter).
  std::vector<TreeImpl*> trees_;
  std::string scratch_;
  absl::Status chain_left_;           // why a rollback has not freed the chain of a restored record
  OverflowReference unplaced_chain_;  // written, but no leaf holds its reference yet
  std::vector<OverflowReference> replaced_chains_;  // own, not freed for lack of memory
  static constexpr uint32_t kMemoryPatience = 200;  // back-offs; about 30 ms with threads
  uint32_t memory_patience_ = kMemoryPatience;
  KnownLeaves known_leaves_;
  // Where the last write found its key: many writes are next to the one before.
  struct {
    const TreeImpl* tree = nullptr;
    DescentHint hint;
  } last_written_;
};

/// Splits until the record fits, then calls `change(leaf, position)` with the leaf latched and room
/// for `value_size` bytes. For changes outside transactions (catalogue, rollback). `must_not_fail`:
/// as for TreeLog::Reserve.
absl::Status ChangeLeaf(
    BTree& tree, std::string_view key, size_t value_size, bool must_not_fail,
    absl::FunctionRef<absl::Status(ExclusiveGuard& leaf, SlotPosition position)> change);
/// As ChangeLeaf, with an editor of the leaf: for trees without a log.
absl::Status ChangeRecord(
    BTree& tree, std::string_view key, size_t value_size,
    absl::FunctionRef<absl::Status(NodeEditor& leaf, SlotPosition position)> change);

}  // namespace latchkey
