#include "engine/transaction/transaction_writer.h"

#include <algorithm>
#include <utility>

#include "engine/btree/leaf_change.h"
#include "engine/btree/record_state.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

// One write of a transaction, from the request to the record.
struct TransactionWriter::Write {
  Mode mode;
  TreeImpl& tree;
  std::string_view key;
  std::string_view stored;                  // the value, or the reference to its overflow chain
  RecordState state = RecordState::kValue;  // of the record after the write; unless kLock
  std::string* read = nullptr;              // kLock: receives the value
  OverflowReference read_reference{};       // kLock: the value is behind this overflow reference
  OverflowReference replaced_chain{};       // own overflow chain that this write replaced
  bool fills_leaf = false;                  // another such record would not fit into its leaf
};

// The place of a key in its latched leaf, and what is there.
struct TransactionWriter::Place {
  ExclusiveGuard leaf;
  SlotPosition position;
  WriteCheck check;
  OldVersion old;
  TxnId mark{0};  // of the leaf
};

namespace {

OldVersion OldVersionOf(const LatchedNodeView& leaf, SlotPosition position) {
  if (!position.exact) return {.state = RecordState::kAbsent, .bytes = {}};
  const RecordState state = StateOf(leaf.flags(position.slot));
  if (state == RecordState::kGhost) return {.state = state, .bytes = {}};
  return {.state = state, .bytes = leaf.Value(position.slot)};
}

}  // namespace

// ---- Requests

absl::Status TransactionWriter::GetForUpdate(TreeImpl& tree, std::string_view key,
                                             std::string* value) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckWritable());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  Write write{.mode = Mode::kLock, .tree = tree, .key = key, .stored = {}, .read = value};
  LATCHKEY_RETURN_IF_ERROR(Run(write));
  if (write.read_reference.empty()) return absl::OkStatus();
  return state_.context.overflow.Read(write.read_reference.view(), value);
}

absl::Status TransactionWriter::LockKey(TreeImpl& tree, std::string_view key) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckWritable());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  Write write{.mode = Mode::kLock, .tree = tree, .key = key, .stored = {}, .read = &locked_value_};
  absl::Status locked = Run(write);
  return absl::IsNotFound(locked) ? absl::OkStatus() : locked;
}

absl::Status TransactionWriter::Delete(TreeImpl& tree, std::string_view key) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckWritable());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  // A ghost keeps only its key. Snapshots that need the value find it in the version store.
  Write write{
      .mode = Mode::kDelete, .tree = tree, .key = key, .stored = {}, .state = RecordState::kGhost};
  return Run(write);
}

absl::Status TransactionWriter::PutWith(Mode mode, TreeImpl& tree, std::string_view key,
                                        std::string_view value) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckWritable());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  if (value.size() > Database::kMaxValueSize) {
    return InvalidArgument("a value of {} bytes is too large: values have 0 to {} bytes",
                           value.size(), Database::kMaxValueSize);
  }
  Write write{.mode = mode, .tree = tree, .key = key, .stored = value};
  if (value.size() <= MaxInlineValue(tree.btree.page_size(), key.size())) return Run(write);
  LATCHKEY_RETURN_IF_ERROR(NoteChains(tree));
  LATCHKEY_ASSIGN_OR_RETURN(const OverflowReference chain, state_.chains.Write(value));
  return PlaceChain(mode, tree, key, chain);
}

absl::Status TransactionWriter::NoteChains(TreeImpl& tree) {
  return tree.btree.may_name_chains() ? absl::OkStatus() : state_.context.note_chains(tree);
}

absl::Status TransactionWriter::PlaceChain(Mode mode, TreeImpl& tree, std::string_view key,
                                           const OverflowReference& chain) {
  Write write{.mode = mode,
              .tree = tree,
              .key = key,
              .stored = chain.view(),
              .state = RecordState::kOverflow};
  absl::Status done = CatchOutOfMemory([&] { return Run(write); });
  if (done.ok()) {
    state_.chains.NotePlaced();
  } else {
    state_.chains.FreeUnplaced();
  }
  return done;
}

// ---- Attempts

absl::Status TransactionWriter::Run(Write& write) {
  TransactionContext& context = state_.context;
  if (absl::Status admitted = context.versions.AdmitWrite(state_.txn); !admitted.ok()) {
    return absl::IsAborted(admitted) ? rollback_.Abort(std::move(admitted)) : admitted;
  }
  if (!state_.trees.Contains(write.tree)) {
    LATCHKEY_RETURN_IF_ERROR(state_.trees.Enter(state_.txn, write.tree));
  }
  if (__builtin_expect(context.ranges.any(), 0)) LATCHKEY_RETURN_IF_ERROR(PassRanges(write));
  for (LockWait wait;;) {
    if (state_.log != nullptr && write.mode != Mode::kLock) {
      LATCHKEY_RETURN_IF_ERROR(state_.log->ReserveChange(state_.log_txn));
    }
    WriterRef owner;
    absl::StatusOr<Outcome> outcome = TryWrite(write, &owner);
    if (!outcome.ok()) {
      absl::Status status = std::move(outcome).status();
      return absl::IsAborted(status) ? rollback_.Abort(std::move(status)) : status;
    }
    switch (*outcome) {
      case Outcome::kDone:
        if (!write.replaced_chain.empty()) state_.chains.FreeReplaced(write.replaced_chain);
        if (write.fills_leaf) SplitAhead(write.tree.btree, write.key, write.stored.size());
        return absl::OkStatus();
      case Outcome::kWait:
        if (absl::Status waited = context.versions.WaitFor(state_.txn, owner, wait); !waited.ok()) {
          state_.is_vain_to_repeat = state_.txn.is_vain_to_repeat();
          return rollback_.Abort(std::move(waited));
        }
        break;
      case Outcome::kSplit:
        LATCHKEY_RETURN_IF_ERROR(write.tree.btree.Split(
            context.pool.Here(), {.key = write.key, .value_size = write.stored.size()}));
        break;
    }
  }
}

absl::Status TransactionWriter::PassRanges(const Write& write) {
  TransactionContext& context = state_.context;
  absl::Status passed = context.ranges.Pass(context.snapshots, context.versions, state_.txn,
                                            write.tree, write.key, &state_.is_vain_to_repeat);
  return passed.ok() ? passed : rollback_.Abort(std::move(passed));
}

absl::Status TransactionWriter::FixRecord(TreeImpl& tree, std::string_view key,
                                          ExclusiveGuard* leaf, SlotPosition* position) {
  PoolActor& actor = state_.context.pool.Here();
  state_.NoteUser(actor.index);
  const KnownLeaf* known = state_.known_leaves.Find(tree, key);
  if (known != nullptr) {
    tree.btree.Enter(actor);
    if (state_.context.pool.TryRefix(actor, known->leaf, leaf)) {
      *position = known->position;
      return absl::OkStatus();
    }
  }
  if (last_written_.tree != &tree) last_written_ = {.tree = &tree, .hint = {}};
  LATCHKEY_RETURN_IF_ERROR(tree.btree.FixLeaf(actor, key, leaf, &last_written_.hint));
  *position = LatchedNodeView(leaf->data(), tree.btree.page_size()).LowerBound(key);
  return absl::OkStatus();
}

absl::StatusOr<TransactionWriter::Outcome> TransactionWriter::TryWrite(Write& write,
                                                                       WriterRef* wait_for) {
  VersionStore& versions = state_.context.versions;
  const uint64_t hash = versions.PrepareWrite(write.tree.id, write.key);
  Place place;
  LATCHKEY_RETURN_IF_ERROR(FixRecord(write.tree, write.key, &place.leaf, &place.position));
  const LatchedNodeView leaf(place.leaf.data(), write.tree.btree.page_size());
  place.mark = leaf.last_writer();
  place.check = versions.CheckWrite(state_.txn, hash, write.tree.id, write.key, place.mark,
                                    /*has_record=*/place.position.exact);
  if (place.check.verdict == WriteCheck::Verdict::kWait) {
    *wait_for = place.check.owner;
    return Outcome::kWait;
  }
  if (place.check.verdict == WriteCheck::Verdict::kRefused) return place.check.refusal;

  place.old = OldVersionOf(leaf, place.position);
  if (write.mode != Mode::kPut) {
    state_.txn.NoteRead();  // the result tells whether the key is there
    LATCHKEY_RETURN_IF_ERROR(RefuseFor(write, HasValue(place.old.state)));
  }
  if (write.mode == Mode::kLock) {
    LATCHKEY_RETURN_IF_ERROR(Lock(write, place));
    return Outcome::kDone;
  }
  if (write.mode != Mode::kDelete &&
      !leaf.HasRoomFor(place.position, write.key, write.stored.size())) {
    return Outcome::kSplit;
  }
  Replace(write, place);
  return Outcome::kDone;
}

absl::Status TransactionWriter::RefuseFor(const Write& write, bool exists) {
  const bool refused =
      (write.mode == Mode::kInsert && exists) || (write.mode == Mode::kDelete && !exists);
  if (!refused) return absl::OkStatus();
  if (!LATCHKEY_CANARY("failed-write-not-noted")) {
    state_.context.versions.NoteRead(state_.txn, write.tree.id, write.key);
  }
  return exists ? absl::AlreadyExistsError("the key is there") : NoSuchKey();
}

absl::Status TransactionWriter::Lock(Write& write, Place& place) {
  const bool exists = HasValue(place.old.state);
  const bool is_chain = place.old.state == RecordState::kOverflow;
  // Behind Install nothing may fail: every step that takes memory comes before it.
  if (exists && !is_chain) write.read->reserve(place.old.bytes.size());
  state_.context.versions.Install(state_.txn, place.check, write.tree.id, write.key, place.old,
                                  Change::kLock);
  // Raised as for a write, so that another writer finds the lock.
  if (place.mark < state_.txn.id()) {
    if (state_.log != nullptr) state_.log->LogMark(place.leaf);
    NodeEditor(place.leaf.Mutable(), write.tree.btree.page_size()).set_last_writer(state_.txn.id());
  }
  if (!exists) return NoSuchKey();
  if (is_chain) {
    write.read_reference = OverflowReference(place.old.bytes);
  } else {
    write.read->assign(place.old.bytes);
  }
  state_.known_leaves.Remember(
      write.tree, write.key,
      {state_.context.pool.UnfixToOptimistic(std::move(place.leaf)), place.position});
  return absl::OkStatus();
}

void TransactionWriter::Replace(Write& write, Place& place) {
  TransactionContext& context = state_.context;
  const bool is_chain = place.old.state == RecordState::kOverflow;
  // Behind Install nothing may fail: every step that takes memory comes before it.
  EngineLog::SupersededChain superseded;
  if (is_chain) {
    state_.chains.ReserveReplaced();
    if (state_.log != nullptr) {
      superseded = EngineLog::PrepareSuperseded(ChainOf(place.old.bytes));
    }
  }
  if (!place.position.exact && context.versions.gaps().IsWanted(state_.txn.snapshot().read_ts)) {
    NoteGap(write, place);
  }
  const Change change = write.mode == Mode::kDelete ? Change::kDelete : Change::kPut;
  const bool store_owns_old = context.versions.Install(state_.txn, place.check, write.tree.id,
                                                       write.key, place.old, change);
  const bool gone = !store_owns_old || LATCHKEY_CANARY("old-value-freed-at-once");
  if (gone && is_chain) write.replaced_chain = OverflowReference(place.old.bytes);
  if (state_.log != nullptr) Log(write, place, store_owns_old, std::move(superseded));
  NodeEditor leaf(place.leaf.Mutable(), write.tree.btree.page_size(),
                  context.pool.Here().scratch.get());
  leaf.set_last_writer(std::max(place.mark, state_.txn.id()));
  const RecordFlags flags = FlagsOf(write.state);
  const bool done = place.position.exact
                        ? leaf.ReplaceValue(place.position.slot, write.stored, flags)
                        : leaf.Insert(place.position.slot, write.key, write.stored, flags);
  LATCHKEY_CHECK(done);
  ++state_.writes;
  // With a change buffer, a full leaf that leaves its frame would be read again only to be split.
  write.fills_leaf = context.changes != nullptr && !place.position.exact &&
                     !leaf.HasRoomFor(write.key, write.stored.size());
}

// A gap begins at the key to the left in the leaf, and ends at the key to the right or at the end of
// the leaf.
void TransactionWriter::NoteGap(const Write& write, const Place& place) {
  const LatchedNodeView leaf(place.leaf.data(), write.tree.btree.page_size());
  EmptyGaps& gaps = state_.context.versions.gaps();
  const uint32_t slot = place.position.slot;
  char left[kMaxNodeKeySize];
  size_t left_size = 0;
  const uint32_t distance = slot > 1 && LATCHKEY_CANARY("gap-covers-a-record") ? 2 : 1;
  if (slot == 0 || !leaf.CopyKey(slot - distance, left, &left_size)) return;
  const std::string_view lower(left, left_size);
  if (!gaps.IsWorthNoting(write.tree.id, write.key, lower)) return;
  CatchOutOfMemory([&] {
    EmptyGaps::Ends ends{.lower = std::string(lower), .upper = {}};
    if (slot < leaf.count()) {
      if (!leaf.AppendKey(slot, &ends.upper)) return absl::OkStatus();
    } else {
      DescentHint hint;
      OwnedFences fences;
      const bool found =
          write.tree.btree.PeekLeaf(state_.context.pool.Here(), write.key, &hint, &fences);
      if (!found || hint.leaf != place.leaf.page() || !hint.parent.Validate()) {
        return absl::OkStatus();
      }
      ends.upper = std::move(fences.upper);
      ends.has_upper = fences.has_upper;
    }
    gaps.Note(write.tree.id, std::move(ends));
    return absl::OkStatus();
  }).IgnoreError();
}

void TransactionWriter::Log(const Write& write, Place& place, bool store_owns_old,
                            EngineLog::SupersededChain superseded) {
  state_.log_txn.set_id(state_.txn.id());
  state_.log->LogChange(state_.log_txn,
                        {.tree = write.tree.id,
                         .page = place.leaf.page(),
                         .key = write.key,
                         .now = write.state,
                         .now_bytes = write.stored,
                         .before = place.old.state,
                         .before_bytes = place.old.bytes},
                        place.leaf.Mutable());
  // Noted after the record: a checkpoint in between finds the transaction running.
  if (store_owns_old && place.old.state == RecordState::kOverflow) {
    state_.log->NoteSuperseded(state_.log_txn, std::move(superseded));
  }
}

}  // namespace latchkey
