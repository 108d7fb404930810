#include "engine/cursor_impl.h"

#include <algorithm>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr uint32_t kMaxReadAhead = 64;

}  // namespace

CursorImpl::CursorImpl(TransactionImpl& transaction, TreeImpl* tree, KeyRange range)
    : transaction_(transaction),
      tree_(tree),
      range_(std::move(range)),
      page_size_(transaction.context().pool.page_size()),
      page_(new std::byte[page_size_ + RecordCopies::kSlack]) {}

void CursorImpl::BeginAgain(TreeImpl* tree, KeyRange range) {
  tree_ = tree;
  range_ = std::move(range);
  guard_ = {};
  place_ = {};
  hidden_.clear();
  leaf_is_final_ = loaded_ = key_has_prefix_ = valid_ = false;
  slot_ = begin_slot_ = end_slot_ = 0;
  writes_seen_ = 0;
  leaves_walked_ = 0;
  walked_forward_ = true;
  range_read_ = {};
  status_ = absl::OkStatus();
  value_ = {};
}

absl::Status CursorImpl::CheckUsable() const {
  if (tree_ == nullptr) {
    return absl::InvalidArgumentError("the Tree handle is empty: get one from Database::OpenTree");
  }
  LATCHKEY_RETURN_IF_ERROR(transaction_.CheckUsable());  // first: a closed database has no trees
  return tree_->is_dropped() ? tree_->Dropped() : absl::OkStatus();
}

void CursorImpl::Fail(absl::Status status) {
  valid_ = false;
  loaded_ = false;
  status_ = std::move(status);
}

void CursorImpl::Start() {
  valid_ = false;
  loaded_ = false;
  leaves_walked_ = 0;
  place_ = {};
  status_ = CheckUsable();
}

bool CursorImpl::LoadLeaf(const LeafTarget& target) {
  const bool forward = target.kind == LeafTarget::Kind::kCovering;
  if (forward != walked_forward_) leaves_walked_ = 0;
  walked_forward_ = forward;
  // The first leaf of a scan reads nothing ahead: the scan may end in it. The next ones read 2, 4,
  // 8 and at last 64 leaves ahead.
  const uint32_t read_ahead =
      leaves_walked_ == 0 ? 0 : std::min(kMaxReadAhead, 1u << std::min(leaves_walked_, 8u));
  if (leaves_walked_ < 8) ++leaves_walked_;

  TransactionContext& context = transaction_.context();
  PoolActor& actor = context.pool.Here();
  transaction_.NoteUser(actor.index);
  const Snapshot& snapshot = context.snapshots.ForReading(transaction_.txn());
  // Asked before the leaf is read: if a range delete ends in between, the leaf has no record of it.
  hidden_.clear();
  if (__builtin_expect(context.ranges.any(), 0)) {
    hidden_ = context.ranges.HiddenIn(*tree_, snapshot.read_ts);
  }
  const absl::Status copied =
      tree_->btree.CopyLeaf(actor, target, read_ahead, page_.get(), &fences_, &guard_, &place_);
  if (tree_->is_dropped()) {  // the page may be another tree's by now
    Fail(tree_->Dropped());
    return false;
  }
  if (!copied.ok()) {
    Fail(copied);
    return false;
  }
  loaded_ = true;
  key_has_prefix_ = false;
  leaf_is_final_ = snapshot.SeesAllOf(leaf().last_writer());
  writes_seen_ = transaction_.writes();
  begin_slot_ = 0;
  end_slot_ = static_cast<int32_t>(leaf().count());
  // A leaf can be searched only for keys within its fences. A Seek may lead to a leaf beyond the
  // range.
  if (range_.from && (!fences_.has_lower || fences_.lower < *range_.from)) {
    const bool is_below = fences_.has_upper && fences_.upper <= *range_.from;
    begin_slot_ = is_below ? end_slot_ : static_cast<int32_t>(leaf().LowerBound(*range_.from).slot);
  }
  if (range_.to && (!fences_.has_upper || *range_.to < fences_.upper)) {
    const bool is_above = fences_.has_lower && *range_.to <= fences_.lower;
    end_slot_ = is_above ? 0 : static_cast<int32_t>(leaf().LowerBound(*range_.to).slot);
  }
  return true;
}

// The separators contradict those above them. Without this check the scan would never end.
bool CursorImpl::FailLeadingBack() {
  Fail(
      MakeStatus(absl::StatusCode::kDataLoss,
                 "tree \"{}\": the next leaf of a scan lies behind it: its inner pages are damaged",
                 tree_->name()));
  return false;
}

bool CursorImpl::LoadNeighbour(bool forward) {
  // A fence beyond the end of the range ends the scan without another leaf.
  if (forward) {
    if (!fences_.has_upper || (range_.to && *range_.to <= fences_.upper)) return false;
    target_key_.swap(fences_.upper);
    if (!LoadLeaf({.kind = LeafTarget::Kind::kCovering, .key = target_key_})) return false;
    if (fences_.has_upper && fences_.upper <= target_key_) return FailLeadingBack();
    slot_ = begin_slot_ + (LATCHKEY_CANARY("cursor-skips-at-a-leaf") ? 1 : 0);
    // A merge may have extended the leaf that covers the old upper fence to the left.
    if (fences_.lower != target_key_) {
      slot_ = std::max(begin_slot_, static_cast<int32_t>(leaf().LowerBound(target_key_).slot));
    }
    return true;
  }
  if (!fences_.has_lower || (range_.from && *range_.from >= fences_.lower)) return false;
  target_key_.swap(fences_.lower);
  if (!LoadLeaf({.kind = LeafTarget::Kind::kBelow, .key = target_key_})) return false;
  if (fences_.has_lower && fences_.lower >= target_key_) return FailLeadingBack();
  slot_ = end_slot_ - 1;
  if (!fences_.has_upper || fences_.upper != target_key_) {
    slot_ = std::min(end_slot_, static_cast<int32_t>(leaf().LowerBound(target_key_).slot)) - 1;
  }
  return true;
}

bool CursorImpl::Reload(bool forward) {
  target_key_ = key_;
  if (!LoadLeaf({.kind = LeafTarget::Kind::kCovering, .key = target_key_})) return false;
  const SlotPosition position = leaf().LowerBound(target_key_);
  slot_ = static_cast<int32_t>(position.slot);
  if (!position.exact && !forward) --slot_;
  return true;
}

CursorImpl::Sight CursorImpl::ShowOverflow(std::string_view reference) {
  const std::string bytes(reference);
  const absl::Status read = transaction_.ReadChain(bytes, &value_buffer_);
  if (!read.ok()) {
    Fail(read);
    return Sight::kVisible;  // ends the search; the cursor is not valid
  }
  value_ = value_buffer_;
  return Sight::kVisible;
}

bool CursorImpl::IsHidden(std::string_view key) const {
  return std::any_of(hidden_.begin(), hidden_.end(), [key](const KeyRange& range) {
    return (!range.from || *range.from <= key) && (!range.to || key < *range.to);
  });
}

CursorImpl::Sight CursorImpl::Look() {
  const LatchedNodeView node = leaf();
  if (!key_has_prefix_) {
    key_.clear();
    node.AppendPrefix(&key_);
    key_has_prefix_ = true;
  }
  RecordFlags flags;
  if (!node.ReadRecord(static_cast<uint32_t>(slot_), &key_, &value_, &flags)) {
    Fail(MakeStatus(absl::StatusCode::kDataLoss, "tree \"{}\": a leaf holds a damaged record",
                    tree_->name()));
    return Sight::kVisible;  // ends the search; the cursor is not valid
  }
  if (!hidden_.empty() && IsHidden(key_)) return Sight::kInvisible;
  valid_ = true;
  if (!leaf_is_final_) {
    TransactionContext& context = transaction_.context();
    const Visible visible =
        context.versions.Lookup(transaction_.txn(), tree_->id, key_, &value_buffer_);
    // An answer from the versions alone does not depend on the page.
    if (visible == Visible::kPage && !guard_.Validate()) return Sight::kStale;
    if (visible == Visible::kTooOld) {
      Fail(transaction_.AbortForAge());
      return Sight::kVisible;  // ends the search; the cursor is not valid
    }
    if (visible == Visible::kAbsent) return Sight::kInvisible;
    if (visible == Visible::kOldOverflow) return ShowOverflow(value_buffer_);
    if (visible == Visible::kOld) {
      value_ = value_buffer_;
      return Sight::kVisible;
    }
  }
  if (flags & kGhost) return Sight::kInvisible;
  if (flags & kOverflow) return ShowOverflow(value_);
  return Sight::kVisible;
}

void CursorImpl::Settle(bool forward) {
  const auto in_range = [&] { return slot_ >= begin_slot_ && slot_ < end_slot_; };
  for (;;) {
    while (in_range()) {
      switch (Look()) {
        case Sight::kVisible:
          return;
        case Sight::kStale:
          if (!Reload(forward)) return;
          continue;
        case Sight::kInvisible:
          slot_ += forward ? 1 : -1;
          // Deletes that an older snapshot does not see leave ghosts, and a scan may meet thousands of
          // them. In a final leaf the flags alone tell that a record is one.
          if (in_range() && leaf_is_final_) {
            slot_ = forward ? leaf().SkipGhosts(slot_, end_slot_, 1)
                            : leaf().SkipGhosts(slot_, begin_slot_ - 1, -1);
          }
          break;
      }
    }
    valid_ = false;
    // Outside on the far side: the range ends here. On the near side: the range begins further on.
    if (forward ? slot_ < begin_slot_ : slot_ >= end_slot_) {
      slot_ = forward ? begin_slot_ : end_slot_ - 1;
      if (begin_slot_ < end_slot_) continue;
    }
    if (!LoadNeighbour(forward)) {
      valid_ = false;
      return;
    }
  }
}

std::string CursorImpl::CopyForRange(std::string_view key) {
  return transaction_.txn().reads() == nullptr ? std::string() : std::string(key);
}

void CursorImpl::NoteSeek(bool forward, std::optional<std::string_view> from) {
  ReadSet* reads = transaction_.txn().reads();
  if (reads == nullptr || !status_.ok()) return;
  const std::string first = range_.from.value_or(std::string());
  if (forward) {
    range_read_ =
        reads->AddRange(tree_->id, from.value_or(first), valid_ ? KeyAfter(key_) : range_.to);
  } else {
    range_read_ =
        reads->AddRange(tree_->id, valid_ ? key_ : first, from ? KeyAfter(*from) : range_.to);
  }
  transaction_.context().versions.AccountReads(transaction_.txn());
}

void CursorImpl::NoteStep(bool forward) {
  ReadSet* reads = transaction_.txn().reads();
  if (reads == nullptr || !status_.ok() || LATCHKEY_CANARY("phantoms-not-noted")) return;
  if (!forward) {
    reads->ExtendDown(range_read_, valid_ ? key_ : range_.from.value_or(std::string()));
  } else if (valid_) {
    reads->ExtendUp(range_read_, KeyAfter(key_));
  } else {
    reads->ExtendUp(range_read_, range_.to);
  }
  transaction_.context().versions.AccountReads(transaction_.txn());
}

void CursorImpl::FailStep() {
  if (!valid_ && !status_.ok()) return;
  if (absl::Status usable = CheckUsable(); !usable.ok()) return Fail(std::move(usable));
  Fail(absl::FailedPreconditionError(
      "the cursor is not on a record (Valid() is false), so it has no next and no previous one: "
      "seek first"));
}

void CursorImpl::Step(bool forward) {
  if (__builtin_expect(!valid_ || !IsUsable(), 0)) return FailStep();
  if (transaction_.writes() != writes_seen_) {
    // The cursor's own transaction has written since: the copy may lack that write.
    const std::string from = key_;
    if (!Reload(forward)) return;
    if (leaf().LowerBound(from).exact) slot_ += forward ? 1 : -1;
  } else {
    slot_ += forward ? 1 : -1;
  }
  valid_ = false;
  Settle(forward);
  NoteStep(forward);
}

void CursorImpl::SeekToFirst() {
  Start();
  if (!status_.ok()) return;
  range_.from ? target_key_.assign(*range_.from) : target_key_.erase();
  if (!LoadLeaf({.kind = LeafTarget::Kind::kCovering, .key = target_key_})) return;
  slot_ = begin_slot_;
  Settle(/*forward=*/true);
  NoteSeek(/*forward=*/true, std::nullopt);
}

void CursorImpl::SeekToLast() {
  Start();
  if (!status_.ok()) return;
  if (range_.to) target_key_ = *range_.to;
  if (!LoadLeaf({.kind = range_.to ? LeafTarget::Kind::kBelow : LeafTarget::Kind::kLast,
                 .key = target_key_})) {
    return;
  }
  slot_ = end_slot_ - 1;
  Settle(/*forward=*/false);
  NoteSeek(/*forward=*/false, std::nullopt);
}

void CursorImpl::Seek(std::string_view key) {
  if (range_.from && key < *range_.from) return SeekToFirst();
  Start();
  if (!status_.ok()) return;
  target_key_ = key;
  const std::string from = CopyForRange(key);
  if (!LoadLeaf({.kind = LeafTarget::Kind::kCovering, .key = target_key_})) return;
  slot_ = std::max(begin_slot_, static_cast<int32_t>(leaf().LowerBound(target_key_).slot));
  Settle(/*forward=*/true);
  NoteSeek(/*forward=*/true, from);
}

void CursorImpl::SeekForPrev(std::string_view key) {
  if (range_.to && key >= *range_.to) return SeekToLast();
  Start();
  if (!status_.ok()) return;
  target_key_ = key;
  const std::string from = CopyForRange(key);
  if (!LoadLeaf({.kind = LeafTarget::Kind::kCovering, .key = target_key_})) return;
  const SlotPosition position = leaf().LowerBound(target_key_);
  slot_ = std::min(end_slot_ - 1, static_cast<int32_t>(position.slot) - (position.exact ? 0 : 1));
  Settle(/*forward=*/false);
  NoteSeek(/*forward=*/false, from);
}

}  // namespace latchkey
