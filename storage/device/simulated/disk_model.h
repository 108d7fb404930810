// DiskModel: how long one disk takes for one request, given where its head is. Pure arithmetic;
// the queue in front of the disk is a DiskQueue.
#pragma once

#include <cstdint>
#include <string>

#include "storage/device/simulated/medium.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The parts of the time that a request takes.
struct ServiceTime {
  Nanos seek = 0;  ///< of a disk without a seek curve: its whole fixed time
  Nanos rotation = 0;
  Nanos transfer = 0;
  uint64_t cylinders = 0;  ///< crossed by the seek

  Nanos total() const { return seek + rotation + transfer; }
};

/// Not thread-safe.
class DiskModel {
 public:
  virtual ~DiskModel() = default;
  /// Serves `io` from time `start` on, and leaves the head at its end. The disk is idle at `start`.
  virtual ServiceTime Serve(Nanos start, const DiskIo& io) = 0;
  virtual uint64_t capacity_bytes() const = 0;
  virtual std::string Describe() const = 0;
};

/// Every request takes `service`, at any offset, plus the time of the transfer if
/// `bytes_per_second` is not 0 (thesis chapter 4: 9 ms a page; 6.1: T_pos and B).
class FixedServiceDisk final : public DiskModel {
 public:
  FixedServiceDisk(Nanos service, uint64_t bytes_per_second)
      : service_(service), bytes_per_second_(bytes_per_second) {}
  ServiceTime Serve(Nanos start, const DiskIo& io) override;
  uint64_t capacity_bytes() const override { return UINT64_MAX; }
  std::string Describe() const override;

 private:
  const Nanos service_;
  const uint64_t bytes_per_second_;
};

}  // namespace latchkey
