#include "engine/transaction_impl.h"

#include <algorithm>
#include <utility>

#include "engine/btree/record_state.h"
#include "engine/latchkey.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Differs from OutOfMemory(), because the keys that could not be restored stay locked. Made when
// the program starts.
const absl::Status& NoMemoryForRollback() {
  static const auto* const status = new absl::Status(
      absl::StatusCode::kUnavailable,
      "memory ran out in a rollback: the keys that could not be restored stay locked; close and "
      "reopen the database, which completes the rollback");
  return *status;
}
[[maybe_unused]] const bool made_early = NoMemoryForRollback().ok();

absl::Status NoSuchKey() { return absl::NotFoundError("no such key"); }

OldVersion OldVersionOf(const LatchedNodeView& leaf, SlotPosition position) {
  if (!position.exact) return {.state = RecordState::kAbsent, .bytes = {}};
  const RecordState state = StateOf(leaf.flags(position.slot));
  if (state == RecordState::kGhost) return {.state = state, .bytes = {}};
  return {.state = state, .bytes = leaf.Value(position.slot)};
}

}  // namespace

absl::Status ChangeLeaf(
    BTree& tree, std::string_view key, size_t value_size, bool must_not_fail,
    absl::FunctionRef<absl::Status(ExclusiveGuard& leaf, SlotPosition position)> change) {
  PoolActor& actor = tree.pool().Here();
  for (;;) {
    ExclusiveGuard guard;
    LATCHKEY_RETURN_IF_ERROR(tree.FixLeaf(actor, key, &guard));
    const LatchedNodeView view(guard.data(), tree.page_size());
    const SlotPosition position = view.LowerBound(key);
    if (view.HasRoomFor(position, key, value_size)) return change(guard, position);
    guard.Unfix();
    LATCHKEY_RETURN_IF_ERROR(
        tree.Split(actor, {.key = key, .value_size = value_size}, must_not_fail));
  }
}

absl::Status ChangeRecord(
    BTree& tree, std::string_view key, size_t value_size,
    absl::FunctionRef<absl::Status(NodeEditor& leaf, SlotPosition position)> change) {
  return ChangeLeaf(tree, key, value_size, /*must_not_fail=*/false,
                    [&](ExclusiveGuard& guard, SlotPosition position) {
                      NodeEditor leaf(guard.Mutable(), tree.page_size(),
                                      tree.pool().Here().scratch.get());
                      return change(leaf, position);
                    });
}

// One write of a transaction, from the request to the record.
struct TransactionImpl::Write {
  Mode mode;
  TreeImpl& tree;
  std::string_view key;
  std::string_view stored;                  // the value, or the reference to its overflow chain
  RecordState state = RecordState::kValue;  // of the record after the write; unless kLock
  std::string* read = nullptr;       // kLock: receives the value
  OverflowReference read_reference;  // kLock: the value is behind this overflow reference
  OverflowReference replaced_chain;  // own overflow chain that this write replaced
};

absl::Status TransactionImpl::CheckKey(std::string_view key) {
  if (key.size() <= Database::kMaxKeySize) return absl::OkStatus();
  return InvalidArgument("a key of {} bytes is too long: keys have 0 to {} bytes", key.size(),
                         Database::kMaxKeySize);
}

absl::Status TransactionImpl::CheckActive() const {
  if (txn_.active()) return absl::OkStatus();
  if (was_closed_) {
    return absl::FailedPreconditionError(
        "the transaction is over: its database was closed while it ran, which rolled it back");
  }
  return absl::FailedPreconditionError(
      "the transaction is over (committed, rolled back or aborted): begin another one");
}

absl::Status TransactionImpl::CheckWritable() const {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  if (!read_only_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the transaction is read-only: begin one without BeginOptions::read_only to write or lock");
}

// ---- Reading

absl::StatusOr<bool> TransactionImpl::FindRecord(PoolActor& actor, TreeImpl& tree,
                                                 std::string_view key, KnownLeaf* found) {
  const KnownLeaf* known = known_leaves_.Find(tree, key);
  if (known != nullptr && context_.pool.TryRefix(actor, known->leaf)) {
    *found = *known;
    return true;
  }
  LATCHKEY_RETURN_IF_ERROR(tree.btree.FindLeaf(actor, key, &found->leaf));
  found->position = NodeView(found->leaf.data(), tree.btree.page_size()).LowerBound(key);
  return false;
}

absl::Status TransactionImpl::Get(TreeImpl& tree, std::string_view key, std::string* value) {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  PoolActor& actor = context_.pool.Here();
  NoteUser(actor.index);
  const Snapshot& snapshot = context_.snapshots.ForReading(txn_);
  context_.versions.NoteRead(txn_, tree.id, key);
  for (Backoff backoff(context_.pool.runtime());; backoff.Pause()) {
    KnownLeaf found;
    const absl::StatusOr<bool> was_known = FindRecord(actor, tree, key, &found);
    if (!was_known.ok()) return tree.is_dropped() ? tree.Dropped() : was_known.status();
    const SlotPosition position = found.position;
    const NodeView leaf(found.leaf.data(), tree.btree.page_size());
    RecordState state = position.exact ? StateOf(leaf.flags(position.slot)) : RecordState::kAbsent;
    if (HasValue(state)) leaf.CopyValue(position.slot, value);
    bool from_page = true;  // false = the result rests on the versions alone
    if (!snapshot.SeesAllOf(leaf.last_writer())) {
      const Visible visible = context_.versions.Lookup(txn_, tree.id, key, &scratch_);
      from_page = visible == Visible::kPage;
      switch (visible) {
        case Visible::kPage:
          break;
        case Visible::kOld:
          value->assign(scratch_);
          state = RecordState::kValue;
          break;
        case Visible::kOldOverflow:
          value->assign(scratch_);
          state = RecordState::kOverflow;
          break;
        case Visible::kAbsent:
          state = RecordState::kAbsent;
          break;
        case Visible::kTooOld:
          return AbortForAge();
      }
    }
    const bool is_valid = found.leaf.Validate();
    if (from_page && !is_valid) continue;
    if (__builtin_expect(tree.is_dropped(), 0)) return tree.Dropped();  // may be another's leaf
    if (!HasValue(state)) return NoSuchKey();
    if (is_valid && !*was_known) known_leaves_.Remember(tree, key, found);
    if (state == RecordState::kValue) return absl::OkStatus();
    scratch_.assign(*value);
    return ReadChain(scratch_, value);
  }
}

absl::Status TransactionImpl::ReadChain(std::string_view reference, std::string* value) {
  {
    if (LATCHKEY_CANARY("chain-read-unheld")) return context_.overflow.Read(reference, value);
    const SnapshotHold hold(txn_);
    if (hold.held()) return context_.overflow.Read(reference, value);
  }
  return AbortForAge();
}

// ---- Writing

absl::Status TransactionImpl::GetForUpdate(TreeImpl& tree, std::string_view key,
                                           std::string* value) {
  LATCHKEY_RETURN_IF_ERROR(CheckWritable());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  Write write{.mode = Mode::kLock,
              .tree = tree,
              .key = key,
              .stored = {},
              .read = value,
              .read_reference = {},
              .replaced_chain = {}};
  LATCHKEY_RETURN_IF_ERROR(Run(write));
  if (write.read_reference.empty()) return absl::OkStatus();
  return context_.overflow.Read(write.read_reference.view(), value);
}

absl::Status TransactionImpl::Put(TreeImpl& tree, std::string_view key, std::string_view value) {
  return PutWith(Mode::kPut, tree, key, value);
}

absl::Status TransactionImpl::Insert(TreeImpl& tree, std::string_view key, std::string_view value) {
  return PutWith(Mode::kInsert, tree, key, value);
}

absl::Status TransactionImpl::PutWith(Mode mode, TreeImpl& tree, std::string_view key,
                                      std::string_view value) {
  LATCHKEY_RETURN_IF_ERROR(CheckWritable());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  if (value.size() > Database::kMaxValueSize) {
    return InvalidArgument("a value of {} bytes is too large: values have 0 to {} bytes",
                           value.size(), Database::kMaxValueSize);
  }
  Write write{.mode = mode,
              .tree = tree,
              .key = key,
              .stored = value,
              .read_reference = {},
              .replaced_chain = {}};
  if (value.size() <= MaxInlineValue(tree.btree.page_size(), key.size())) return Run(write);
  LATCHKEY_RETURN_IF_ERROR(FreeOwnChains());
  LATCHKEY_ASSIGN_OR_RETURN(unplaced_chain_, context_.overflow.Write(value, ChainOwner()));
  const OverflowReference reference = unplaced_chain_;
  write.stored = reference.view();
  write.state = RecordState::kOverflow;
  absl::Status done = CatchOutOfMemory([&] { return Run(write); });
  // If Run has rolled back, the rollback has freed the chain.
  if (!done.ok() && !unplaced_chain_.empty()) {
    const absl::Status freed =
        CatchOutOfMemory([&] { return context_.overflow.Free(reference.view(), ChainOwner()); });
    if (IsOutOfMemory(freed)) return done;  // the chain stays; the next call frees it
  }
  unplaced_chain_.clear();
  return done;
}

absl::Status TransactionImpl::FreeOwnChains() {
  if (!unplaced_chain_.empty()) {
    LATCHKEY_RETURN_IF_ERROR(context_.overflow.Free(unplaced_chain_.view(), ChainOwner()));
    unplaced_chain_.clear();
  }
  for (; !replaced_chains_.empty(); replaced_chains_.pop_back()) {
    LATCHKEY_RETURN_IF_ERROR(context_.overflow.Free(replaced_chains_.back().view(), ChainOwner()));
  }
  return absl::OkStatus();
}

// The write stays done. The chain that it replaced is freed once there is memory.
absl::Status TransactionImpl::FreeReplaced(const OverflowReference& chain) {
  const absl::Status freed =
      CatchOutOfMemory([&] { return context_.overflow.Free(chain.view(), ChainOwner()); });
  if (!IsOutOfMemory(freed)) return freed;
  replaced_chains_.push_back(chain);  // TryWrite has made room for it
  return absl::OkStatus();
}

absl::Status TransactionImpl::Delete(TreeImpl& tree, std::string_view key) {
  LATCHKEY_RETURN_IF_ERROR(CheckWritable());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  Write write{.mode = Mode::kDelete,
              .tree = tree,
              .key = key,
              .stored = {},
              .state = RecordState::kGhost,
              .read_reference = {},
              .replaced_chain = {}};
  return Run(write);
}

absl::Status TransactionImpl::Run(Write& write) {
  if (absl::Status admitted = context_.versions.AdmitWrite(txn_); !admitted.ok()) {
    return absl::IsAborted(admitted) ? AbortFor(std::move(admitted)) : admitted;
  }
  if (std::find(trees_.begin(), trees_.end(), &write.tree) == trees_.end()) {
    LATCHKEY_RETURN_IF_ERROR(EnterTree(write.tree));
  }
  for (Nanos deadline = 0;;) {
    if (log_ != nullptr && write.mode != Mode::kLock) {
      LATCHKEY_RETURN_IF_ERROR(log_->ReserveChange(log_txn_));
    }
    WriterRef owner;
    absl::StatusOr<Outcome> outcome = TryWrite(write, &owner);
    if (!outcome.ok()) {
      absl::Status status = std::move(outcome).status();
      return absl::IsAborted(status) ? AbortFor(std::move(status)) : status;
    }
    switch (*outcome) {
      case Outcome::kDone:
        if (write.replaced_chain.empty()) return absl::OkStatus();
        return FreeReplaced(write.replaced_chain);
      case Outcome::kWait:
        if (deadline == 0) deadline = context_.versions.WaitDeadline();
        if (absl::Status waited = context_.versions.WaitFor(txn_, owner, deadline); !waited.ok()) {
          is_vain_to_repeat_ = txn_.is_vain_to_repeat();
          return AbortFor(std::move(waited));
        }
        break;
      case Outcome::kSplit:
        LATCHKEY_RETURN_IF_ERROR(write.tree.btree.Split(
            context_.pool.Here(), {.key = write.key, .value_size = write.stored.size()}));
        break;
    }
  }
}

absl::Status TransactionImpl::FixRecord(TreeImpl& tree, std::string_view key, ExclusiveGuard* leaf,
                                        SlotPosition* position) {
  PoolActor& actor = context_.pool.Here();
  NoteUser(actor.index);
  const KnownLeaf* known = known_leaves_.Find(tree, key);
  if (known != nullptr && context_.pool.TryRefix(actor, known->leaf, leaf)) {
    *position = known->position;
    return absl::OkStatus();
  }
  if (last_written_.tree != &tree) last_written_ = {.tree = &tree, .hint = {}};
  LATCHKEY_RETURN_IF_ERROR(tree.btree.FixLeaf(actor, key, leaf, &last_written_.hint));
  *position = LatchedNodeView(leaf->data(), tree.btree.page_size()).LowerBound(key);
  return absl::OkStatus();
}

absl::StatusOr<TransactionImpl::Outcome> TransactionImpl::TryWrite(Write& write,
                                                                   WriterRef* wait_for) {
  BTree& btree = write.tree.btree;
  const uint64_t hash = context_.versions.PrepareWrite(write.tree.id, write.key);
  ExclusiveGuard guard;
  SlotPosition position;
  LATCHKEY_RETURN_IF_ERROR(FixRecord(write.tree, write.key, &guard, &position));
  const LatchedNodeView leaf(guard.data(), btree.page_size());
  const TxnId mark = leaf.last_writer();
  const WriteCheck check = context_.versions.CheckWrite(txn_, hash, write.tree.id, write.key, mark);
  if (check.verdict == WriteCheck::Verdict::kWait) {
    *wait_for = check.owner;
    return Outcome::kWait;
  }
  if (check.verdict == WriteCheck::Verdict::kRefused) return check.refusal;

  const OldVersion old = OldVersionOf(leaf, position);
  const bool exists = HasValue(old.state);
  if (write.mode != Mode::kPut) txn_.NoteRead();  // the result tells whether the key is there
  if ((write.mode == Mode::kInsert && exists) || (write.mode == Mode::kDelete && !exists)) {
    if (!LATCHKEY_CANARY("failed-write-not-noted")) {
      context_.versions.NoteRead(txn_, write.tree.id, write.key);
    }
    return exists ? absl::AlreadyExistsError("the key is there") : NoSuchKey();
  }
  if (write.mode == Mode::kPut || write.mode == Mode::kInsert) {
    if (!leaf.HasRoomFor(position, write.key, write.stored.size())) return Outcome::kSplit;
  }
  const Change change = write.mode == Mode::kLock     ? Change::kLock
                        : write.mode == Mode::kDelete ? Change::kDelete
                                                      : Change::kPut;
  // Behind Install nothing may fail: every step that takes memory comes before it.
  const bool is_chain = old.state == RecordState::kOverflow;
  EngineLog::SupersededChain superseded;
  if (is_chain && write.mode != Mode::kLock) {
    replaced_chains_.reserve(replaced_chains_.size() + 1);
    if (log_ != nullptr) superseded = EngineLog::PrepareSuperseded(ChainOf(old.bytes));
  }
  if (write.mode == Mode::kLock && exists && !is_chain) write.read->reserve(old.bytes.size());
  const bool store_owns_old =
      context_.versions.Install(txn_, check, write.tree.id, write.key, old, change);
  if (write.mode == Mode::kLock) {
    // Raised as for a write, so that another writer finds the lock.
    if (mark < txn_.id()) {
      if (log_ != nullptr) log_->LogMark(guard);
      NodeEditor(guard.Mutable(), btree.page_size()).set_last_writer(txn_.id());
    }
    if (!exists) return NoSuchKey();
    if (is_chain) {
      write.read_reference = OverflowReference(old.bytes);
    } else {
      write.read->assign(old.bytes);
    }
    known_leaves_.Remember(write.tree, write.key,
                           {context_.pool.UnfixToOptimistic(std::move(guard)), position});
    return Outcome::kDone;
  }
  const bool gone = !store_owns_old || LATCHKEY_CANARY("old-value-freed-at-once");
  if (gone && is_chain) write.replaced_chain = OverflowReference(old.bytes);
  if (log_ != nullptr) LogWrite(write, guard, old, store_owns_old, std::move(superseded));
  NodeEditor editor(guard.Mutable(), btree.page_size(), context_.pool.Here().scratch.get());
  editor.set_last_writer(std::max(mark, txn_.id()));
  Apply(write, editor, position);
  ++writes_;
  return Outcome::kDone;
}

void TransactionImpl::Apply(Write& write, NodeEditor leaf, SlotPosition position) {
  // A ghost keeps only its key. Snapshots that need the value find it in the version store.
  const RecordFlags flags = FlagsOf(write.state);
  const bool done = position.exact ? leaf.ReplaceValue(position.slot, write.stored, flags)
                                   : leaf.Insert(position.slot, write.key, write.stored, flags);
  LATCHKEY_CHECK(done);
}

// ---- Logging

LogTxn* TransactionImpl::ChainOwner() {
  if (log_ == nullptr) return nullptr;
  context_.versions.EnsureWriter(txn_);
  log_txn_.set_id(txn_.id());
  return &log_txn_;
}

void TransactionImpl::LogWrite(const Write& write, ExclusiveGuard& leaf, const OldVersion& old,
                               bool store_owns_old, EngineLog::SupersededChain superseded) {
  log_txn_.set_id(txn_.id());
  log_->LogChange(log_txn_,
                  {.tree = write.tree.id,
                   .page = leaf.page(),
                   .key = write.key,
                   .now = write.state,
                   .now_bytes = write.stored,
                   .before = old.state,
                   .before_bytes = old.bytes},
                  leaf.Mutable());
  // Noted after the record: a checkpoint in between finds the transaction running.
  if (store_owns_old && old.state == RecordState::kOverflow) {
    log_->NoteSuperseded(log_txn_, std::move(superseded));
  }
}

void TransactionImpl::LogUndo(TreeImpl& tree, const Undo& undo, std::string_view own_chain,
                              ExclusiveGuard& leaf) {
  log_->LogCompensation(
      log_txn_,
      {.tree = tree.id,
       .page = leaf.page(),
       .key = undo.key,
       .now = undo.old.state,
       .now_bytes = undo.old.bytes,
       .before = own_chain.empty() ? RecordState::kAbsent : RecordState::kOverflow,
       .before_bytes = own_chain,
       .undone_from = Lsn{Raw(undo.as_of) + 1}},
      leaf.Mutable());
  if (undo.old.state == RecordState::kOverflow) log_->ForgetSuperseded(ChainOf(undo.old.bytes));
}

// ---- Ending

absl::Status TransactionImpl::Commit() {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  NoteUser(context_.pool.runtime().ActorIndex());
  if (absl::Status freed = FreeOwnChains(); IsOutOfMemory(freed)) return freed;
  if (log_ != nullptr && log_txn_.active()) {
    if (absl::Status writable = log_->CheckWritable(); !writable.ok()) {
      return AbortFor(std::move(writable));
    }
  }
  if (log_ == nullptr && !trees_.empty()) {
    if (absl::Status writable = context_.pool.store().WriteStatus(); !writable.ok()) {
      return AbortFor(std::move(writable));
    }
  }
  Lsn commit{0};
  const absl::StatusOr<Committed> done = context_.versions.TryCommit(
      txn_, [&](CommitTs) { return log_ == nullptr || log_->TryLogCommit(log_txn_, &commit); },
      [&] { log_->AwaitCommitBuffer(); });
  if (!done.ok()) return AbortFor(done.status());
  last_commit_ = done->ts;
  LeaveTrees();
  absl::Status acknowledged;
  if (log_ != nullptr) {
    log_->ReleaseSpace(log_txn_);
    acknowledged = log_->WaitDurable(commit);
  }
  // Only now: the commit's sync, which other commits may wait for, began at once.
  context_.versions.CollectAfter(*done);
  return acknowledged;
}

absl::StatusOr<Savepoint> TransactionImpl::SetSavepoint() {
  LATCHKEY_RETURN_IF_ERROR(CheckWritable());
  return Savepoint(context_.versions.SetSavepoint(txn_, log_txn_.last()), DatabaseNumber());
}

absl::Status TransactionImpl::RollbackTo(const Savepoint& savepoint) {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  if (savepoint.database_ != DatabaseNumber()) {
    return absl::InvalidArgumentError(
        "the Savepoint is empty or of another database: use one that SetSavepoint of this "
        "transaction has returned");
  }
  NoteUser(context_.pool.runtime().ActorIndex());
  if (log_ != nullptr) log_->BeginUndo(log_txn_);
  absl::Status done = context_.versions.RollbackTo(
      txn_, savepoint.id_, [this](const Undo& undo) { return RestoreIn(undo); });
  ++writes_;
  // After a commit no transaction would own this chain. After an abort the next open frees it.
  if (done.ok()) done = chain_left_;
  return done.ok() || absl::IsInvalidArgument(done) ? done : AbortFor(std::move(done));
}

absl::Status TransactionImpl::Rollback() {
  if (!txn_.active()) return absl::OkStatus();
  NoteUser(context_.pool.runtime().ActorIndex());
  if (log_ != nullptr) log_->BeginUndo(log_txn_);
  RollbackResult done = context_.versions.Rollback(
      txn_, [this](const Undo& undo) { return RestoreIn(undo); },
      [this](bool all_restored) { return EndRollback(all_restored); });
  if (log_ == nullptr) FreeOwnChainsInRollback();  // of one that has written a chain only
  if (log_ != nullptr) log_->ReleaseSpace(log_txn_);
  if (done.outcome == RollbackOutcome::kRolledBack) LeaveTrees();
  trees_.clear();  // after a failure the keys in them stay locked
  ++writes_;
  absl::Status left = std::exchange(chain_left_, absl::OkStatus());
  if (done.outcome == RollbackOutcome::kUndoFailed) {
    if (log_ == nullptr) context_.holds_uncommitted = true;
    return std::move(done.error);
  }
  if (!left.ok()) return left;
  // Every record is restored. Keys stay locked only if memory ran out before a chain was freed.
  return done.outcome == RollbackOutcome::kKeptLocked ? NoMemoryForRollback() : absl::OkStatus();
}

// Repeats a step of a rollback for a while when memory runs out: other actors may free some in that
// time.
TransactionImpl::StepResult TransactionImpl::AwaitMemoryFor(
    absl::FunctionRef<absl::Status()> step) {
  for (Backoff backoff(context_.pool.runtime());; backoff.Pause()) {
    absl::Status done = CatchOutOfMemory(step);
    if (done.ok()) return {StepOutcome::kDone, absl::OkStatus()};
    if (!IsOutOfMemory(done)) return {StepOutcome::kFailed, std::move(done)};
    if (backoff.attempts() < memory_patience_) continue;
    memory_patience_ = 0;  // the next steps do not wait again
    return {StepOutcome::kNoMemory, NoMemoryForRollback()};
  }
}

absl::Status TransactionImpl::RestoreIn(const Undo& undo) {
  return AwaitMemoryFor([&] { return TryRestoreIn(undo); }).status;
}

TransactionImpl::StepResult TransactionImpl::FreeInRollback(std::string_view chain) {
  if (chain.empty()) return {StepOutcome::kDone, absl::OkStatus()};
  StepResult freed = AwaitMemoryFor(
      [&] { return context_.overflow.Free(chain, log_ != nullptr ? &log_txn_ : nullptr); });
  // Without a log the next open does not know of this chain, so it waits in memory.
  if (freed.outcome == StepOutcome::kNoMemory && log_ == nullptr &&
      context_.overflow.FreeLater(chain)) {
    return {StepOutcome::kDone, absl::OkStatus()};
  }
  return freed;
}

bool TransactionImpl::FreeOwnChainsInRollback() {
  bool had_memory = FreeInRollback(unplaced_chain_.view()).outcome != StepOutcome::kNoMemory;
  unplaced_chain_.clear();
  for (const OverflowReference& chain : replaced_chains_) {
    had_memory &= FreeInRollback(chain.view()).outcome != StepOutcome::kNoMemory;
  }
  replaced_chains_.clear();
  return had_memory;
}

absl::Status TransactionImpl::TryRestoreIn(const Undo& undo) {
  for (TreeImpl* tree : trees_) {
    if (tree->id == undo.tree) return Restore(*tree, undo);
  }
  LATCHKEY_CHECK(false);
  return absl::OkStatus();
}

bool TransactionImpl::EndRollback(bool all_restored) {
  bool all_freed = FreeOwnChainsInRollback() && chain_left_.ok();
  if (log_ == nullptr) return true;
  if (all_restored) {
    context_.versions.TakeSavedChains(txn_, [&](std::string_view chain) {
      all_freed &= FreeInRollback(chain).outcome != StepOutcome::kNoMemory;
    });
  }
  // A chain that is left over is freed by the undo of the next open. An end record would prevent
  // that undo.
  all_restored &= all_freed;
  if (all_restored) {
    log_->LogEnd(log_txn_);
  } else {
    log_->Abandon(log_txn_);
  }
  return all_restored;
}

absl::Status TransactionImpl::AbortFor(absl::Status why) {
  LATCHKEY_RETURN_IF_ERROR(Rollback());
  return why;
}

absl::Status TransactionImpl::Restore(TreeImpl& tree, const Undo& undo) {
  OverflowReference own_chain;
  const auto restore = [&](ExclusiveGuard& guard, SlotPosition position) {
    LATCHKEY_CHECK(position.exact);  // our own write: no other transaction may remove it
    NodeEditor leaf(guard.Mutable(), tree.btree.page_size(), context_.pool.Here().scratch.get());
    if (StateOf(leaf.flags(position.slot)) == RecordState::kOverflow) {
      own_chain = OverflowReference(leaf.Value(position.slot));
    }
    const bool unlogged = LATCHKEY_CANARY("rollback-without-compensation");
    if (log_ != nullptr && !unlogged) LogUndo(tree, undo, own_chain.view(), guard);
    if (undo.old.state == RecordState::kAbsent) {
      leaf.Remove(position.slot);
    } else {
      LATCHKEY_CHECK(leaf.ReplaceValue(position.slot, undo.old.bytes, FlagsOf(undo.old.state)));
    }
    return absl::OkStatus();
  };
  LATCHKEY_RETURN_IF_ERROR(ChangeLeaf(tree.btree, undo.key, undo.old.bytes.size(),
                                      /*must_not_fail=*/true, restore));
  if (own_chain.empty()) return absl::OkStatus();
  // The record is restored; a second restore would be wrong. So a failure to free is only kept.
  StepResult freed = FreeInRollback(own_chain.view());
  if (freed.outcome != StepOutcome::kDone && chain_left_.ok()) {
    chain_left_ = std::move(freed.status);
  }
  return absl::OkStatus();
}

}  // namespace latchkey
