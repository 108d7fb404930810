// For rivals with Durability::kGroup: an actor syncs the log at short intervals.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <functional>
#include <memory>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// Calls `sync` every 10 ms, Latchkey's default group_commit_delay_ms, until Stop or the first
/// error. Thread-safety: Start and Stop belong to one actor.
class PeriodicSync {
 public:
  using Sync = std::function<absl::Status()>;

  PeriodicSync() = default;
  PeriodicSync(const PeriodicSync&) = delete;
  PeriodicSync& operator=(const PeriodicSync&) = delete;
  ~PeriodicSync() { Stop().IgnoreError(); }

  /// REQUIRES: not started.
  void Start(const char* actor, Sync sync);
  /// Ends the actor after its last sync. Returns the first error; OK if never started.
  absl::Status Stop();

 private:
  std::atomic<bool> stop_{false};
  absl::Status status_;  // of the actor; read once it has been joined
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
