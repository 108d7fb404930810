// MQ, the multi-queue algorithm (Zhou, Philbin, Li, USENIX 2001): LRU queues 0 to m - 1 by the
// logarithm of a page's fixes. A page that is not fixed for `lifetime` requests falls by one queue.
// The victim is the oldest page of the lowest queue. The ghosts of evicted pages (Qout) keep their
// counts. Lengths count requests: the clock ticks once per hit and once per load.
//
// As libCacheSim: `lifetime` is constant; the paper adapts it to the distances of re-references.
#pragma once

#include <array>

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement/ghost_queue.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class MqReplacement final : public ReplacementAlgorithm {
 private:
  static constexpr size_t kMostQueues = 16;
  struct Entry {
    PageId page;
    uint64_t expires;  // the last request at which the page keeps its queue
    uint32_t count;    // of fixes
    uint8_t queue;
  };
  using Ghosts = PayloadGhostQueue<uint32_t>;  // the count

 public:
  static constexpr std::string_view kName = "mq";
  static constexpr std::string_view kSummary = "LRU queues by the logarithm of a page's fixes";
  static constexpr ChoiceParameter kParameters[] = {
      {"queues", 8, 1, kMostQueues, ParameterKind::kWhole, "number of queues"},
      {"lifetime", 10'000, 1, 1e12, ParameterKind::kWhole,
       "requests without a fix after which a page falls by one queue"},
      {"out", 4, 0, 16, ParameterKind::kNumber, "ghosts as a multiple of the cache"}};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  static constexpr size_t BytesPerFrame(std::span<const double> parameters) {
    return FrameLinks::kBytesEach + sizeof(Entry) +
           static_cast<size_t>(parameters[2] * Ghosts::kMostBytesEach) + 1;
  }

  MqReplacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void PrefetchForHit(FrameId frame, PageId page) const override;
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  /// The page returns to the end of the queue that it left.
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override { return size_; }

 private:
  uint8_t QueueOf(uint32_t count) const;
  // Makes `slot`, which is on no queue, the newest of `queue`.
  void Enqueue(FrameSlot slot, uint8_t queue);
  // The paper's Adjust: the clock ticks, and the oldest page of each queue falls if it has expired.
  void Adjust();

  const size_t queue_count_;
  const uint64_t lifetime_;
  const double out_;
  uint64_t now_ = 0;  // requests so far
  size_t size_ = 0;
  FrameLinks links_;
  std::array<FrameList, kMostQueues> queues_;
  std::vector<Entry> entries_;  // by slot
  Ghosts ghosts_;
};

}  // namespace latchkey
