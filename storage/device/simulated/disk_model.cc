#include "storage/device/simulated/disk_model.h"

#include <fmt/format.h>

namespace latchkey {

ServiceTime FixedServiceDisk::Serve(Nanos /*start*/, const DiskIo& io) {
  ServiceTime time{.seek = service_};
  if (bytes_per_second_ > 0) {
    time.transfer = static_cast<Nanos>(static_cast<double>(io.length) * kNanosPerSecond /
                                       static_cast<double>(bytes_per_second_));
  }
  return time;
}

std::string FixedServiceDisk::Describe() const {
  const double service_ms = static_cast<double>(service_) / kNanosPerMilli;
  if (bytes_per_second_ == 0) return fmt::format("{} ms a request", service_ms);
  return fmt::format("{} ms a request and {} MB/s", service_ms,
                     static_cast<double>(bytes_per_second_) / 1e6);
}

}  // namespace latchkey
