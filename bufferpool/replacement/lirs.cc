#include "bufferpool/replacement/lirs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "storage/base/check.h"

namespace latchkey {

LirsReplacement::LirsReplacement(const ReplacementConfig& config,
                                 std::span<const double> parameters)
    : ReplacementAlgorithm(config),
      hir_fraction_(parameters[0]),
      stack_multiple_(parameters[1]),
      trace_pages_(config.trace == nullptr ? 0 : config.trace->pages),
      stack_links_(0),
      hir_links_(0),
      queue_links_(0),
      ghosts_(0) {
  LATCHKEY_CHECK(config.trace != nullptr || std::isfinite(stack_multiple_));
  Resize(config.frame_capacity);
}

void LirsReplacement::OnHit(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  if (slot == last_fixed_) return;
  if (state_[slot] == State::kLir) {
    stack_.MoveToNewest(stack_links_, slot);
    PruneBottom();
  } else {
    const bool was_in_stack = state_[slot] == State::kHirInStack;
    Leave(slot);
    Enter(slot, was_in_stack);
  }
  last_fixed_ = slot;
}

void LirsReplacement::PrefetchForHit(FrameId frame, PageId) const {
  const FrameSlot slot = SlotOf(frame);
  __builtin_prefetch(&state_[slot], 1);
  stack_links_.Prefetch(slot);
}

void LirsReplacement::OnLoad(FrameId frame, PageId page, LoadKind) {
  const FrameSlot slot = SlotOf(frame);
  page_of_[slot] = page;
  last_fixed_ = slot;
  const bool was_in_stack = ghosts_.Contains(page);
  ForgetGhost(page);
  Enter(slot, was_in_stack);
}

void LirsReplacement::Enter(FrameSlot slot, bool was_in_stack) {
  stack_.PushNewest(stack_links_, slot);
  if (was_in_stack || lir_count_ < lir_limit_) {
    state_[slot] = State::kLir;
    ++lir_count_;
    DemoteSurplus();
  } else {
    state_[slot] = State::kHirInStack;
    hir_in_stack_.PushNewest(hir_links_, slot);
    queue_.PushNewest(queue_links_, slot);
  }
  PruneBottom();
  TrimStack();
}

void LirsReplacement::DemoteSurplus() {
  while (lir_count_ > lir_limit_) {
    const FrameSlot slot = stack_.oldest();
    LATCHKEY_DCHECK(IsLir(slot));
    stack_.Remove(stack_links_, slot);
    --lir_count_;
    state_[slot] = State::kHirOutside;
    queue_.PushNewest(queue_links_, slot);
    PruneBottom();
  }
}

void LirsReplacement::PruneBottom() {
  while (stack_.size() > 0 && !IsLir(stack_.oldest())) DropFromStack(stack_.oldest());
}

void LirsReplacement::TrimStack() {
  while (stack_.size() > stack_limit_ && hir_in_stack_.size() > 0) {
    DropFromStack(hir_in_stack_.oldest());
  }
}

void LirsReplacement::DropFromStack(Node node) {
  stack_.Remove(stack_links_, node);
  hir_in_stack_.Remove(hir_links_, node);
  if (node < slots()) {
    state_[node] = State::kHirOutside;
  } else {
    ghosts_.Forget(static_cast<uint32_t>(node - slots()));
  }
}

void LirsReplacement::ForgetGhost(PageId page) {
  const uint32_t entry = ghosts_.Find(page);
  if (entry != GhostQueue::kNone) DropFromStack(NodeOfGhost(entry));
}

FrameId LirsReplacement::Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) {
  FrameSlot slot =
      queue_.FindFromOldest(queue_links_, [&](FrameSlot s) { return evictable(FrameOf(s)); });
  if (slot == kNoFrameSlot) {
    slot = stack_.FindFromOldest(
        stack_links_, [&](Node node) { return IsLir(node) && evictable(FrameOf(node)); });
  }
  if (slot == kNoFrameSlot) return kNoFrame;
  Evict(slot);
  return FrameOf(slot);
}

void LirsReplacement::Evict(FrameSlot slot) {
  if (state_[slot] != State::kHirInStack) {
    Leave(slot);
    return;
  }
  ForgetGhost(page_of_[slot]);
  // S has no room for more ghosts only while fewer pages are LIR than may be.
  if (ghosts_.size() == ghosts_.capacity()) {
    DropFromStack(hir_in_stack_.FindFromOldest(hir_links_, [&](Node n) { return n >= slots(); }));
  }
  queue_.Remove(queue_links_, slot);
  const Node ghost = NodeOfGhost(ghosts_.PushNewest(page_of_[slot]));
  stack_.Replace(stack_links_, slot, ghost);
  hir_in_stack_.Replace(hir_links_, slot, ghost);
  if (last_fixed_ == slot) last_fixed_ = kNoFrameSlot;
}

void LirsReplacement::Leave(FrameSlot slot) {
  if (last_fixed_ == slot) last_fixed_ = kNoFrameSlot;
  if (state_[slot] == State::kLir) {
    stack_.Remove(stack_links_, slot);
    --lir_count_;
    PruneBottom();
    return;
  }
  if (state_[slot] == State::kHirInStack) DropFromStack(slot);
  queue_.Remove(queue_links_, slot);
}

void LirsReplacement::Reinstate(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  const uint32_t entry = ghosts_.Find(page_of_[slot]);
  if (entry == GhostQueue::kNone) {
    state_[slot] = State::kHirOutside;
  } else {
    stack_.Replace(stack_links_, NodeOfGhost(entry), slot);
    hir_in_stack_.Replace(hir_links_, NodeOfGhost(entry), slot);
    ghosts_.Forget(entry);
    state_[slot] = State::kHirInStack;
  }
  queue_.PushOldest(queue_links_, slot);
}

void LirsReplacement::OnRemove(FrameId frame) { Leave(SlotOf(frame)); }

size_t LirsReplacement::PeekColdest(std::span<FrameId> out) const {
  size_t count = 0;
  const auto take = [&](FrameSlot slot) {
    if (count < out.size()) out[count++] = FrameOf(slot);
    return count == out.size();
  };
  queue_.FindFromOldest(queue_links_, take);
  if (count == out.size()) return count;
  stack_.FindFromOldest(stack_links_, [&](Node node) { return IsLir(node) && take(node); });
  return count;
}

void LirsReplacement::Resize(size_t frames) {
  const auto hir = static_cast<size_t>(hir_fraction_ * static_cast<double>(frames));
  const size_t hir_limit = std::min(std::max<size_t>(2, hir), frames == 0 ? 0 : frames - 1);
  const double stack = stack_multiple_ * static_cast<double>(frames);
  // Among that many entries there are as many pages: further ones are never needed.
  const double most_pages = trace_pages_ > 0 ? static_cast<double>(trace_pages_ + frames) : stack;
  const auto stack_limit = static_cast<size_t>(std::min(stack, most_pages));
  const size_t lir_limit = frames - hir_limit;
  // The LIR pages are entries of S, too. One more, because S is trimmed after a load.
  Rebuild(std::max(frames, slots()), stack_limit - lir_limit + 1);
  lir_limit_ = lir_limit;
  stack_limit_ = stack_limit;
  DemoteSurplus();
  TrimStack();
}

// Takes all memory, then moves S to it, the oldest first.
void LirsReplacement::Rebuild(size_t slots, size_t ghosts) {
  FrameLinks stack_links(slots + ghosts);
  FrameLinks hir_links(slots + ghosts);
  GhostQueue new_ghosts(ghosts);
  std::vector<std::pair<Node, PageId>> entries;
  entries.reserve(stack_.size());
  queue_links_.Grow(slots);
  state_.reserve(slots);
  page_of_.reserve(slots);

  size_t surplus = ghosts_.size() > ghosts ? ghosts_.size() - ghosts : 0;
  stack_.FindFromOldest(stack_links_, [&](Node node) {
    const bool is_ghost = node >= this->slots();
    if (is_ghost && surplus > 0) {
      --surplus;
    } else {
      entries.emplace_back(node, is_ghost ? ghosts_.PageOf(node - this->slots()) : kInvalidPageId);
    }
    return false;
  });
  const size_t old_slots = this->slots();
  state_.resize(slots);
  page_of_.resize(slots, kInvalidPageId);
  stack_ = FrameList();
  hir_in_stack_ = FrameList();
  for (auto [node, page] : entries) {
    if (node >= old_slots) node = NodeOfGhost(new_ghosts.PushNewest(page));
    stack_.PushNewest(stack_links, node);
    if (!IsLir(node)) hir_in_stack_.PushNewest(hir_links, node);
  }
  stack_links_ = std::move(stack_links);
  hir_links_ = std::move(hir_links);
  ghosts_ = std::move(new_ghosts);
}

}  // namespace latchkey
