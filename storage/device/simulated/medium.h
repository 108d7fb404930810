// SimulatedMedium: computes when the requests of a simulated device are done. Pure arithmetic over
// virtual time: no waiting, no content.
//
// A medium is a simulation of events (a request arrives, a disk becomes free, the reads before a
// RAID-5 write are done). Time moves only in calls: each call first runs the events that are due.
// Nothing else can change the medium between two calls, so this is as exact as a thread that
// runs each event at its moment, and it works on every runtime.
//
// A medium that serves requests in the order of their arrival knows at once when a request is done.
// A medium that reorders them knows it later: until then its owner sleeps until NextNews.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// What a medium needs to know of a request.
struct MediumIo {
  IoRequest::Op op = IoRequest::Op::kRead;
  IoClass io_class = IoClass::kPageRead;
  uint8_t stream = 0;   ///< of a write
  uint64_t offset = 0;  ///< bytes
  uint64_t length = 0;  ///< bytes, > 0
};

/// A part of a request, on one disk of an array.
struct DiskIo {
  IoRequest::Op op = IoRequest::Op::kRead;
  IoClass io_class = IoClass::kPageRead;
  uint32_t disk = 0;
  uint64_t offset = 0;  ///< bytes, on that disk
  uint64_t length = 0;  ///< bytes
};

/// A request and its progress. The owner keeps it at its address until it is done.
class MediumRequest {
 public:
  explicit MediumRequest(const MediumIo& io) : io(io) {}

  const MediumIo io;
  Nanos done_at = kForever;  ///< kForever: the medium does not know yet

 private:
  friend class DiskArray;
  struct Part {
    DiskIo io;
    Nanos arrived = 0;
    Nanos done_at = kForever;
  };
  std::vector<Part> parts_;     // that have arrived at their disks
  std::vector<DiskIo> second_;  // arrive when all of parts_ are done
  size_t undecided_ = 0;        // of parts_
};

/// The totals of a medium. Classes in the order of IoClass.
struct MediumTotals {
  MediumStats stats;
  std::array<Nanos, kIoClasses> service{};
  std::array<Nanos, kIoClasses> collection{};  ///< IoClassStats::collection
};

/// Not thread-safe.
class SimulatedMedium {
 public:
  virtual ~SimulatedMedium() = default;

  /// Whether Start always sets done_at.
  virtual bool decides_at_once() const = 0;
  /// The request arrives at time `now`. Times that go back count as the latest time so far.
  virtual void Start(Nanos now, MediumRequest& request) = 0;
  /// Runs the events up to `now`.
  virtual void AdvanceTo(Nanos now) = 0;
  /// The earliest time at which more may be known about a request whose done_at is not known.
  virtual Nanos NextNews(const MediumRequest& request) const = 0;

  /// The device now has so many bytes.
  virtual void Resize(uint64_t /*size_bytes*/) {}
  /// The range holds nothing that is needed.
  virtual void Discard(uint64_t /*offset*/, uint64_t /*length*/) {}
  /// The largest size of the device, bytes.
  virtual uint64_t capacity_bytes() const { return UINT64_MAX; }
  /// Fills in stripe_unit_bytes, data_disks, write_streams and erase_unit_bytes.
  virtual void DescribeGeometry(DeviceGeometry& /*geometry*/) const {}
  virtual MediumTotals totals() const = 0;
  virtual std::string Describe() const = 0;

  /// As Start; returns the time at which the request is done. REQUIRES: decides_at_once().
  Nanos Enqueue(Nanos now, const MediumIo& io) {
    LATCHKEY_CHECK(decides_at_once());
    MediumRequest request(io);
    Start(now, request);
    return request.done_at;
  }
};

}  // namespace latchkey
