// LogGrower: adds slots to a log's device, and takes free ones at its end away.
//
// Invariants
//  1. Every slot has a header that says "free" before the file header counts it. The file header
//     that counts a slot is durable before the slot can hold a segment.
//  2. A growth syncs the device. If that sync fails, earlier groups may not be durable either. So a
//     failed growth poisons the log. Exception: a device without room; nothing has changed then.
//
//  3. A slot is cut off in this order, each step durable before the next: no thread can get the slot;
//     its header cannot be read; the file header does not count it; the device is shorter.
//
// Lock order: its mutex, then the log's latch. It waits for the device while it holds the mutex.
// Thread-safety: all actors may call every member at once.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <span>

#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"
#include "storage/wal/log_failure.h"
#include "storage/wal/log_medium.h"
#include "storage/wal/space_account.h"

namespace latchkey {

class LogGrower {
 public:
  /// `max_bytes`: the device does not grow beyond.
  LogGrower(LogMedium& medium, uint64_t max_bytes, SpaceAccount& space, LogFailure& failure)
      : medium_(medium),
        max_bytes_(max_bytes),
        space_(space),
        failure_(failure),
        mutex_(medium.runtime) {}

  uint64_t max_bytes() const { return max_bytes_; }
  /// Bytes of the device that the log uses.
  uint64_t device_bytes() const { return medium_.geometry.SlotOffset(space_.slots()); }
  /// Takes `bytes` for `claim`; grows the device as far as needed. ResourceExhausted: the device
  /// cannot grow; Unavailable: the log is poisoned. Nothing is taken then.
  absl::Status GrowAndTake(uint64_t bytes, SpaceClaim claim) LATCHKEY_EXCLUDES(mutex_);
  /// Grows the device once: by an eighth, or by the bytes that `claim` lacks if they are more. A
  /// small log doubles instead, so that it is soon large enough.
  /// Errors: as GrowAndTake.
  absl::Status Grow(uint64_t bytes, SpaceClaim claim) LATCHKEY_EXCLUDES(mutex_);

  /// The least slots of a log.
  static constexpr uint64_t kLeastSlots = 3;
  /// Shrinks the device to slots for `stream_bytes`, or as far as used slots and free room allow. A
  /// failure poisons the log, as for growth; otherwise OK.
  absl::Status ShrinkTo(uint64_t stream_bytes) LATCHKEY_EXCLUDES(mutex_);
  /// Frees the slots of the segments from `index` on. REQUIRES: they hold no group, and no thread
  /// appends.
  absl::Status FreeFrom(uint64_t index) LATCHKEY_EXCLUDES(mutex_);

  enum class Ahead {
    kEnough,   ///< the log is not short of room any more
    kMayGrow,  ///< it has grown, and may grow again
    kCannot,   ///< it has its usual size, or the device refuses more
  };
  /// Grows the device as Grow does, up to `usual_bytes`, if it IsShort.
  Ahead GrowAhead(uint64_t usual_bytes) LATCHKEY_EXCLUDES(mutex_);
  /// Whether the log is smaller than `usual_bytes` and less than a quarter of it is free.
  bool IsShort(uint64_t usual_bytes) const;

  /// ResourceExhausted, for a request of `bytes`. `cause`: why the device did not grow; OK = it is
  /// as large as it may be.
  absl::Status NoSpace(uint64_t bytes, const absl::Status& cause = absl::OkStatus()) const;

 private:
  uint64_t Step() const;
  absl::Status GrowFor(uint64_t bytes, SpaceClaim claim) LATCHKEY_REQUIRES(mutex_);
  absl::Status AddSlots(uint64_t count) LATCHKEY_REQUIRES(mutex_);
  std::optional<uint32_t> TakeTail(uint64_t wanted) LATCHKEY_REQUIRES(mutex_);
  absl::Status CutTo(uint32_t slots, std::span<std::byte> block) LATCHKEY_REQUIRES(mutex_);
  SegmentTable::NewSlots MakeFreeSlots(uint64_t first, uint64_t count) LATCHKEY_REQUIRES(mutex_);
  absl::Status FailLog(const absl::Status& cause);
  uint64_t SlotsWithin(uint64_t bytes) const {
    return (bytes - kLogSegmentsBegin) / medium_.geometry.segment_bytes;
  }

  LogMedium& medium_;
  const uint64_t max_bytes_;
  SpaceAccount& space_;
  LogFailure& failure_;
  Mutex mutex_;  // held while the device grows
};

}  // namespace latchkey
