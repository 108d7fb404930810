// The checkpointer, as the segment cleaner sees it.
#pragma once

#include <absl/status/status.h>

namespace latchkey {

/// Thread-safe.
class DurableMap {
 public:
  virtual ~DurableMap() = default;
  /// Whether the file is marked unclean. A cleanly closed file must stay as it is.
  virtual bool is_unclean() const = 0;
  /// Makes all changes of the map durable, and so releases the slots that they supersede. Waits for
  /// I/O only: if another thread writes a checkpoint while the journal is full, returns the status
  /// of the full journal (IsJournalFull). ResourceExhausted: nothing has changed.
  /// REQUIRES: a journal.
  virtual absl::Status TryMakeDurable() = 0;
  /// Checkpoints the map if the journal has grown beyond its bound. Waits for I/O only.
  virtual void CheckpointIfWanted() = 0;
};

}  // namespace latchkey
