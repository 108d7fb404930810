// What all parts of a segment store stand on: devices and geometry, counters, the log reach, and the
// fatal error that makes the store read-only.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>

#include "layout/client_slot.h"
#include "layout/geometry.h"
#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct StoreCounters {
  std::atomic<uint64_t> page_reads{0};
  std::atomic<uint64_t> user_page_writes{0};
  std::atomic<uint64_t> in_place_page_writes{0};  ///< over the page's slot, or into a hole
  std::atomic<uint64_t> hole_page_writes{0};      ///< of these, into a hole
  std::atomic<uint64_t> appended_page_writes{0};
  std::atomic<uint64_t> hot_page_writes{0};  ///< of these, to the logs of hot pages
  std::atomic<uint64_t> cleaner_page_writes{0};
  std::atomic<uint64_t> plugged_page_writes{0};  ///< of these, into a hole
  std::atomic<uint64_t> cleaner_page_reads{0};
  std::atomic<uint64_t> cleaner_pages_copied{0};  ///< got from the pool above instead of read
  std::atomic<uint64_t> cleaned_segments{0};
  std::atomic<uint64_t> plugged_segments{0};
  std::atomic<uint64_t> cleaned_live_slots{0};
  std::atomic<uint64_t> protected_page_writes{0};  ///< in place, through a doublewrite area
  std::atomic<uint64_t> protection_bytes{0};       ///< written to the doublewrite areas
  std::atomic<uint64_t> protection_syncs{0};
  std::atomic<uint64_t> protection_sync_ns{0};  ///< summed latency of these
  std::atomic<uint64_t> meta_bytes_written{0};
  std::atomic<uint64_t> writes_again{0};  ///< retries of failed page writes
};

/// Thread-safe.
struct StoreCore {
  StoreCore(Runtime& rt, BlockDevice& dev, StoreGeometry geo, uint64_t id, LogSink sink)
      : runtime(rt),
        device(dev),
        geometry(geo),
        database_id(id),
        log_sink(std::move(sink)),
        client(rt),
        fatal_mutex(rt) {}

  /// Makes the store read-only until it is reopened. The first error stays.
  void Poison(const absl::Status& error);
  bool poisoned() const { return is_poisoned.load(std::memory_order_acquire); }
  /// OK, or the error that every write now returns.
  absl::Status WriteStatus() const;

  /// Detaches the client. The log reach keeps its last value.
  void DetachClient();
  /// The log reach: LSN up to which the write-ahead log is durable, as far as is known now. Rounds,
  /// superblocks and doublewrite batches note it. The client says it if it has a log.
  Lsn LogReach() const;
  /// Raises the log reach to a noted value that an open has found.
  void NoteLogReach(Lsn reach);

  Runtime& runtime;
  BlockDevice& device;
  const StoreGeometry geometry;
  const uint64_t database_id;
  const LogSink log_sink;
  ClientSlot client;
  StoreCounters counters;
  /// Generation of the newest superblock on the device.
  std::atomic<uint64_t> generation{0};

 private:
  mutable Mutex fatal_mutex;
  absl::Status fatal LATCHKEY_GUARDED_BY(fatal_mutex);
  // Made before memory runs out.
  const absl::Status fatal_without_memory = absl::UnavailableError(
      "the store is read-only since memory ran out in the middle of a write; close and reopen it");
  std::atomic<bool> is_poisoned{false};
  mutable SpinLatch log_latch;  // a leaf
  mutable Lsn known_log_reach LATCHKEY_GUARDED_BY(log_latch){0};
};

}  // namespace latchkey
