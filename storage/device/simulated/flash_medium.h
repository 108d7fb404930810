// FlashMedium: a flash device as a pipeline, over a FlashTranslation.
//
// A request of n bytes occupies the device for
//     read_us / parallel + n / read bandwidth       (a write: the same with its own figures)
// and completes (1 - 1/parallel) * read_us after that. So one request at a time takes read_us + n /
// bandwidth, and many at a time take the first sum each: the per-request cost overlaps `parallel`
// times, the transfers share the bandwidth. Each page that a garbage collection moves occupies the
// device for its transfer in both directions, within the write that made it necessary. An erase
// takes no time of its own; it is part of the write bandwidth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/device/simulated/flash_translation.h"
#include "storage/device/simulated/medium.h"

namespace latchkey {

struct FlashParameters {
  double read_us = 80, write_us = 20;  ///< of one request alone, without its transfer
  double read_mb_per_s = 3000, write_mb_per_s = 1200;  ///< 10^6 bytes/s
  uint32_t parallel = 32;  ///< requests whose read_us or write_us overlap
  uint32_t erase_kb = 1024;
  double spare = 0.07;
  uint32_t streams = 1;

  /// Nanoseconds that a request occupies the device, without garbage collection.
  double OccupancyNanos(IoRequest::Op op, uint64_t length) const;
  /// Nanoseconds that a moved page occupies the device.
  double MoveNanos() const;
};

/// MediumStats::write_amplification of what was written between the two; nullopt: nothing, or not by
/// flash.
std::optional<double> FlashAmplification(const MediumStats& from, const MediumStats& to);

/// Not thread-safe. Requests are served in the order of their arrival.
class FlashMedium final : public SimulatedMedium {
 public:
  explicit FlashMedium(const FlashParameters& parameters);

  bool decides_at_once() const override { return true; }
  void Start(Nanos now, MediumRequest& request) override;
  void AdvanceTo(Nanos /*now*/) override {}
  Nanos NextNews(const MediumRequest& request) const override { return request.done_at; }

  void Resize(uint64_t size_bytes) override;
  void Discard(uint64_t offset, uint64_t length) override;
  uint64_t capacity_bytes() const override;
  void DescribeGeometry(DeviceGeometry& geometry) const override {
    geometry.write_streams = parameters_.streams;
    geometry.erase_unit_bytes = uint64_t{parameters_.erase_kb} << 10;
  }
  MediumTotals totals() const override { return totals_; }
  std::string Describe() const override;

 private:
  Nanos Occupancy(const MediumIo& io);

  const FlashParameters parameters_;
  FlashTranslation translation_;
  Nanos free_at_ = 0;
  uint64_t position_ = 0;  // end of the last request
  MediumTotals totals_;
};

}  // namespace latchkey
