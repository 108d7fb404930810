// FileDevice: a BlockDevice on a regular file, with Linux libaio and O_DIRECT.
//
// O_DIRECT bypasses the kernel's page cache, because the buffer pool is the cache. If the file
// system refuses O_DIRECT (tmpfs on older kernels, some network file systems), the device works
// through the page cache, warns once and says so in Describe(). Measurements are then not
// comparable.
//
// Invariants:
//  1. One writer per file in all processes (file_lock.h), for the device's lifetime.
//  2. Open syncs the file and its directory before the first read, because writes of a process that
//     was killed may be in the page cache: readable, but not durable.
//  3. Every block below size_bytes has been allocated and written. In a sparse or merely allocated
//     file each write or sync would pay for block allocation and metadata; avoiding that doubles
//     the commit rate.
//     A staged file, which does not count yet, is synced once, by Settle.
//  4. A failed sync is final: every later Sync and Resize returns the same error. The kernel
//     reports a lost write only once, and a later success says nothing about it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/device/aio_queue.h"
#include "storage/device/block_device.h"
#include "storage/device/file_open.h"
#include "storage/device/io_accounting.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safe as BlockDevice says. Queues must be destroyed before it. It waits in the kernel, not
/// in the runtime, so it is the only device that a simulated runtime cannot drive.
class FileDevice final : public BlockDevice {
 public:
  /// Opens `path`. A size that is not a multiple of the logical block is rounded down. Errors name
  /// the file: NotFound, AlreadyExists, PermissionDenied, FailedPrecondition (open elsewhere, not a
  /// regular file), InvalidArgument (options), Unavailable (device). On an error nothing has
  /// changed, except that an empty file may have been created.
  static absl::StatusOr<std::unique_ptr<FileDevice>> Open(Runtime& runtime, const std::string& path,
                                                          const FileDeviceOptions& options = {});

  DeviceGeometry geometry() const override;
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) override;
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass io_class) override;
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) override;
  absl::Status Sync() override;
  /// As BlockDevice::Resize; synced on return. Growth costs two system calls and writing the new
  /// space: grow in large steps. REQUIRES: no thread uses the range that a shrink cuts off.
  absl::Status Resize(uint64_t size_bytes) override;
  DeviceStats stats() const override { return accounting_.Snapshot(); }
  void SetRequestTimes(const RequestTimes& times) override { accounting_.SetRequestTimes(times); }
  std::string Describe() const override;

  /// From now on Sync does nothing, until Settle. REQUIRES: FileDeviceOptions::staged.
  void DeferSyncs() { defers_syncs_.store(true); }
  /// Makes all of a staged file durable. From then on it is as any other.
  absl::Status Settle();

  /// Whether Open created the file.
  bool created() const { return file_.created; }
  bool direct_io() const { return file_.direct_io; }

 private:
  FileDevice(Runtime& runtime, std::string path, const FileDeviceOptions& options, OpenFile file);

  AioFile QueueFile(const std::atomic<uint64_t>& size_bytes);
  absl::Status Check(IoRequest::Op op, uint64_t offset, uint64_t length, const void* buffer);
  template <typename Once>
  absl::Status Transfer(IoRequest::Op op, uint64_t offset, uint64_t length, IoClass io_class,
                        Once&& once);
  absl::Status Grow(uint64_t old_size, uint64_t new_size) LATCHKEY_REQUIRES(resize_mutex_);
  absl::Status Shrink(uint64_t old_size, uint64_t new_size);
  absl::Status CheckFreeSpace(uint64_t growth);
  absl::Status Allocate(uint64_t begin, uint64_t end);
  absl::Status WriteZeros(uint64_t begin, uint64_t end) LATCHKEY_REQUIRES(resize_mutex_);
  // Calls fsync (`with_metadata`) or fdatasync and counts it; keeps the first failure.
  absl::Status SyncFile(bool with_metadata);
  absl::Status SyncFailure();

  Runtime& runtime_;
  const std::string path_;
  const bool writable_;
  const OpenFile file_;
  std::atomic<bool> is_staged_, defers_syncs_{false};
  std::atomic<uint64_t> size_bytes_;
  Mutex resize_mutex_;
  IoAccounting accounting_;
  // The queue for growth, kept because closing a queue may take some 30 ms (aio_contexts.h). It may
  // write beyond size_bytes_, up to growth_limit_. resize_mutex_ guards both.
  std::atomic<uint64_t> growth_limit_{0};
  std::unique_ptr<AioQueue> growth_queue_ LATCHKEY_GUARDED_BY(resize_mutex_);
  SpinLatch sync_failure_latch_;
  absl::Status sync_failure_ LATCHKEY_GUARDED_BY(sync_failure_latch_);
};

}  // namespace latchkey
