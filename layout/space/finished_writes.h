// The writers of the store, as threads that wait for space see them.
#pragma once

namespace latchkey {

class FinishedWrites {
 public:
  virtual ~FinishedWrites() = default;
  /// Completes the writes that the device has finished. Does not wait, except to write a page again
  /// whose write failed.
  virtual void CompleteFinished() = 0;
};

}  // namespace latchkey
