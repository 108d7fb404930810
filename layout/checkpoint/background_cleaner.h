// The segment cleaner, as the checkpointer sees it: an actor that works while the file is marked
// unclean.
#pragma once

#include <absl/status/status.h>

#include "storage/runtime/mutex.h"

namespace latchkey {

class BackgroundCleaner {
 public:
  virtual ~BackgroundCleaner() = default;
  /// Starts the actor. Called once, by the first change of the store.
  virtual absl::Status Start() = 0;
  /// While it is held, no pass runs. Locking it may wait for the end of a pass.
  virtual Mutex& pass_mutex() = 0;
};

}  // namespace latchkey
