// LatencyTimer: the time from its construction to its destruction goes into a LatencyRecorder.
#pragma once

#include "storage/base/latency_recorder.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class LatencyTimer {
 public:
  /// nullptr: nothing is timed, and the clock is not read.
  LatencyTimer(Runtime& runtime, LatencyRecorder* recorder)
      : runtime_(runtime), recorder_(recorder), begin_(recorder == nullptr ? 0 : runtime.Now()) {}
  ~LatencyTimer() {
    if (recorder_ != nullptr) recorder_->Record(runtime_.Now() - begin_);
  }
  LatencyTimer(const LatencyTimer&) = delete;
  LatencyTimer& operator=(const LatencyTimer&) = delete;

 private:
  Runtime& runtime_;
  LatencyRecorder* const recorder_;
  const Nanos begin_;
};

}  // namespace latchkey
