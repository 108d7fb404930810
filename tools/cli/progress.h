// Progress on stderr: on a terminal lines that rewrite themselves, otherwise nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/thread_annotations.h"
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
  /// The same for several lines. What does not fit the terminal's width is not shown.
  void ShowLines(const std::vector<std::string>& lines);
  /// Width of the terminal; 80 where it is not known.
  static size_t Columns();
  /// Removes the text, for example before a log message.
  void Clear();

 private:
  const bool on_terminal_;
  Mutex mutex_{ThreadRuntime()};
  void ClearShown() LATCHKEY_REQUIRES(mutex_);
  size_t shown_lines_ LATCHKEY_GUARDED_BY(mutex_) = 0;
};

/// From now on nothing is shown: no `Progress`, and no log message but errors (--quiet).
void BeQuiet();

/// Log messages go to stderr, one line each. On a terminal they are coloured, unless the
/// environment has NO_COLOR. `Progress` lines are not log messages.
void SetUpLogging();

}  // namespace latchkey
