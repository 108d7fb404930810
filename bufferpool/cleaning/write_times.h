// WriteTimes: how long the writes of one page cleaner take, from acceptance to the device. Of pages that
// gather in an append log: from the time at which their part of a segment is full.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/base/latency_recorder.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The writes that are done are taken to be the oldest ones. So the sum of the times is exact while at
/// most `most` writes wait at once, and the shortest time is an upper bound. Thread-safety: one actor
/// notes writes; all may read.
class WriteTimes {
 public:
  /// `most`: of more writes that wait at once the oldest are not timed. `latencies` receives each time,
  /// too; nullptr: nothing does.
  explicit WriteTimes(size_t most, LatencyRecorder* latencies = nullptr) : latencies_(latencies) {
    accepted_.reserve(most);
  }

  void NoteAccepted(Nanos now) { Add(1, now); }
  /// `waiting` writes are not yet done at `now`. Those that were not noted before wait since `now`: they
  /// gathered in an append log, and their part of a segment is full.
  void NoteWaiting(size_t waiting, Nanos now) {
    const size_t all = forgotten_ + accepted_.size();
    if (waiting > all) return Add(waiting - all, now);
    const size_t all_done = all - waiting;
    const size_t done = all_done - std::min(all_done, forgotten_);
    forgotten_ -= all_done - done;
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

  Nanos sum() const { return sum_.load(std::memory_order_relaxed); }
  uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }
  /// Of all writes so far; kForever: there was none.
  Nanos shortest() const { return shortest_.load(std::memory_order_relaxed); }

 private:
  void Add(size_t count, Nanos now) {
    const size_t timed = std::min(count, accepted_.capacity());
    const size_t room = accepted_.capacity() - accepted_.size();
    const size_t dropped = timed - std::min(timed, room);
    accepted_.erase(accepted_.begin(), accepted_.begin() + static_cast<ptrdiff_t>(dropped));
    accepted_.insert(accepted_.end(), timed, now);
    forgotten_ += dropped + (count - timed);
  }

  LatencyRecorder* const latencies_;
  std::vector<Nanos> accepted_;  // when, the oldest first
  size_t forgotten_ = 0;         // waiting, older than these
  std::atomic<Nanos> sum_{0};
  std::atomic<uint64_t> writes_{0};
  std::atomic<Nanos> shortest_{kForever};
};

}  // namespace latchkey
