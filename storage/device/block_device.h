// BlockDevice: batched asynchronous reads and writes on one flat range of bytes, with statistics of
// every call. The device's busy time is attributed to the classes of requests that caused it.
//
// Alignment: offsets, lengths and buffer addresses are multiples of geometry().logical_block.
// Thread-safety: a BlockDevice may be used by every actor at once; an IoQueue by one actor at a time.
// Its owner orders the calls of several actors.
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
  /// An array puts consecutive units of so many bytes on consecutive disks. 0: not known, or no
  /// array.
  uint64_t stripe_unit_bytes = 0;
  uint32_t data_disks = 1;     ///< disks that hold data in one stripe; RAID-5: all but one
  uint32_t write_streams = 1;  ///< different values of IoRequest::stream that the device separates
  /// Flash erases units of so many bytes, and moves what still lives in them. 0: not known, or no
  /// flash.
  uint64_t erase_unit_bytes = 0;

  /// Bytes of a full stripe: an aligned write of a multiple of it reads no old data or parity. 0:
  /// not known.
  uint64_t full_stripe_bytes() const { return stripe_unit_bytes * data_disks; }
};

/// The purpose of a request. Statistics and busy time are kept per class, as measured input of the
/// layouts' write cost model (thesis 6.1; page and segment, reads and writes apart).
enum class IoClass : uint8_t {
  kPageRead,
  kPageWrite,
  kSegmentRead,   ///< by the segment cleaner: pages, runs of slots or whole segments
  kSegmentWrite,  ///< a whole segment of an append log
  kProtection,    ///< copies that protect in-place writes against tearing
  kMeta,
  kSegmentPartWrite,  ///< one or more pages of an append log, not the whole segment
  kProbeWrite,        ///< made only to measure what a write costs
  kPlugWrite,         ///< a page that the segment cleaner writes into a hole
  kProbeRead,         ///< made only to measure what a read costs
};
inline constexpr size_t kIoClasses = 10;
/// Whether requests of the class read. Those of kMeta read when a file is opened, and write later: they
/// count as writes.
constexpr bool IsRead(IoClass io_class) {
  return io_class == IoClass::kPageRead || io_class == IoClass::kSegmentRead ||
         io_class == IoClass::kProbeRead;
}
/// Those that write pages of the store to their slots.
inline constexpr IoClass kSlotWrites[] = {IoClass::kPageWrite, IoClass::kPlugWrite,
                                          IoClass::kSegmentWrite, IoClass::kSegmentPartWrite};

struct IoRequest {
  enum class Op : uint8_t { kRead, kWrite };
  Op op = Op::kRead;
  IoClass io_class = IoClass::kPageRead;
  /// A hint for writes: data of one stream is expected to die at about the same time. The device
  /// takes it modulo geometry().write_streams.
  uint8_t stream = 0;
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
  /// proportion to their RequestTime. The sum over all classes is the device's busy time.
  Nanos busy = 0;
  /// Simulated devices only, else 0: the time that the requests took in the device, without waiting,
  /// summed over its disks. Parity I/O and the device's own garbage collection are included.
  Nanos service = 0;
  /// Simulated devices only: bytes of the requests that `service` counts. On a device that decides at
  /// once when a request will be done these are all that were started; on others, those that are done,
  /// so requests in service are counted later than a part of their time.
  uint64_t serviced_bytes = 0;
  /// The part of `service` in which the device moved pages of its own (flash alone).
  Nanos collection = 0;
};

/// I/O of one kind on the single disks of a simulated device.
struct DiskIoStats {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  Nanos service = 0;  ///< without waiting
};

/// What a simulated device knows about its inside: sums over its disks, since its construction. All
/// zeros for other devices.
struct MediumStats {
  /// I/O on the single disks. Parity I/O counts; a request that spans k disks counts k times. It is
  /// sequential if it begins where the previous I/O of that disk ended.
  DiskIoStats sequential_reads, random_reads, sequential_writes, random_writes;
  Nanos queued = 0;  ///< between arrival at a disk and start, summed over its I/O
  Nanos seek = 0, rotation = 0, transfer = 0;  ///< parts of `service`; a fixed time counts as seek
  uint64_t cylinders_crossed = 0;              ///< by the heads

  // Flash only. Pages are the device's own, of 4096 bytes.
  uint64_t host_pages_written = 0;  ///< touched by the requests
  uint64_t moved_pages = 0;         ///< copied by the device's own garbage collection
  uint64_t erases = 0;              ///< of erase units
  uint64_t discarded_pages = 0;     ///< that held data

  /// Pages written to the medium per page written by the host; 1 if the device moves no pages.
  double write_amplification() const {
    if (host_pages_written == 0) return 1;
    return static_cast<double>(host_pages_written + moved_pages) /
           static_cast<double>(host_pages_written);
  }
};

struct DeviceStats {
  std::array<IoClassStats, kIoClasses> by_class;
  MediumStats medium;
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

/// The class of a probe that does `op`.
constexpr IoClass ProbeClassOf(IoRequest::Op op) {
  return op == IoRequest::Op::kRead ? IoClass::kProbeRead : IoClass::kProbeWrite;
}

/// What a request takes in the device without waiting: `fixed`, and `per_byte` for each byte.
struct RequestTime {
  double fixed = 32768, per_byte = 1;

  double Of(double requests, double bytes) const { return requests * fixed + bytes * per_byte; }
};
/// Reads and writes in one unit, which may be any. Initially positioning takes as long as 32 KiB.
struct RequestTimes {
  RequestTime read, write;
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

  /// A hint: nobody needs the content of this range any more. Until it is written again, its bytes
  /// read as the old content or as zeros; so do reads in flight. OK on devices without use for the
  /// hint. REQUIRES: no write of this range is in flight. Errors: as of Write.
  virtual absl::Status Discard(uint64_t offset, uint64_t length) {
    static_cast<void>(offset);
    static_cast<void>(length);
    return absl::OkStatus();
  }

  virtual DeviceStats stats() const = 0;
  /// Busy time is divided among the requests in flight by these times from now on. REQUIRES: a request
  /// takes more than no time.
  virtual void SetRequestTimes(const RequestTimes& times) = 0;
  /// A description for reports and messages: "file(data.lk, O_DIRECT, libaio)".
  virtual std::string Describe() const = 0;
};

}  // namespace latchkey
