// OverlayDevice: reads another device, and keeps in memory what is written. The other device stays as
// it is. So a database that must not be changed can be opened, and recovered, as any other.
//
// Requests that touch no block written here go to the other device as they are, asynchronous ones as
// well. The others end at submission.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "storage/base/thread_annotations.h"
#include "storage/device/block_device.h"
#include "storage/device/io_accounting.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safe as BlockDevice says. Queues must be destroyed before it. The size of the other device
/// must not change. A write that finds no memory returns ResourceExhausted and may have stored its
/// first blocks.
class OverlayDevice final : public BlockDevice {
 public:
  OverlayDevice(Runtime& runtime, std::unique_ptr<BlockDevice> base);

  DeviceGeometry geometry() const override;
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) override;
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass io_class) override;
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) override;
  absl::Status Sync() override;
  absl::Status Resize(uint64_t size_bytes) override;
  /// Of the requests to this device, whichever part answered them.
  DeviceStats stats() const override { return accounting_.Snapshot(); }
  void SetRequestTimes(const RequestTimes& times) override { accounting_.SetRequestTimes(times); }
  std::string Describe() const override;

 private:
  class Queue;
  using Blocks = std::map<uint64_t, std::unique_ptr<std::byte[]>>;  // by their offset

  absl::Status Check(uint64_t offset, uint64_t length, const void* buffer);
  /// Whether the other device alone has what this range holds.
  bool IsOfBase(uint64_t offset, uint64_t length);
  absl::Status ReadHere(uint64_t offset, std::span<std::byte> out, IoClass io_class);
  absl::Status WriteHere(uint64_t offset, std::span<const std::byte> data);

  const std::unique_ptr<BlockDevice> base_;
  const DeviceGeometry base_geometry_;
  std::atomic<uint64_t> size_bytes_;
  Mutex mutex_;
  Blocks blocks_ LATCHKEY_GUARDED_BY(mutex_);
  /// The other device counts up to here. Behind it, what is not in blocks_ is zeros.
  uint64_t base_end_ LATCHKEY_GUARDED_BY(mutex_);
  IoAccounting accounting_;
};

}  // namespace latchkey
