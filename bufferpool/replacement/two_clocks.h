// The common part of CAR and S3-FIFO: a queue of new pages and a main queue, each with a hand at
// its oldest page. Hits only count in the frame's reference byte. The hand moves a page of the new
// queue with enough hits to the main queue. It moves a page of the main queue with a hit to the
// newest end and takes one hit off. The first other page that is evictable is the victim.
//
// A page that is not evictable keeps its place.
#pragma once

#include <vector>

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement_algorithm.h"

namespace latchkey {

class TwoClocks : public ReplacementAlgorithm {
 protected:
  enum class Queue : uint8_t { kNew, kMain };

 public:
  static constexpr HitNeeds kHitNeeds = HitNeeds::kByte;
  static constexpr size_t kBytesPerFrame = FrameLinks::kBytesEach + sizeof(PageId) + sizeof(Queue);

  void OnHit(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  /// The next victims if no page is loaded and no frame is hit. If the hands would have to spare
  /// very many pages, the rest of `out` is the pages that they spared first.
  size_t PeekColdest(std::span<FrameId> out) const override;
  size_t size() const override { return new_.size() + main_.size(); }
  std::optional<uint8_t> most_counted_hits() const override { return rules_.limit; }

 protected:
  struct Rules {
    uint8_t limit;         ///< a reference byte counts so many hits
    uint8_t promote_at;    ///< hits with which a page leaves the new queue for the main queue
    bool chooses_at_once;  ///< PrefersNew is asked once for each victim, not at each step
  };

  TwoClocks(const ReplacementConfig& config, Rules rules);

  /// Whether the next page to look at is one of the new queue, given the lengths of the queues.
  virtual bool PrefersNew(size_t new_size, size_t main_size) const = 0;

  /// Puts the page of an empty frame at the newest end of `queue`, without hits.
  void Enter(FrameSlot slot, PageId page, Queue queue);
  /// Unlinks and returns the victim, or returns kNoFrameSlot.
  FrameSlot TakeVictim(absl::FunctionRef<bool(FrameId)> evictable);
  /// Puts a victim back at the oldest end of the queue that it left.
  void PutBack(FrameSlot slot) { ListOf(queue_of_[slot]).PushOldest(links_, slot); }
  void GrowArrays(size_t frames);

  PageId PageOf(FrameSlot slot) const { return page_of_[slot]; }
  Queue QueueOf(FrameSlot slot) const { return queue_of_[slot]; }
  size_t new_size() const { return new_.size(); }
  size_t main_size() const { return main_.size(); }

 private:
  struct Forecast;

  FrameList& ListOf(Queue queue) { return queue == Queue::kNew ? new_ : main_; }
  uint8_t HitsOf(FrameSlot slot) const;
  bool Spares(Queue queue, uint8_t hits) const {
    return hits >= (queue == Queue::kNew ? rules_.promote_at : 1);
  }

  const Rules rules_;
  FrameLinks links_;
  FrameList new_;
  FrameList main_;
  std::vector<Queue> queue_of_;
  std::vector<PageId> page_of_;
};

}  // namespace latchkey
