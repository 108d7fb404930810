// Cursor::CopyRecords: the walk of a cursor without a look at each record.
#include "engine/cursor_impl.h"
#include "engine/record_copies.h"

namespace latchkey {

void CursorImpl::CopyRecords(bool forward, RecordCopies* copies) {
  while (valid_ && copies->wants_more()) {
    if (!copies->Add(key_, value_)) return;
    if (!LeafTells()) {
      Step(forward);
      continue;
    }
    CopyLeafRecords(forward, copies);
    if (!CopyNextLeaves(forward, copies)) return;
    slot_ += forward ? 1 : -1;
    valid_ = false;
    Settle(forward);
  }
}

bool CursorImpl::LeafTells() const {
  // In a final leaf the flags of a record tell whether the transaction sees it. A serializable
  // transaction notes each step. Step finds errors.
  return leaf_is_final_ && hidden_.empty() && IsUsable() && transaction_.writes() == writes_seen_ &&
         transaction_.txn().reads() == nullptr;
}

void CursorImpl::CopyLeafRecords(bool forward, RecordCopies* copies) {
  forward ? CopyRun<1>(end_slot_, copies) : CopyRun<-1>(begin_slot_ - 1, copies);
}

bool CursorImpl::CopyNextLeaves(bool forward, RecordCopies* copies) {
  const auto was_last = [&] { return forward ? slot_ + 1 >= end_slot_ : slot_ <= begin_slot_; };
  while (was_last() && copies->wants_more() && LeafTells()) {
    valid_ = false;
    if (!LoadNeighbour(forward)) return false;
    slot_ -= forward ? 1 : -1;
    if (LeafTells()) CopyLeafRecords(forward, copies);
  }
  return true;
}

template <int32_t kStep>
void CursorImpl::CopyRun(int32_t end, RecordCopies* copies) {
  // The next leaf comes into the processor's cache meanwhile: so many bytes of it with each record.
  constexpr size_t kAhead = 128;
  const std::string_view prefix = leaf().Prefix();
  const LatchedNodeView node = leaf();
  const std::byte* ahead = place_.next_leaf;
  const std::byte* const ahead_end = ahead == nullptr ? nullptr : ahead + page_size_;
  RecordCopies done = *copies;  // stays in registers
  int32_t last = slot_;
  for (int32_t next = last + kStep; next != end; next += kStep) {
    LatchedNodeView::RecordParts record;
    if (!done.wants_more() || !node.ReadParts(static_cast<uint32_t>(next), &record)) break;
    if ((record.flags & kOverflow) != 0) break;
    if ((record.flags & kGhost) == 0 && !done.TryAddParts(prefix, record)) break;
    last = next;
    if (ahead == ahead_end) continue;
    for (size_t at = 0; at < kAhead; at += 64) __builtin_prefetch(ahead + at);
    ahead += kAhead;
  }
  place_.next_leaf = nullptr;
  slot_ = last;
  *copies = done;
}

}  // namespace latchkey
