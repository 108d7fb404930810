#include "engine/transaction/transaction_reader.h"

#include <algorithm>

#include "engine/btree/node.h"
#include "engine/btree/record_state.h"
#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<bool> TransactionReader::HoldRecord(PoolActor& actor, TreeImpl& tree,
                                                   std::string_view key, KnownLeaf* found,
                                                   SharedGuard* held) {
  const KnownLeaf* known = state_.known_leaves.Find(tree, key);
  if (known != nullptr && state_.context.pool.TryRefix(actor, known->leaf, held)) {
    *found = {state_.context.pool.Observe(*held), known->position};
    return true;
  }
  LATCHKEY_RETURN_IF_ERROR(tree.btree.LatchLeaf(actor, key, held));
  found->leaf = state_.context.pool.Observe(*held);
  found->position = NodeView(found->leaf.data(), tree.btree.page_size()).LowerBound(key);
  return false;
}

absl::StatusOr<bool> TransactionReader::FindRecord(PoolActor& actor, TreeImpl& tree,
                                                   std::string_view key, KnownLeaf* found) {
  const KnownLeaf* known = state_.known_leaves.Find(tree, key);
  if (known != nullptr) {
    tree.btree.Enter(actor);
    if (state_.context.pool.TryRefix(actor, known->leaf)) {
      *found = *known;
      return true;
    }
  }
  LATCHKEY_RETURN_IF_ERROR(tree.btree.FindLeaf(actor, key, &found->leaf));
  found->position = NodeView(found->leaf.data(), tree.btree.page_size()).LowerBound(key);
  return false;
}

template <typename Follow>
absl::Status TransactionReader::Read(TreeImpl& tree, std::string_view key, std::string* value,
                                     Follow follow) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckActive());
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  TransactionContext& context = state_.context;
  PoolActor& actor = context.pool.Here();
  state_.NoteUser(actor.index);
  const Snapshot& snapshot = context.snapshots.ForReading(state_.txn);
  context.versions.NoteRead(state_.txn, tree.id, key);
  if (__builtin_expect(context.ranges.any(), 0) &&
      context.ranges.Hides(tree, key, snapshot.read_ts)) {
    return NoSuchKey();
  }
  for (Backoff backoff(context.pool.runtime());; backoff.Pause()) {
    KnownLeaf found;
    SharedGuard held;  // from some failed attempt on, so that the page stays in its frame
    const absl::StatusOr<bool> was_known =
        __builtin_expect(backoff.attempts() < tree.btree.unlatched_attempts(), 1)
            ? FindRecord(actor, tree, key, &found)
            : HoldRecord(actor, tree, key, &found, &held);
    if (!was_known.ok()) return tree.is_dropped() ? tree.Dropped() : was_known.status();
    const SlotPosition position = found.position;
    const NodeView leaf(found.leaf.data(), tree.btree.page_size());
    RecordState state = position.exact ? StateOf(leaf.flags(position.slot)) : RecordState::kAbsent;
    if (HasValue(state)) leaf.CopyValue(position.slot, value);
    bool from_page = true;  // false = the result rests on the versions alone
    if (!snapshot.SeesAllOf(leaf.last_writer())) {
      const Visible visible = context.versions.Lookup(state_.txn, tree.id, key, &scratch_);
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
          held.Unfix();  // the rollback latches leaves exclusively
          return AbortForAge();
      }
    }
    const bool is_valid = found.leaf.Validate();
    if (from_page && !is_valid) continue;
    held.Unfix();
    if (__builtin_expect(tree.is_dropped(), 0)) return tree.Dropped();  // may be another's leaf
    if (!HasValue(state)) return NoSuchKey();
    if (is_valid && !*was_known) state_.known_leaves.Remember(tree, key, found);
    if (state == RecordState::kValue) return absl::OkStatus();
    return follow();
  }
}

template <typename ReadHeld>
absl::Status TransactionReader::WithChains(ReadHeld read) {
  {
    OverflowStore& overflow = state_.context.overflow;
    if (LATCHKEY_CANARY("chain-read-unheld")) return read(overflow);
    const SnapshotHold hold(state_.txn);
    if (hold.held()) return read(overflow);
  }
  return AbortForAge();
}

absl::Status TransactionReader::Get(TreeImpl& tree, std::string_view key, std::string* value) {
  return Read(tree, key, value, [&] {
    scratch_.assign(*value);
    return ReadChain(scratch_, value);
  });
}

absl::Status TransactionReader::GetPart(TreeImpl& tree, std::string_view key, uint64_t offset,
                                        size_t size, std::string* part, uint64_t* value_size) {
  bool is_chain = false;
  LATCHKEY_RETURN_IF_ERROR(Read(tree, key, part, [&]() -> absl::Status {
    is_chain = true;
    scratch_.assign(*part);
    LATCHKEY_ASSIGN_OR_RETURN(*value_size, OverflowStore::SizeOf(scratch_));
    return WithChains(
        [&](OverflowStore& overflow) { return overflow.ReadPart(scratch_, offset, size, part); });
  }));
  if (is_chain) return absl::OkStatus();
  *value_size = part->size();
  part->erase(0, std::min<uint64_t>(offset, part->size()));
  if (part->size() > size) part->resize(size);
  return absl::OkStatus();
}

absl::Status TransactionReader::ReadChain(std::string_view reference, std::string* value) {
  return WithChains([&](OverflowStore& overflow) { return overflow.Read(reference, value); });
}

}  // namespace latchkey
