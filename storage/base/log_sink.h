// Where the engine's own messages go. Libraries do not write to a terminal that is not theirs: the
// default sink drops everything, and an embedder or a tool installs its own.
#pragma once

#include <functional>
#include <string_view>

namespace latchkey {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Called with complete one-line messages, without a newline. May be called from any thread at
/// once.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

inline void LogTo(const LogSink& sink, LogLevel level, std::string_view message) {
  if (sink) sink(level, message);
}

}  // namespace latchkey
