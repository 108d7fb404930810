// BlockDevice: batched asynchronous reads and writes on one flat range of bytes, with statistics of
// every call. The device's busy time is attributed to the classes of requests that caused it.
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

/// The purpose of a request. Statistics and busy time are kept per class, as measured input of the
/// layouts' write cost model (thesis 6.1; page and segment, reads and writes apart).
enum class IoClass : uint8_t {
  kPageRead,
  kPageWrite,
  kSegmentRead,   ///< by the segment cleaner: pages, runs of slots or whole segments
  kSegmentWrite,  ///< one or more pages of an append log
  kProtection,    ///< copies that protect in-place writes against tearing
  kMeta,
};
inline constexpr size_t kIoClasses = 6;

struct IoRequest {
  enum class Op : uint8_t { kRead, kWrite };
  Op op = Op::kRead;
  IoClass io_class = IoClass::kPageRead;
  uint64_t offset = 0;          ///< bytes
  uint32_t length = 0;          ///< bytes, > 0
  std::byte* buffer = nullptr;  ///< the owner must not change it while the request is in flight
  absl::Status status;          ///< set at completion
};

/// The requests in flight of one owner. Not thread-safe. Destroyed only when nothing is in flight.
class IoQueue {
 public:
  virtual ~IoQueue() = default;
  /// Starts all of `requests`, which the caller owns and which must outlive their completion.
  /// Continues partial submissions. A request that cannot be started completes with its error in
  /// `status`. REQUIRES: in_flight() + requests.size() <= depth.
  virtual void Submit(std::span<IoRequest* const> requests) = 0;
  /// Waits until at least `min_completions` requests (at most in_flight()) have completed since the
  /// last call, and appends every completed request to `completed`. 0 polls.
  virtual void Wait(size_t min_completions, std::vector<IoRequest*>& completed) = 0;
  virtual size_t in_flight() const = 0;
};

struct IoClassStats {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  /// Share of the device's busy time: every instant is divided among the requests in flight in
  /// proportion to length + positioning bytes. The sum over all classes is the device's busy time.
  Nanos busy = 0;
};

struct DeviceStats {
  std::array<IoClassStats, kIoClasses> by_class;
  uint64_t syncs = 0;
  Nanos sync_time = 0;  ///< summed latency of the syncs; not part of busy
  Nanos busy = 0;       ///< time with at least one request in flight
  /// Integral of the number of requests in flight over time, divided by busy: mean depth while
  /// busy.
  double mean_depth = 0;
  uint64_t errors = 0;     ///< requests and syncs that failed or were refused
  uint64_t in_flight = 0;  ///< now: started, and not yet seen completed

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

  /// A queue for at most `depth` requests in flight (1..1024). Destroyed before the device.
  virtual absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) = 0;

  /// Returns once every write that completed before the call is durable. An error is final: the
  /// caller must stop writing, because a later success proves nothing about earlier writes.
  virtual absl::Status Sync() = 0;

  /// Grows or shrinks to `size_bytes`. Growth allocates the space and writes it once, so that later
  /// writes change no file-system metadata. It is durable on return, so later writes may refer to
  /// the new space. ResourceExhausted when the medium is full; the size is then unchanged.
  virtual absl::Status Resize(uint64_t size_bytes) = 0;

  virtual DeviceStats stats() const = 0;
  /// Sets the positioning cost of a request, as the bytes that the device transfers in that time
  /// (thesis: T_pos * B). Busy time is divided by it from now on. Initially 32 KiB.
  virtual void SetPositioningBytes(uint64_t bytes) = 0;
  /// A description for reports and messages: "file(data.lk, O_DIRECT, libaio)".
  virtual std::string Describe() const = 0;
};

}  // namespace latchkey
