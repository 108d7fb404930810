// The sink of the engine's own messages. A library does not write to the terminal: the default sink
// drops everything, and an embedder or a tool installs its own.
#pragma once

#include <functional>
#include <string_view>

namespace latchkey {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Called with complete one-line messages, without a newline. Any thread may call it at any time.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

inline void LogTo(const LogSink& sink, LogLevel level, std::string_view message) {
  if (sink) sink(level, message);
}

}  // namespace latchkey
