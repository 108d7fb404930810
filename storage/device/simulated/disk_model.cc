#include "storage/device/simulated/disk_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/base/check.h"

namespace latchkey {

Nanos FixedServiceDisk::Enqueue(Nanos now, uint64_t /*offset*/, uint64_t length) {
  Nanos takes = service_;
  if (bytes_per_second_ > 0) {
    takes += static_cast<Nanos>(static_cast<double>(length) * kNanosPerSecond /
                                static_cast<double>(bytes_per_second_));
  }
  free_at_ = std::max(free_at_, now) + takes;
  return free_at_;
}

std::string FixedServiceDisk::Describe() const {
  const double service_ms = static_cast<double>(service_) / kNanosPerMilli;
  if (bytes_per_second_ == 0) return fmt::format("{} ms a request", service_ms);
  return fmt::format("{} ms a request and {} MB/s", service_ms,
                     static_cast<double>(bytes_per_second_) / 1e6);
}

StripedArray::StripedArray(std::vector<std::unique_ptr<DiskModel>> disks, uint64_t stripe_bytes)
    : disks_(std::move(disks)), stripe_bytes_(stripe_bytes) {
  LATCHKEY_CHECK(!disks_.empty() && stripe_bytes_ > 0);
}

Nanos StripedArray::Enqueue(Nanos now, uint64_t offset, uint64_t length) {
  const uint64_t n = disks_.size();
  const uint64_t first = offset / stripe_bytes_;
  const uint64_t last = (offset + length - 1) / stripe_bytes_;
  Nanos done = now;
  for (uint64_t unit = first; unit <= std::min(last, first + n - 1); ++unit) {
    // The units of one disk are contiguous on it: rows unit / n, unit / n + 1, ...
    const uint64_t units = (last - unit) / n + 1;
    uint64_t begin = unit / n * stripe_bytes_;
    uint64_t end = begin + units * stripe_bytes_;
    if (unit == first) begin += offset % stripe_bytes_;
    if (unit % n == last % n) end -= stripe_bytes_ - ((offset + length - 1) % stripe_bytes_ + 1);
    done = std::max(done, disks_[unit % n]->Enqueue(now, begin, end - begin));
  }
  return done;
}

std::string StripedArray::Describe() const {
  return fmt::format("{} disks striped by {} bytes, each {}", disks_.size(), stripe_bytes_,
                     disks_.front()->Describe());
}

}  // namespace latchkey
