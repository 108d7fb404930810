// FaultyDevice: a BlockDevice on one disk of a CrashRecorder.
//
// Requests of a queue complete when the queue's owner calls Wait: after their seeded latency or, if
// latencies are 0, at once and in seeded order. So a write is in flight between Submit and Wait, as
// on a real disk.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "storage/device/block_device.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/io_accounting.h"

namespace latchkey {

/// Made by CrashRecorder::Open. Thread-safe as BlockDevice says.
class FaultyDevice final : public BlockDevice {
 public:
  FaultyDevice(Runtime& runtime, CrashRecorder& recorder, uint32_t disk, std::string name);

  DeviceGeometry geometry() const override;
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) override;
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass io_class) override;
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) override;
  absl::Status Sync() override;
  absl::Status Resize(uint64_t size_bytes) override;
  DeviceStats stats() const override { return accounting_.Snapshot(); }
  void SetRequestTimes(const RequestTimes& times) override { accounting_.SetRequestTimes(times); }
  std::string Describe() const override;

 private:
  class Queue;

  // OK, or the reason for a refusal, which is counted and reported to the monitors.
  absl::Status Check(uint64_t offset, uint64_t length, const void* buffer);
  void Pass(Nanos latency);

  Runtime& runtime_;
  CrashRecorder& recorder_;
  const uint32_t disk_;
  const std::string name_;
  IoAccounting accounting_;
};

}  // namespace latchkey
