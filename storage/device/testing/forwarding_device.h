// A device that passes every call to another one, for tests that change a few of the calls.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "storage/device/block_device.h"

namespace latchkey {

/// Thread-safe if the other device is. Its queues are those of the other device.
class ForwardingDevice : public BlockDevice {
 public:
  /// `device` may have other owners: it outlives this one if they do.
  explicit ForwardingDevice(std::shared_ptr<BlockDevice> device) : device_(std::move(device)) {}

  DeviceGeometry geometry() const override { return device_->geometry(); }
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) override {
    return device_->Read(offset, out, io_class);
  }
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass io_class) override {
    return device_->Write(offset, data, io_class);
  }
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) override {
    return device_->NewQueue(depth);
  }
  absl::Status Sync() override { return device_->Sync(); }
  absl::Status Resize(uint64_t size_bytes) override { return device_->Resize(size_bytes); }
  absl::Status Discard(uint64_t offset, uint64_t length) override {
    return device_->Discard(offset, length);
  }
  DeviceStats stats() const override { return device_->stats(); }
  void SetRequestTimes(const RequestTimes& times) override { device_->SetRequestTimes(times); }
  std::string Describe() const override { return device_->Describe(); }

 private:
  const std::shared_ptr<BlockDevice> device_;
};

}  // namespace latchkey
