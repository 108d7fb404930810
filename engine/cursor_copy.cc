// Cursor::CopyRecords: the walk of a cursor without a look at each record.
#include "engine/cursor_impl.h"
#include "engine/record_copies.h"

namespace latchkey {

void CursorImpl::CopyRecords(bool forward, RecordCopies* copies) {
  while (valid_ && copies->wants_more()) {
    if (!copies->Add(key_, value_)) return;
    CopyLeafRecords(forward, copies);
    Step(forward);
  }
}

void CursorImpl::CopyLeafRecords(bool forward, RecordCopies* copies) {
  // In a final leaf the flags of a record tell whether the transaction sees it. A serializable
  // transaction notes each step. Step finds errors.
  const bool leaf_tells = leaf_is_final_ && hidden_.empty() && IsUsable() &&
                          transaction_.writes() == writes_seen_ &&
                          transaction_.txn().reads() == nullptr;
  if (!leaf_tells) return;
  forward ? CopyRun<1>(end_slot_, copies) : CopyRun<-1>(begin_slot_ - 1, copies);
}

template <int32_t kStep>
void CursorImpl::CopyRun(int32_t end, RecordCopies* copies) {
  // The next leaf comes into the processor's cache meanwhile: so many bytes of it with each record.
  constexpr size_t kAhead = 256;
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
