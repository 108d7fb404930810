// Intercepts the system calls below FileDevice and DatabaseFiles, for a watcher.
//
// The linker redirects the calls of the storage layer (--wrap). The C++ library calls rename,
// remove and mkdir for std::filesystem; functions of this program replace these three. So the
// engine under test needs no code for it. Without a watcher every call goes to the kernel
// unchanged.
#pragma once

#include <absl/functional/function_ref.h>
#include <libaio.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace latchkey {

/// Its members run in the place of the calls, on the calling threads. Each member decides when the
/// real call happens. A member must not call the function that it replaces. `errno` stays as the
/// real call left it.
class FileCallWatcher {
 public:
  virtual ~FileCallWatcher() = default;

  /// open(2) with O_CREAT, of a new file.
  virtual int Create(const char* path, absl::FunctionRef<int()> real) = 0;
  virtual ssize_t Write(int fd, std::span<const std::byte> data, uint64_t offset,
                        absl::FunctionRef<ssize_t()> real) = 0;
  /// io_submit(2), reads included.
  virtual int Submit(std::span<iocb* const> controls, absl::FunctionRef<int()> real) = 0;
  /// The events that io_getevents(2) has returned.
  virtual void Completed(std::span<const io_event> events) = 0;
  /// fsync(2) and fdatasync(2), of files and directories.
  virtual int Sync(int fd, absl::FunctionRef<int()> real) = 0;
  /// fallocate(2), which makes a file at least `end` bytes long.
  virtual int Allocate(int fd, uint64_t end, absl::FunctionRef<int()> real) = 0;
  virtual int Truncate(int fd, uint64_t length, absl::FunctionRef<int()> real) = 0;
  virtual int Rename(const char* from, const char* to, absl::FunctionRef<int()> real) = 0;
  virtual int Remove(const char* path, absl::FunctionRef<int()> real) = 0;
  virtual int MakeDirectory(const char* path, absl::FunctionRef<int()> real) = 0;
};

/// nullptr: no watcher. REQUIRES: no other thread makes such a call meanwhile; the watcher outlives
/// all later calls.
void SetFileCallWatcher(FileCallWatcher* watcher);

}  // namespace latchkey
