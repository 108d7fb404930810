// WaitLedger: how long each actor has waited, and for what. It says where the time of a slow call went.
// WaitWatch: where a part of the engine notes its waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "storage/base/log_sink.h"
#include "storage/base/zeroed_array.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// What a call waits for.
enum class Waited : uint8_t { kPageRead, kFrame, kLock, kLogSync, kLogRoom };
inline constexpr size_t kWaitedKinds = 5;
/// Since the actor's index was given out first.
using WaitTimes = std::array<Nanos, kWaitedKinds>;

/// Reserves 64 bytes for each possible actor; they take memory only where an actor has waited.
/// Thread-safety: all actors may call every member at once; each has its own part.
class WaitLedger {
 public:
  explicit WaitLedger(Runtime& runtime) : runtime_(runtime), parts_(Runtime::kMaxActors) {}

  void Add(Waited what, Nanos time) { Here()[static_cast<size_t>(what)] += time; }
  /// Of the calling actor.
  WaitTimes Read() { return Here(); }
  Runtime& runtime() { return runtime_; }

 private:
  struct alignas(64) Part {
    WaitTimes times;
  };
  WaitTimes& Here() { return parts_[runtime_.ActorIndex()].times; }

  Runtime& runtime_;
  ZeroedArray<Part> parts_;  // by ActorIndex
};

/// Adds the time from its construction to its destruction. nullptr: the clock is not read.
class WaitTimer {
 public:
  WaitTimer(WaitLedger* ledger, Waited what)
      : ledger_(ledger), what_(what), begin_(ledger == nullptr ? 0 : ledger->runtime().Now()) {}
  ~WaitTimer() {
    if (ledger_ != nullptr) ledger_->Add(what_, ledger_->runtime().Now() - begin_);
  }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

 private:
  WaitLedger* const ledger_;
  const Waited what_;
  const Nanos begin_;
};

/// Thread-safe after its creation.
struct WaitWatch {
  /// A wait from this long on is told as a stall (LogEvent::kStall).
  static constexpr Nanos kLeastStall = 100 * kNanosPerMilli;

  WaitLedger* ledger = nullptr;
  LogSink sink;

  /// The calling actor has waited `time`. `for_what` ends the message of a stall.
  void Note(Waited what, Nanos time, std::string_view for_what) const;
};

}  // namespace latchkey
