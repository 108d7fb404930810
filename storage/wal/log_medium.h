// LogMedium: a log's device, and the place of each segment of the stream on it. Shared by reading
// and writing of a log.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/thread_annotations.h"
#include "storage/device/block_device.h"
#include "storage/runtime/latency_timer.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/log_format.h"
#include "storage/wal/segment_table.h"

namespace latchkey {

/// Thread-safe after its creation.
struct LogMedium {
  LogMedium(Runtime& rt, std::unique_ptr<BlockDevice> log_device)
      : runtime(rt), device(std::move(log_device)) {}

  std::optional<SegmentTable::Entry> FindSegment(uint64_t index) {
    SpinLatchGuard guard(latch, runtime);
    return table.Find(index);
  }
  /// The first segment at or above `index` that has a slot.
  struct Segment {
    uint64_t index = 0;
    uint32_t slot = 0;
  };
  std::optional<Segment> NextSegment(uint64_t index) {
    SpinLatchGuard guard(latch, runtime);
    const std::optional<uint64_t> next = table.NextMapped(index);
    if (!next) return std::nullopt;
    return Segment{*next, table.Find(*next)->slot};
  }
  /// As SegmentTable::damaged and SegmentTable::SlotsBefore.
  std::vector<uint32_t> DamagedSlots() {
    SpinLatchGuard guard(latch, runtime);
    return table.damaged();
  }
  std::vector<uint32_t> SlotsBefore(uint64_t index) {
    SpinLatchGuard guard(latch, runtime);
    return table.SlotsBefore(index);
  }
  /// The end of the contiguous stream from `lsn` on: the first segment that has no slot.
  uint64_t ReadableEnd(uint64_t lsn) {
    SpinLatchGuard guard(latch, runtime);
    return geometry.StartOf(table.EndOfRun(geometry.IndexOf(lsn)));
  }

  /// Makes the writes so far durable: the last step of a group.
  absl::Status SyncGroup() {
    const LatencyTimer timer(runtime, sync_latencies);
    return device->Sync();
  }

  Runtime& runtime;
  const std::unique_ptr<BlockDevice> device;
  LogGeometry geometry;
  /// Offset of the copy of the file header that the open took. Until the next complete
  /// WriteFileHeader the other one may be damaged or older.
  uint64_t valid_header = 0;
  uint64_t database_id = 0;
  std::string name;  ///< for messages
  LatencyRecorder* sync_latencies =
      nullptr;  ///< SyncGroup records here; nullptr: it does not read the clock
  SpinLatch latch;
  SegmentTable table LATCHKEY_GUARDED_BY(latch);
};

/// Fills `out` with the stream from `lsn` on. REQUIRES: whole blocks below ReadableEnd(lsn); `out`
/// aligned for the device. Errors: the device's, with the log's name and the position.
absl::Status ReadStream(LogMedium& medium, uint64_t lsn, std::span<std::byte> out);

/// Says in both copies of the file header that the device holds `slots` slots; durable on return.
/// One copy is sound at every instant.
absl::Status WriteFileHeader(LogMedium& medium, uint64_t slots);
/// As above, without taking memory. `block`: kLogHeaderCopyBytes, aligned for the device.
absl::Status WriteFileHeader(LogMedium& medium, uint64_t slots, std::span<std::byte> block);

/// Writes headers that say "free" into `count` slots from `first` on, so that a header that cannot
/// be read is always damage. They are durable after the next sync.
absl::Status WriteFreeHeaders(LogMedium& medium, uint64_t first, uint64_t count);
/// As above for one slot, without taking memory. `block`: a block, aligned for the device.
absl::Status WriteFreeHeader(LogMedium& medium, uint64_t slot, std::span<std::byte> block);

}  // namespace latchkey
