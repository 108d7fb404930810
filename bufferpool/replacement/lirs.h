// LIRS (Jiang, Zhang, SIGMETRICS 2002; thesis 5.4, with a bounded stack). A page with a short
// distance between its last two fixes is LIR: it stays in the pool. All other pages are HIR. A few
// of them are in the pool, in the queue Q; the oldest of Q is the victim.
//
//   stack S:  pages by their last fix: all LIR pages, and HIR pages fixed since the oldest LIR page
//             was, whether they are in the pool or ghosts. The oldest entry is always a LIR page.
//   queue Q:  the HIR pages in the pool.
//
//                    OnLoad of a ghost in S, OnLoad while LIR pages are few
//            +------------------------------------------------------------------+
//            |                   OnHit in S                                      v
//   OnLoad --+--> HIR (in Q) ------------------------------------------------> LIR
//                 |      ^ <----------- DemoteSurplus: the oldest of S -------- |
//          Victim |      | Reinstate                                           | Victim, if Q has
//                 v      |                                                     v no evictable page
//             ghost in S, or forgotten                                      forgotten
//
// Conventions of the authors' program: max(2, hir * frames) frames are for HIR pages, and a fix of
// the page that was fixed just before changes nothing. If S is longer than stack * frames entries,
// it loses its oldest HIR entry.
//
// Invariants:
//  1. S is empty or its oldest entry is a LIR page.
//  2. hir_in_stack_ has the HIR entries of S, in the order of S.
//  3. Node n of the lists is slot n, for n < slots, else the ghost of entry n - slots.
#pragma once

#include <algorithm>
#include <limits>

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement/ghost_queue.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class LirsReplacement final : public ReplacementAlgorithm {
 private:
  enum class State : uint8_t { kLir, kHirInStack, kHirOutside };
  using Node = FrameSlot;
  static constexpr double kMostStackInPool = 64;

 public:
  static constexpr std::string_view kName = "lirs";
  static constexpr std::string_view kSummary = "pages with a short re-use distance stay";
  static constexpr ChoiceParameter kParameters[] = {
      {"hir", 0.01, 0, 1, ParameterKind::kNumber, "fraction of the cache for HIR pages"},
      {"stack", 2, 1, std::numeric_limits<double>::infinity(), ParameterKind::kNumber,
       "length of the stack as a multiple of the cache; inf in a trace replay only"}};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  /// With fewer frames, HIR pages take more than the fifth of the cache that the authors allow.
  static constexpr uint32_t kFewestFrames = 10;
  static constexpr std::string_view SimulatorOnly(std::span<const double> parameters) {
    return parameters[1] > kMostStackInPool ? "stack above 64 (ask for stack=2, say)" : "";
  }
  static constexpr size_t BytesPerFrame(std::span<const double> parameters) {
    const double ghosts = std::min(parameters[1], kMostStackInPool) - 1 + parameters[0];
    constexpr size_t kBytesPerNode = 2 * FrameLinks::kBytesEach;
    return kBytesPerNode + FrameLinks::kBytesEach + sizeof(PageId) + sizeof(State) +
           static_cast<size_t>(ghosts * (kBytesPerNode + GhostQueue::kMostBytesEach)) + 1;
  }

  LirsReplacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void PrefetchForHit(FrameId frame, PageId page) const override;
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  /// The page becomes the oldest of Q. If its ghost is still in S, the page takes its place.
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  /// Q from its oldest on, then the LIR pages from the oldest on.
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override { return lir_count_ + queue_.size(); }

 private:
  size_t slots() const { return page_of_.size(); }
  bool IsLir(Node node) const { return node < slots() && state_[node] == State::kLir; }
  Node NodeOfGhost(uint32_t entry) const { return static_cast<Node>(slots() + entry); }

  // Makes `slot`, which is in neither list, the newest of S. `was_in_stack`: its page was in S.
  void Enter(FrameSlot slot, bool was_in_stack);
  // Makes LIR pages HIR until no more are left than the limit allows.
  void DemoteSurplus();
  // Removes HIR entries until the oldest entry is a LIR page.
  void PruneBottom();
  // Removes the oldest HIR entries beyond the stack's limit.
  void TrimStack();
  // Removes an HIR entry from S. A ghost is forgotten.
  void DropFromStack(Node node);
  void ForgetGhost(PageId page);
  // Takes `slot` from its lists; an HIR page in S becomes a ghost.
  void Evict(FrameSlot slot);
  // Removes `slot` from S and Q.
  void Leave(FrameSlot slot);
  // Gives the lists room for that many slots and ghosts. The oldest ghosts may be forgotten.
  void Rebuild(size_t slots, size_t ghosts);

  const double hir_fraction_;
  const double stack_multiple_;
  const uint32_t trace_pages_;
  size_t lir_limit_ = 0;
  size_t stack_limit_ = 0;
  size_t lir_count_ = 0;
  FrameSlot last_fixed_ = kNoFrameSlot;
  FrameLinks stack_links_;
  FrameLinks hir_links_;  // of hir_in_stack_
  FrameLinks queue_links_;
  FrameList stack_;
  FrameList hir_in_stack_;
  FrameList queue_;
  std::vector<State> state_;     // by slot
  std::vector<PageId> page_of_;  // by slot
  GhostQueue ghosts_;
};

}  // namespace latchkey
