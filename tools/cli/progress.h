// Progress on stderr: on a terminal a line that rewrites itself, otherwise nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/runtime/mutex.h"

namespace latchkey {

/// A walk over records shows how far it has got once in this many.
inline constexpr uint64_t kRecordsBetweenProgress = 4096;

/// Thread-safe.
class Progress {
 public:
  Progress();
  ~Progress() { Clear(); }

  /// Replaces the text shown before by `text`; on a terminal only.
  void Show(const std::string& text);
  /// Removes the line, for example before a log message.
  void Clear();

 private:
  const bool on_terminal_;
  Mutex mutex_{ThreadRuntime()};
  bool shown_ = false;
};

/// From now on nothing is shown: no `Progress`, and no log message but errors (--quiet).
void BeQuiet();

/// Log messages go to stderr, one line each. On a terminal they are coloured, unless the
/// environment has NO_COLOR. `Progress` lines are not log messages.
void SetUpLogging();

}  // namespace latchkey
