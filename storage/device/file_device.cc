#include "storage/device/file_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "storage/base/canary.h"
#include "storage/base/racy_memory.h"
#include "storage/base/reserved_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/file_errors.h"
#include "storage/device/file_transfer.h"
#include "storage/device/io_window.h"
#include "storage/device/request_check.h"

namespace latchkey {
namespace {

// Zeros are written in pieces large enough for full bandwidth, with a few in flight.
constexpr uint64_t kZeroPiece = uint64_t{1} << 20;
constexpr uint32_t kZeroDepth = 4;

// Stale optimistic readers may still read a frame while a read fills it. ThreadSanitizer sees pread
// as plain stores and would report a race. So under it the bytes go to other memory first, and from
// there by racy stores to the frame.
ssize_t ReadOnce(int fd, std::byte* out, size_t length, uint64_t offset) {
  if constexpr (kThreadSanitizer) {
    AlignedBuffer detour(length);
    const ssize_t moved = pread(fd, detour.data(), length, static_cast<off_t>(offset));
    if (moved > 0) RacyCopyIn(out, detour.data(), static_cast<size_t>(moved));
    return moved;
  } else {
    return pread(fd, out, length, static_cast<off_t>(offset));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileDevice>> FileDevice::Open(Runtime& runtime,
                                                             const std::string& path,
                                                             const FileDeviceOptions& options) {
  LATCHKEY_ASSIGN_OR_RETURN(OpenFile file, OpenDeviceFile(runtime, path, options));
  return std::unique_ptr<FileDevice>(new FileDevice(
      runtime, options.name.empty() ? path : options.name, options, std::move(file)));
}

FileDevice::FileDevice(Runtime& runtime, std::string path, const FileDeviceOptions& options,
                       OpenFile file)
    : runtime_(runtime),
      path_(std::move(path)),
      writable_(!options.read_only),
      file_(std::move(file)),
      is_staged_(options.staged),
      size_bytes_(file_.size_bytes),
      resize_mutex_(runtime),
      accounting_(runtime) {}

DeviceGeometry FileDevice::geometry() const {
  return {.size_bytes = size_bytes_.load(std::memory_order_acquire),
          .logical_block = file_.logical_block,
          .atomic_write_unit = 512};
}

absl::Status FileDevice::Check(IoRequest::Op op, uint64_t offset, uint64_t length,
                               const void* buffer) {
  absl::Status status = op == IoRequest::Op::kWrite && !writable_
                            ? ReadOnlyFile(path_)
                            : CheckRequest(geometry(), path_, offset, length, buffer);
  if (!status.ok()) accounting_.CountRefused();
  return status;
}

template <typename Once>
absl::Status FileDevice::Transfer(IoRequest::Op op, uint64_t offset, uint64_t length,
                                  IoClass io_class, Once&& once) {
  accounting_.Start(IoBatch::One(io_class, length));
  uint64_t done = 0;
  absl::Status status = TransferAll({.verb = op == IoRequest::Op::kRead ? "read" : "write",
                                     .path = path_,
                                     .offset = offset,
                                     .length = length,
                                     .logical_block = file_.logical_block},
                                    &done, std::forward<Once>(once));
  IoBatch finished = IoBatch::One(io_class, length, done);
  finished.errors = status.ok() ? 0 : 1;
  accounting_.Finish(finished);
  return status;
}

absl::Status FileDevice::Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) {
  LATCHKEY_RETURN_IF_ERROR(Check(IoRequest::Op::kRead, offset, out.size(), out.data()));
  return Transfer(IoRequest::Op::kRead, offset, out.size(), io_class,
                  [&](uint64_t at, uint64_t done, size_t length) {
                    return ReadOnce(file_.fd.get(), out.data() + done, length, at);
                  });
}

absl::Status FileDevice::Write(uint64_t offset, std::span<const std::byte> data, IoClass io_class) {
  LATCHKEY_RETURN_IF_ERROR(Check(IoRequest::Op::kWrite, offset, data.size(), data.data()));
  return Transfer(IoRequest::Op::kWrite, offset, data.size(), io_class,
                  [&](uint64_t at, uint64_t done, size_t length) {
                    return pwrite(file_.fd.get(), data.data() + done, length,
                                  static_cast<off_t>(at));
                  });
}

AioFile FileDevice::QueueFile(const std::atomic<uint64_t>& size_bytes) {
  return {.fd = file_.fd.get(),
          .path = path_,
          .writable = writable_,
          .logical_block = file_.logical_block,
          .size_bytes = size_bytes,
          .runtime = runtime_,
          .accounting = accounting_};
}

absl::StatusOr<std::unique_ptr<IoQueue>> FileDevice::NewQueue(uint32_t depth) {
  return AioQueue::Create(QueueFile(size_bytes_), depth);
}

absl::Status FileDevice::SyncFailure() {
  SpinLatchGuard guard(sync_failure_latch_, runtime_);
  return sync_failure_;
}

absl::Status FileDevice::SyncFile(bool with_metadata) {
  LATCHKEY_RETURN_IF_ERROR(SyncFailure());
  if (with_metadata ? is_staged_ : defers_syncs_) return absl::OkStatus();
  const Nanos start = runtime_.Now();
  const bool left_out = !with_metadata && LATCHKEY_CANARY("fdatasync-left-out");
  const int rc = with_metadata ? fsync(file_.fd.get()) : left_out ? 0 : fdatasync(file_.fd.get());
  const int errnum = errno;
  accounting_.CountSync(runtime_.Now() - start, rc == 0);
  if (rc == 0) return SyncFailure();  // a concurrent sync that failed covered our writes too
  SpinLatchGuard guard(sync_failure_latch_, runtime_);
  if (sync_failure_.ok()) {
    sync_failure_ = MakeStatus(absl::StatusCode::kUnavailable,
                               "cannot sync \"{}\": {}; writes may be lost: close and reopen to "
                               "recover",
                               path_, ErrnoText(errnum));
  }
  return sync_failure_;
}

absl::Status FileDevice::Sync() {
  return writable_ ? SyncFile(/*with_metadata=*/false) : absl::OkStatus();
}

absl::Status FileDevice::Settle() {
  is_staged_.store(false);
  defers_syncs_.store(false);
  if (LATCHKEY_CANARY("new-files-not-synced")) return absl::OkStatus();
  return SyncFile(/*with_metadata=*/true);
}

absl::Status FileDevice::Resize(uint64_t size_bytes) {
  if (!writable_) return ReadOnlyFile(path_);
  LATCHKEY_RETURN_IF_ERROR(CheckNewSize(geometry(), path_, size_bytes));
  MutexLock lock(resize_mutex_);
  LATCHKEY_RETURN_IF_ERROR(SyncFailure());
  const uint64_t old_size = size_bytes_.load(std::memory_order_relaxed);
  if (size_bytes > old_size) return Grow(old_size, size_bytes);
  return size_bytes < old_size ? Shrink(old_size, size_bytes) : absl::OkStatus();
}

absl::Status FileDevice::Shrink(uint64_t old_size, uint64_t new_size) {
  size_bytes_.store(new_size, std::memory_order_release);
  if (ftruncate(file_.fd.get(), static_cast<off_t>(new_size)) != 0) {
    const absl::Status error = FileError("shrink", path_, errno);
    size_bytes_.store(old_size, std::memory_order_release);
    return error;
  }
  return SyncFile(/*with_metadata=*/true);
}

absl::Status FileDevice::Grow(uint64_t old_size, uint64_t new_size) {
  LATCHKEY_RETURN_IF_ERROR(CheckFreeSpace(new_size - old_size));
  absl::Status status = Allocate(old_size, new_size);
  if (status.ok()) status = WriteZeros(old_size, new_size);
  // Sync before publishing the size: no write may refer to space that a crash could undo.
  if (status.ok()) status = SyncFile(/*with_metadata=*/true);
  if (status.ok()) {
    size_bytes_.store(new_size, std::memory_order_release);
    return status;
  }
  if (ftruncate(file_.fd.get(), static_cast<off_t>(old_size)) == 0) return status;
  return MakeStatus(status.code(), "{}; the file could not be cut back to {} bytes either: {}",
                    std::string_view(status.message().data(), status.message().size()), old_size,
                    ErrnoText(errno));
}

// Checked in advance: allocating until the disk is full would starve other users of the disk.
absl::Status FileDevice::CheckFreeSpace(uint64_t growth) {
  struct statvfs info;
  if (fstatvfs(file_.fd.get(), &info) != 0) return FileError("examine the space of", path_, errno);
  const uint64_t free_bytes = static_cast<uint64_t>(info.f_bfree) * info.f_frsize;
  if (info.f_blocks == 0 || growth <= free_bytes) return absl::OkStatus();  // 0: size not known
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "cannot grow \"{}\" by {} bytes: its file system has {} bytes free; make room, "
                    "or keep less in the database",
                    path_, growth, free_bytes);
}

absl::Status FileDevice::Allocate(uint64_t begin, uint64_t end) {
  int rc;
  do {
    rc = fallocate(file_.fd.get(), 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin));
  } while (rc != 0 && errno == EINTR);
  // Without fallocate, writing the zeros allocates the space.
  if (rc == 0 || errno == EOPNOTSUPP) return absl::OkStatus();
  return FileError("allocate", path_, begin, end - begin, errno);
}

absl::Status FileDevice::WriteZeros(uint64_t begin, uint64_t end) {
  if (growth_queue_ == nullptr) {
    LATCHKEY_ASSIGN_OR_RETURN(growth_queue_,
                              AioQueue::Create(QueueFile(growth_limit_), kZeroDepth));
  }
  growth_limit_.store(end, std::memory_order_release);
  ReservedBuffer zeros(std::min(kZeroPiece, end - begin));  // never written: takes no memory
  IoWindow<int> window(kZeroDepth);
  absl::Status first_error;
  window.Run(
      *growth_queue_,
      [&](IoRequest& request) {
        if (begin == end || !first_error.ok()) return false;
        request.op = IoRequest::Op::kWrite;
        request.io_class = IoClass::kMeta;
        request.offset = begin;
        request.length = static_cast<uint32_t>(std::min<uint64_t>(zeros.size(), end - begin));
        request.buffer = zeros.data();
        begin += request.length;
        return true;
      },
      [&](const IoRequest& request, int) { first_error.Update(request.status); });
  return first_error;
}

std::string FileDevice::Describe() const {
  return fmt::format("file({}, {}, libaio{})", path_,
                     file_.direct_io ? "O_DIRECT" : "through the page cache",
                     writable_ ? "" : ", read-only");
}

}  // namespace latchkey
