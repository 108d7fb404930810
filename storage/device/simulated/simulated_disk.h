// SimulatedDisk: a BlockDevice with its content in memory and the timing of a SimulatedMedium: an
// array of disks, or flash. In a SimulatedRuntime the disks of chapter 4 of the thesis (11 disks, 9
// ms a page) run in virtual time; on threads it is a slow disk.
//
// A write takes effect at its submission, a read when its owner waits for it. Both times lie
// between submission and completion, as on a real disk. There is no write cache: completed writes
// are durable, and a sync takes no time.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "storage/device/block_device.h"
#include "storage/device/io_accounting.h"
#include "storage/device/simulated/medium.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// Thread-safe as BlockDevice says. Queues must be destroyed before it.
class SimulatedDisk final : public BlockDevice {
 public:
  /// `content` holds the bytes: a MemoryDevice, or another device that takes no time.
  SimulatedDisk(Runtime& runtime, std::unique_ptr<BlockDevice> content,
                std::unique_ptr<SimulatedMedium> medium);

  DeviceGeometry geometry() const override;
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) override;
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass io_class) override;
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) override;
  absl::Status Sync() override;
  /// Takes no time. ResourceExhausted beyond the capacity of the medium.
  absl::Status Resize(uint64_t size_bytes) override;
  /// Takes no time. Flash forgets the pages; the content stays.
  absl::Status Discard(uint64_t offset, uint64_t length) override;
  DeviceStats stats() const override;
  void SetRequestTimes(const RequestTimes& times) override { accounting_.SetRequestTimes(times); }
  std::string Describe() const override;

 private:
  class Queue;

  absl::Status Check(uint64_t offset, uint64_t length, const void* buffer);
  void Start(MediumRequest& request);
  // Runs the events of the medium up to now.
  void Advance() const;
  // Waits until a started request is done.
  void Await(const MediumRequest& request);
  void ResizeMedium(uint64_t size_bytes);
  void SleepUntil(Nanos when);
  void Account(IoClass io_class, uint64_t length, bool ok);

  Runtime& runtime_;
  const std::unique_ptr<BlockDevice> content_;
  const std::string name_;
  const bool decides_at_once_;
  const DeviceGeometry shape_;  // of the medium; sizes come from content_
  const uint64_t capacity_bytes_;
  Mutex resize_mutex_;
  // Also guards the progress of all requests in flight.
  mutable SpinLatch medium_latch_;
  const std::unique_ptr<SimulatedMedium> medium_ LATCHKEY_PT_GUARDED_BY(medium_latch_);
  IoAccounting accounting_;
};

}  // namespace latchkey
