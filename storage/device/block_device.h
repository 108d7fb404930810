// BlockDevice: batched asynchronous reads and writes on one flat range of bytes, with statistics of
// every call and with the device's busy time attributed to what caused it.
//
// Alignment: offsets, lengths and buffer addresses are multiples of geometry().logical_block.
// Thread-safety: a BlockDevice may be used by every actor at once; an IoQueue belongs to one actor.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey {

struct DeviceGeometry {
  uint64_t size_bytes = 0;
  uint32_t logical_block = 512;      ///< bytes; alignment of every request
  uint32_t atomic_write_unit = 512;  ///< bytes; an aligned write of this size is never torn
};

/// What a request is for: statistics and busy time are kept per class, so that the write cost model
/// of the layouts can be fed by measurement (thesis 6.1; page and segment, reads and writes apart).
enum class IoClass : uint8_t { kPageRead, kPageWrite, kSegmentRead, kSegmentWrite, kMeta };
inline constexpr size_t kIoClasses = 5;

struct IoRequest {
  enum class Op : uint8_t { kRead, kWrite };
  Op op = Op::kRead;
  IoClass io_class = IoClass::kPageRead;
  uint64_t offset = 0;          ///< bytes
  uint32_t length = 0;          ///< bytes, > 0
  std::byte* buffer = nullptr;  ///< not changed by anybody while the request is in flight
  void* context = nullptr;      ///< the owner's; not looked at
  absl::Status status;          ///< set at completion
};

/// Requests in flight for one owner. Not thread-safe. Destroyed only when nothing is in flight.
class IoQueue {
 public:
  virtual ~IoQueue() = default;
  /// Starts all of `requests` (they stay the caller's and must outlive their completion). Partial
  /// submissions are continued inside; a request that cannot even be started completes with its
  /// error in `status`. REQUIRES: in_flight() + requests.size() <= depth.
  virtual void Submit(std::span<IoRequest* const> requests) = 0;
  /// Waits until at least `min_completions` (at most in_flight()) have completed since the last
  /// call and appends every completed request to `completed`. 0 polls.
  virtual void Wait(size_t min_completions, std::vector<IoRequest*>& completed) = 0;
  virtual size_t in_flight() const = 0;
};

struct IoClassStats {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  /// Share of the device's busy time: every instant is shared out over the requests in flight, by
  /// weight: length + positioning bytes. The sum over all classes is the time the device was busy.
  Nanos busy = 0;
};

struct DeviceStats {
  std::array<IoClassStats, kIoClasses> by_class;
  uint64_t syncs = 0;
  Nanos sync_time = 0;  ///< summed latency of the syncs; not part of busy
  Nanos busy = 0;       ///< at least one request was in flight
  /// Integral of the number of requests in flight over time, divided by busy: mean depth while
  /// busy.
  double mean_depth = 0;
  uint64_t errors = 0;     ///< requests and syncs that failed or were refused
  uint64_t in_flight = 0;  ///< now: started and not yet known to have completed

  const IoClassStats& of(IoClass c) const { return by_class[static_cast<size_t>(c)]; }
};

class BlockDevice {
 public:
  virtual ~BlockDevice() = default;

  virtual DeviceGeometry geometry() const = 0;

  /// One synchronous request.
  virtual absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) = 0;
  virtual absl::Status Write(uint64_t offset, std::span<const std::byte> data,
                             IoClass io_class) = 0;

  /// A queue for at most `depth` requests in flight (1..1024). It goes before the device does.
  virtual absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) = 0;

  /// Returns once every write that completed before the call is durable. An error is final: the
  /// caller stops writing (a later success proves nothing about the earlier writes).
  virtual absl::Status Sync() = 0;

  /// Grows or shrinks to `size_bytes`. Growth allocates the space and writes it once, so that later
  /// writes change no file-system metadata, and is durable when this returns: what is written next
  /// may name the new space. ResourceExhausted when the medium is full, with the old size kept.
  virtual absl::Status Resize(uint64_t size_bytes) = 0;

  virtual DeviceStats stats() const = 0;
  /// What one request takes besides its bytes, in bytes that the device transfers in that time
  /// (thesis: T_pos * B): how busy time is shared out from now on. 32 KiB until told.
  virtual void SetPositioningBytes(uint64_t bytes) = 0;
  /// What the device is, for reports and messages: "file(data.lk, O_DIRECT, libaio)".
  virtual std::string Describe() const = 0;
};

}  // namespace latchkey
