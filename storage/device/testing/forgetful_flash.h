// Flash that returns zeros where something was discarded. A discard is a write of zeros to the other
// device: a crash may lose it, or leave a part of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/device/aligned_buffer.h"
#include "storage/device/testing/forwarding_device.h"

namespace latchkey {

/// Thread-safe if the other device is.
class ForgetfulFlash final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  DeviceGeometry geometry() const override {
    DeviceGeometry geometry = ForwardingDevice::geometry();
    geometry.erase_unit_bytes = 64 << 10;
    geometry.write_streams = 16;
    return geometry;
  }
  absl::Status Discard(uint64_t offset, uint64_t length) override {
    discarded_bytes_.fetch_add(length, std::memory_order_relaxed);
    AlignedBuffer zeros(length);
    return ForwardingDevice::Write(offset, zeros.span(), IoClass::kMeta);
  }
  uint64_t discarded_bytes() const { return discarded_bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> discarded_bytes_{0};
};

}  // namespace latchkey
