// OPT (Belady, also called MIN): the victim is the page whose next request is farthest in the
// future. It bounds the hit ratio of every algorithm that always loads the missed page. It reads
// the future of a trace, so only a trace replay can run it.
#pragma once

#include "bufferpool/replacement/one_heap.h"
#include "storage/base/check.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

/// REQUIRES: each request of the trace calls OnHit or OnLoad once, in the order of the trace.
class OptReplacement final : public OneHeapReplacement<uint32_t> {
 public:
  static constexpr std::string_view kName = "opt";
  static constexpr std::string_view kSummary = "used again last (Belady; trace replay only)";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  static constexpr bool kNeedsFuture = true;

  OptReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : OneHeapReplacement(config) {
    LATCHKEY_CHECK(config.trace != nullptr);
    next_use_ = config.trace->next_use;
  }

  void OnHit(FrameId frame) override { heap_.Update(SlotOf(frame), KeyOfRequest()); }
  void OnLoad(FrameId frame, PageId, LoadKind) override {
    heap_.Insert(SlotOf(frame), KeyOfRequest());
  }

 private:
  // The later the next use, the smaller the key.
  uint32_t KeyOfRequest() {
    LATCHKEY_CHECK(request_ < next_use_.size());
    return ~next_use_[request_++];
  }

  std::span<const uint32_t> next_use_;
  size_t request_ = 0;
};

}  // namespace latchkey
