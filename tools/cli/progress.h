// Progress on stderr: a line that rewrites itself on a terminal, nothing where nobody watches.
#pragma once

#include <string>
#include <string_view>

#include "storage/runtime/mutex.h"

namespace latchkey {

/// Thread-safe.
class Progress {
 public:
  Progress();
  ~Progress() { Clear(); }

  /// Shows `text` in place of what was shown before; on a terminal only.
  void Show(const std::string& text);
  /// Takes the line away, e.g. before a log message.
  void Clear();

 private:
  const bool on_terminal_;
  Mutex mutex_{ThreadRuntime()};
  bool shown_ = false;
};

/// Logging goes to stderr, one line a message; `Progress` lines are not log messages.
void SetUpLogging();

}  // namespace latchkey
