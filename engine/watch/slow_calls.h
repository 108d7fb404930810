// SlowCalls: tells of each call that took long, and what it waited for.
#pragma once

#include <string_view>
#include <utility>

#include "storage/base/log_sink.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/wait_ledger.h"

namespace latchkey {

/// Thread-safety: all actors may call every member at once.
class SlowCalls {
 public:
  /// `least`: calls from this duration on are told.
  SlowCalls(Runtime& runtime, Nanos least, LogSink sink)
      : waits_(runtime), least_(least), sink_(std::move(sink)) {}

  /// Where the parts of the engine note waits.
  WaitLedger& waits() { return waits_; }
  /// The calling actor's call `operation` took `took`; `before`: its waits when the call began.
  void Look(std::string_view operation, Nanos took, const WaitTimes& before) {
    if (took >= least_) Tell(operation, took, before);
  }

 private:
  void Tell(std::string_view operation, Nanos took, const WaitTimes& before);

  WaitLedger waits_;
  const Nanos least_;
  const LogSink sink_;
};

}  // namespace latchkey
