// MemoryDevice: a BlockDevice in memory, for tests, for in-memory databases, and for measuring the
// software above without a disk. Requests complete at once, in the order of submission.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/device/block_device.h"
#include "storage/device/io_accounting.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct MemoryDeviceOptions {
  uint64_t size_bytes = 0;  ///< initial size; a multiple of 512
  /// Resize beyond it is ResourceExhausted, as on a full disk. Address space of this size is
  /// reserved; memory is used only where it is written.
  uint64_t capacity_limit_bytes = uint64_t{64} << 30;
  std::string name = "memory";  ///< appears in messages
};

/// Thread-safe as BlockDevice says. Reads and writes take no lock. If they overlap, a read returns
/// bytes of the old or the new content, as on a real device. Queues must be destroyed before it.
///
/// The whole capacity is one reserved range of addresses, so a read is one copy, and growth moves
/// nothing under a reader. Shrinking gives the memory back; regrown space reads as zeros.
class MemoryDevice final : public BlockDevice {
 public:
  /// InvalidArgument for an unaligned size; ResourceExhausted when `size_bytes` exceeds the limit
  /// or the addresses cannot be reserved.
  static absl::StatusOr<std::unique_ptr<MemoryDevice>> Create(
      Runtime& runtime, const MemoryDeviceOptions& options = {});
  ~MemoryDevice() override;

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

  MemoryDevice(Runtime& runtime, const MemoryDeviceOptions& options, std::byte* memory);
  // Checks, accounts and executes a request.
  absl::Status Transfer(IoRequest::Op op, uint64_t offset, std::byte* buffer, uint64_t length,
                        IoClass io_class);

  const MemoryDeviceOptions options_;
  std::byte* const memory_;
  std::atomic<uint64_t> size_bytes_;
  Mutex resize_mutex_;
  IoAccounting accounting_;
};

}  // namespace latchkey
