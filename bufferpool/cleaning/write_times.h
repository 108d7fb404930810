// WriteTimes: how long the writes of one page cleaner take, from acceptance to the device.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/base/latency_recorder.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The writes that are done are taken to be the oldest ones. So the sum of the times is exact, and
/// the shortest time is an upper bound. Thread-safety: one actor notes writes; all may read.
class WriteTimes {
 public:
  /// `most` writes are unwritten at once, at most.
  /// `latencies` receives each time, too; nullptr: nothing does.
  explicit WriteTimes(size_t most, LatencyRecorder* latencies = nullptr) : latencies_(latencies) {
    accepted_.reserve(most);
  }

  void NoteAccepted(Nanos now) {
    if (accepted_.size() < accepted_.capacity()) accepted_.push_back(now);
  }
  /// `unwritten` of the writes are not yet done at `now`.
  void NoteUnwritten(size_t unwritten, Nanos now) {
    if (accepted_.size() <= unwritten) return;
    const size_t done = accepted_.size() - unwritten;
    Nanos sum = 0, shortest = shortest_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < done; ++i) {
      sum += now - accepted_[i];
      shortest = std::min(shortest, now - accepted_[i]);
      if (latencies_ != nullptr) latencies_->Record(now - accepted_[i]);
    }
    accepted_.erase(accepted_.begin(), accepted_.begin() + static_cast<ptrdiff_t>(done));
    sum_.fetch_add(sum, std::memory_order_relaxed);
    writes_.fetch_add(done, std::memory_order_relaxed);
    shortest_.store(shortest, std::memory_order_relaxed);
  }
  /// Forgets the writes that are not done: an appending layout may keep them for long.
  void Forget() { accepted_.clear(); }

  Nanos sum() const { return sum_.load(std::memory_order_relaxed); }
  uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }
  /// Of all writes so far; kForever: there was none.
  Nanos shortest() const { return shortest_.load(std::memory_order_relaxed); }

 private:
  LatencyRecorder* const latencies_;
  std::vector<Nanos> accepted_;  // when, the oldest first
  std::atomic<Nanos> sum_{0};
  std::atomic<uint64_t> writes_{0};
  std::atomic<Nanos> shortest_{kForever};
};

}  // namespace latchkey
