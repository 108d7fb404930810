#include "tools/campaign/power/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "tools/campaign/shared/kill_points.h"

namespace latchkey {
namespace {

std::atomic<FileCallWatcher*> current{nullptr};

FileCallWatcher* Watcher() { return current.load(std::memory_order_acquire); }

std::span<const std::byte> BytesAt(const void* data, size_t length) {
  return {static_cast<const std::byte*>(data), length};
}

}  // namespace

void SetFileCallWatcher(FileCallWatcher* watcher) {
  current.store(watcher, std::memory_order_release);
}

}  // namespace latchkey

// The functions that the linker puts in the place of the calls.
extern "C" {

int __real_open(const char* path, int flags, mode_t mode);
int __real_io_submit(io_context_t context, long count, iocb** controls);
int __real_io_getevents(io_context_t context, long min, long max, io_event* events,
                        timespec* timeout);
ssize_t __real_pwrite(int fd, const void* data, size_t length, off_t offset);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_fallocate(int fd, int mode, off_t offset, off_t length);
int __real_ftruncate(int fd, off_t length);

int __wrap_open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  const auto real = [&] { return __real_open(path, flags, mode); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  return watcher != nullptr && (flags & O_CREAT) != 0 ? watcher->Create(path, real) : real();
}

int __wrap_io_submit(io_context_t context, long count, iocb** controls) {
  for (long i = 0; i < count; ++i) {
    if (controls[i]->aio_lio_opcode != IO_CMD_PWRITE) continue;
    if (!latchkey::IsArmedWrite(controls[i]->aio_fildes)) continue;
    if (i > 0) __real_io_submit(context, i, controls);
    latchkey::KillThisProcess();
  }
  const auto real = [&] { return __real_io_submit(context, count, controls); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  if (watcher == nullptr || count < 1) return real();
  return watcher->Submit({controls, static_cast<size_t>(count)}, real);
}

int __wrap_io_getevents(io_context_t context, long min, long max, io_event* events,
                        timespec* timeout) {
  const int count = __real_io_getevents(context, min, max, events, timeout);
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  if (watcher != nullptr && count > 0) watcher->Completed({events, static_cast<size_t>(count)});
  return count;
}

ssize_t __wrap_pwrite(int fd, const void* data, size_t length, off_t offset) {
  latchkey::DieAtWrite(fd);
  const auto real = [&] { return __real_pwrite(fd, data, length, offset); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  if (watcher == nullptr) return real();
  return watcher->Write(fd, latchkey::BytesAt(data, length), static_cast<uint64_t>(offset), real);
}

int __wrap_fsync(int fd) {
  latchkey::DieAtSync(fd);
  const auto real = [&] { return __real_fsync(fd); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  return watcher == nullptr ? real() : watcher->Sync(fd, real);
}

int __wrap_fdatasync(int fd) {
  latchkey::DieAtSync(fd);
  const auto real = [&] { return __real_fdatasync(fd); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  return watcher == nullptr ? real() : watcher->Sync(fd, real);
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t length) {
  latchkey::DieAtGrowth();
  const auto real = [&] { return __real_fallocate(fd, mode, offset, length); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  if (watcher == nullptr) return real();
  return watcher->Allocate(fd, static_cast<uint64_t>(offset + length), real);
}

int __wrap_ftruncate(int fd, off_t length) {
  latchkey::DieAtGrowth();
  const auto real = [&] { return __real_ftruncate(fd, length); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  return watcher == nullptr ? real() : watcher->Truncate(fd, static_cast<uint64_t>(length), real);
}

// Replaces the function of the C library, also for calls from the C++ library.
__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  latchkey::DieAtRename();
  const auto real = [&] { return renameat(AT_FDCWD, from, AT_FDCWD, to); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  return watcher == nullptr ? real() : watcher->Rename(from, to, real);
}

__attribute__((visibility("default"))) int remove(const char* path) noexcept {
  const auto real = [&] {
    const int done = unlinkat(AT_FDCWD, path, 0);
    return done != 0 && errno == EISDIR ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : done;
  };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  return watcher == nullptr ? real() : watcher->Remove(path, real);
}

__attribute__((visibility("default"))) int mkdir(const char* path, mode_t mode) noexcept {
  const auto real = [&] { return mkdirat(AT_FDCWD, path, mode); };
  latchkey::FileCallWatcher* const watcher = latchkey::Watcher();
  return watcher == nullptr ? real() : watcher->MakeDirectory(path, real);
}

}  // extern "C"
