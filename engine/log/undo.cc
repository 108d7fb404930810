#include "engine/log/undo.h"

#include <algorithm>

#include "engine/btree/node.h"
#include "engine/btree/record_state.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {

void UndoneChanges::AddCompensation(Lsn lsn, const RecordChange& compensation) {
  if (Contain(lsn, compensation)) return;  // itself undone
  from_[{Raw(compensation.tree), std::string(compensation.key)}] = compensation.undone_from;
}

bool UndoneChanges::Contain(Lsn lsn, const RecordChange& change) const {
  if (from_.empty()) return false;
  const auto it = from_.find({Raw(change.tree), std::string(change.key)});
  return it != from_.end() && Raw(lsn) >= Raw(it->second);
}

absl::Status UndoPass::Run() {
  std::vector<Loser> losers;
  for (const LogAnalysis::Loser& loser : analysis_.Losers()) {
    losers.push_back({std::make_unique<LogTxn>(), loser.last, {}});
    log_.Adopt(*losers.back().txn, loser.id, loser.first, loser.last);
    for (const Lsn allocation : loser.allocations) {
      LATCHKEY_RETURN_IF_ERROR(FreeAllocation(losers.back(), allocation));
    }
  }
  const auto older = [](const Loser& a, const Loser& b) { return Raw(a.next) < Raw(b.next); };
  std::make_heap(losers.begin(), losers.end(), older);
  while (!losers.empty()) {
    std::pop_heap(losers.begin(), losers.end(), older);
    Loser& newest = losers.back();
    if (newest.next == Lsn{0}) {
      LATCHKEY_RETURN_IF_ERROR(log_.ReserveUndo(*newest.txn));  // for the end record
      log_.LogEnd(*newest.txn);
      losers.pop_back();
      continue;
    }
    LATCHKEY_RETURN_IF_ERROR(Step(newest));
    std::push_heap(losers.begin(), losers.end(), older);
  }
  return absl::OkStatus();
}

absl::Status UndoPass::ReadRecord(const Loser& loser, Lsn lsn) {
  LATCHKEY_RETURN_IF_ERROR(log_.log().Read(lsn, &bytes_));
  LATCHKEY_RETURN_IF_ERROR(DecodeLogRecord(bytes_, &record_));
  if (record_.header.txn == loser.txn->id() && Raw(record_.header.previous) < Raw(lsn)) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the log at {}: transaction {} leads to a record of transaction {} that goes "
                    "on at {}",
                    Raw(lsn), Raw(loser.txn->id()), Raw(record_.header.txn),
                    Raw(record_.header.previous));
}

absl::Status UndoPass::Step(Loser& loser) {
  const Lsn lsn = loser.next;
  LATCHKEY_RETURN_IF_ERROR(ReadRecord(loser, lsn));
  loser.next = record_.header.previous;
  switch (record_.header.type) {
    case LogRecordType::kChange:
      if (loser.undone.Contain(lsn, record_.change)) return absl::OkStatus();
      return UndoChange(loser, lsn);
    case LogRecordType::kCompensation:
      loser.undone.AddCompensation(lsn, record_.change);
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

// Sets value_.
absl::Status UndoPass::StateBefore(Lsn lsn, const LatchedNodeView& leaf, SlotPosition position) {
  if (record_.change.is_difference) {
    value_.clear();
    if (position.exact && leaf.flags(position.slot) == RecordFlags{0}) {
      value_.assign(leaf.Value(position.slot));
    }
  }
  if (BytesBefore(record_.change, &value_)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the change logged at {} cannot be undone: its record is not as the change has "
                    "left it: log and pages do not belong together; restore a backup or salvage",
                    Raw(lsn));
}

absl::Status UndoPass::UndoChange(Loser& loser, Lsn lsn) {
  const RecordChange& change = record_.change;
  TreeImpl* tree = find_tree_(change.tree);
  if (tree == nullptr) return absl::OkStatus();
  if (LATCHKEY_CANARY("recovery-keeps-unfinished-inserts") &&
      change.before == RecordState::kAbsent) {
    return absl::OkStatus();
  }
  PoolActor& actor = pool_.Here();
  for (;;) {
    LATCHKEY_RETURN_IF_ERROR(log_.ReserveUndo(*loser.txn));
    ExclusiveGuard guard;
    LATCHKEY_RETURN_IF_ERROR(tree->btree.FixLeaf(actor, change.key, &guard));
    const LatchedNodeView view(guard.data(), pool_.page_size());
    const SlotPosition position = view.LowerBound(change.key);
    LATCHKEY_RETURN_IF_ERROR(StateBefore(lsn, view, position));
    if (change.before != RecordState::kAbsent &&
        !view.HasRoomFor(position, change.key, value_.size())) {
      guard.Unfix();
      LATCHKEY_RETURN_IF_ERROR(tree->btree.Split(
          actor, {.key = change.key, .value_size = value_.size()}, /*must_not_fail=*/true));
      continue;
    }
    log_.LogCompensation(*loser.txn,
                         {.tree = change.tree,
                          .page = guard.page(),
                          .key = change.key,
                          .now = change.before,
                          .now_bytes = value_,
                          .before_bytes = {},
                          .undone_from = lsn},
                         guard.Mutable());
    NodeEditor leaf(guard.Mutable(), pool_.page_size(), actor.scratch.get());
    bool done = true;
    if (change.before != RecordState::kAbsent) {
      const RecordFlags flags = FlagsOf(change.before);
      done = position.exact ? leaf.ReplaceValue(position.slot, value_, flags)
                            : leaf.Insert(position.slot, change.key, value_, flags);
    } else if (position.exact) {
      leaf.Remove(position.slot);
    }
    LATCHKEY_CHECK(done);
    ++undone_;
    return absl::OkStatus();
  }
}

absl::Status UndoPass::FreeAllocation(Loser& loser, Lsn lsn) {
  LATCHKEY_RETURN_IF_ERROR(ReadRecord(loser, lsn));
  std::erase_if(record_.pages, [&](PageId page) { return analysis_.IsFreedAfter(page, lsn); });
  if (record_.pages.empty()) return absl::OkStatus();
  LogSpace space;  // held until the pages are freed
  LATCHKEY_RETURN_IF_ERROR(log_.Reserve(1, /*must_not_fail=*/true, &space));
  log_.LogFree(loser.txn.get(), space, kInvalidPageId, record_.pages);
  for (const PageId page : record_.pages) {
    if (!pool_.store().IsAllocated(page)) continue;
    LATCHKEY_RETURN_IF_ERROR(pool_.FreePageById(pool_.Here(), page));
  }
  return absl::OkStatus();
}

}  // namespace latchkey
