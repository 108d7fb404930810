// DiskModel: computes when a request is done, given the requests queued before it. Pure arithmetic
// over virtual time: no waiting, no content.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// Not thread-safe.
class DiskModel {
 public:
  virtual ~DiskModel() = default;
  /// Queues a request at time `now` and returns the time at which it is done. `now` never decreases
  /// from call to call. `length` in bytes, > 0.
  virtual Nanos Enqueue(Nanos now, uint64_t offset, uint64_t length) = 0;
  virtual std::string Describe() const = 0;
};

/// One disk, FIFO. Every request takes `service`, at any offset, plus the time of the transfer if
/// `bytes_per_second` is not 0 (thesis chapter 4: 9 ms a page; 6.1: T_pos and B).
class FixedServiceDisk final : public DiskModel {
 public:
  FixedServiceDisk(Nanos service, uint64_t bytes_per_second)
      : service_(service), bytes_per_second_(bytes_per_second) {}
  Nanos Enqueue(Nanos now, uint64_t offset, uint64_t length) override;
  std::string Describe() const override;

 private:
  const Nanos service_;
  const uint64_t bytes_per_second_;
  Nanos free_at_ = 0;
};

/// RAID-0: consecutive stripe units lie on consecutive disks. A request becomes one request on each
/// of its disks, and is done when the last of these is.
class StripedArray final : public DiskModel {
 public:
  /// REQUIRES: at least one disk; stripe_bytes > 0.
  StripedArray(std::vector<std::unique_ptr<DiskModel>> disks, uint64_t stripe_bytes);
  Nanos Enqueue(Nanos now, uint64_t offset, uint64_t length) override;
  std::string Describe() const override;

 private:
  const std::vector<std::unique_ptr<DiskModel>> disks_;
  const uint64_t stripe_bytes_;
};

}  // namespace latchkey
