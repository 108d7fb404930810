// The sink of the engine's own messages. A library does not write to the terminal: the default sink
// drops everything, and an embedder or a tool installs its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace latchkey {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Conditions that a program may want to react to.
enum class LogEvent {
  kCheckpoint,  ///< a checkpoint is complete
  kStall,       ///< a call has waited long for a frame or for room in the log
  kWriteError,  ///< the device refused a write; the pages or the checkpoint are written again
  kReadOnly,    ///< nothing more is written until the database is opened again
  kSlowCall,    ///< a call took longer than was asked for
};

/// Receives complete one-line messages, without a newline, and those that tell of an event once more as
/// events. Any thread may call it at any time.
class LogSink {
 public:
  using Messages = std::function<void(LogLevel, std::string_view message)>;
  /// `duration_ns`: of what the event tells; 0: it has none.
  using Events = std::function<void(LogEvent, std::string_view message, uint64_t duration_ns)>;

  LogSink() = default;
  LogSink(std::nullptr_t) {}  // NOLINT: as a std::function
  template <typename Function,
            typename = std::enable_if_t<std::is_invocable_v<Function, LogLevel, std::string_view>>>
  LogSink(Function messages) : messages_(std::move(messages)) {}  // NOLINT: as a std::function
  LogSink(Messages messages, Events events)
      : messages_(std::move(messages)), events_(std::move(events)) {}

  void Tell(LogLevel level, std::string_view message) const {
    if (messages_) messages_(level, message);
  }
  void TellEvent(LogEvent event, LogLevel level, std::string_view message,
                 uint64_t duration_ns) const {
    Tell(level, message);
    if (events_) events_(event, message, duration_ns);
  }
  bool wants_events() const { return events_ != nullptr; }

 private:
  Messages messages_;
  Events events_;
};

inline void LogTo(const LogSink& sink, LogLevel level, std::string_view message) {
  sink.Tell(level, message);
}
inline void LogTo(const LogSink& sink, LogEvent event, LogLevel level, std::string_view message,
                  uint64_t duration_ns = 0) {
  sink.TellEvent(event, level, message, duration_ns);
}

}  // namespace latchkey
