// Requests with a tag of the owner's type, and the loop that keeps a queue full of them: fill, wait,
// refill.
#pragma once

#include <cstddef>
#include <vector>

#include "storage/device/block_device.h"

namespace latchkey {

/// A request that says what it is for.
template <typename Tag>
struct TaggedRequest : IoRequest {
  Tag tag{};
};

/// The tag of a completed request. REQUIRES: its owner submitted a TaggedRequest<Tag>.
template <typename Tag>
Tag& TagOf(IoRequest& request) {
  return static_cast<TaggedRequest<Tag>&>(request).tag;
}

/// Requests that one owner has in flight on one queue, at most `depth` of them. All memory is taken
/// by the constructor. Not thread-safe.
template <typename Tag>
class IoWindow {
 public:
  explicit IoWindow(size_t depth) : requests_(depth) {
    idle_.reserve(depth);
    batch_.reserve(depth);
    done_.reserve(depth);
    for (TaggedRequest<Tag>& request : requests_) idle_.push_back(&request);
  }
  IoWindow(const IoWindow&) = delete;
  IoWindow& operator=(const IoWindow&) = delete;

  /// Fills requests with `next(TaggedRequest<Tag>&)` until that returns false, and starts them on
  /// `queue`, as many as the depth allows. Does not wait: a Run on the same queue ends them.
  /// REQUIRES: as Run.
  template <typename Next>
  void Start(IoQueue& queue, Next next) {
    batch_.clear();
    while (!idle_.empty() && next(*idle_.back())) {
      batch_.push_back(idle_.back());
      idle_.pop_back();
    }
    if (!batch_.empty()) queue.Submit(batch_);
  }

  /// Starts requests as Start does, keeps as many in flight as the depth allows, and calls
  /// `done(const IoRequest&, Tag&)` for each completed one, in the order of completion. `next` is
  /// called again after each wait, so it may stop the work early. Returns when nothing is in flight.
  /// REQUIRES: nothing is in flight on `queue` but requests of this window; the depth of `queue` is
  /// not smaller; neither function throws.
  template <typename Next, typename Done>
  void Run(IoQueue& queue, Next next, Done done) {
    do {
      Start(queue, next);
      if (queue.in_flight() == 0) return;
      done_.clear();
      queue.Wait(1, done_);
      for (IoRequest* request : done_) {
        auto* tagged = static_cast<TaggedRequest<Tag>*>(request);
        done(*request, tagged->tag);
        idle_.push_back(tagged);
      }
    } while (true);
  }

 private:
  std::vector<TaggedRequest<Tag>> requests_;
  std::vector<TaggedRequest<Tag>*> idle_;
  std::vector<IoRequest*> batch_, done_;
};

}  // namespace latchkey
