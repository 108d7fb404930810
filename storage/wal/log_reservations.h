// LogReservations: makes room in a log for callers that are about to append.
//
// A reservation takes available bytes; if there are too few, it grows the device. If the log has a
// keeper and has reached its usual size (SpaceWatch::Begin), the reservation asks the keeper for
// room before it grows the device. If the device cannot grow, the reservation waits for the keeper
// before it fails.
//
// Thread-safety: all actors may call every member at once, without latches.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <utility>

#include "storage/runtime/runtime.h"
#include "storage/runtime/wait_ledger.h"
#include "storage/wal/log_failure.h"
#include "storage/wal/log_grower.h"
#include "storage/wal/space_account.h"
#include "storage/wal/space_watch.h"

namespace latchkey {

class LogReservations {
 public:
  LogReservations(Runtime& runtime, SpaceAccount& space, LogGrower& grower,
                  const LogFailure& failure, SpaceWatch& watch, WaitWatch waits)
      : runtime_(runtime),
        space_(space),
        grower_(grower),
        failure_(failure),
        watch_(watch),
        waits_(std::move(waits)) {}

  /// As Log::TryReserve, Log::Reserve, Log::ReserveUrgent.
  bool TryReserve(uint64_t bytes) {
    return bytes <= grower_.max_bytes() && space_.TryTake(bytes, SpaceClaim::kNormal);
  }
  absl::Status Reserve(uint64_t bytes);
  absl::Status ReserveUrgent(uint64_t bytes);

 private:
  /// Takes bytes that are not available yet.
  absl::Status MakeRoom(uint64_t bytes);
  bool AwaitRoom(uint64_t bytes, uint64_t ticket, Nanos patience);

  Runtime& runtime_;
  SpaceAccount& space_;
  LogGrower& grower_;
  const LogFailure& failure_;
  SpaceWatch& watch_;
  const WaitWatch waits_;
};

}  // namespace latchkey
