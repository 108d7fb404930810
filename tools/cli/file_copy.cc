#include "tools/cli/file_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "storage/base/status_macros.h"
#include "tools/cli/file_failure.h"

namespace latchkey {
namespace {

namespace fs = std::filesystem;

// Bytes that one system call copies: a stop request waits at most for one of them.
constexpr size_t kStepBytes = 16 << 20;

class File {
 public:
  File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Copies the range [from, to), which holds data, of a file.
absl::Status CopyRange(const File& source, const File& target, off_t from, off_t to,
                       const std::string& path, const std::atomic<bool>* stop) {
  off_t in = from;
  off_t out = from;
  while (in < to) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) {
      return MakeStatus(absl::StatusCode::kCancelled,
                        "interrupted while copying a database to {}: run the command again", path);
    }
    const size_t step = std::min<size_t>(kStepBytes, static_cast<size_t>(to - in));
    const ssize_t copied = copy_file_range(source.fd(), &in, target.fd(), &out, step, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return FileFailure("copy to", path, errno);
    if (copied == 0) break;  // the source became shorter
  }
  return absl::OkStatus();
}

absl::Status CopyData(const File& source, const File& target, off_t size, const std::string& path,
                      const std::atomic<bool>* stop) {
  if (ioctl(target.fd(), FICLONE, source.fd()) == 0) return absl::OkStatus();
  if (ftruncate(target.fd(), size) != 0) return FileFailure("size", path, errno);
  for (off_t at = 0; at < size;) {
    const off_t data = lseek(source.fd(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // only a hole remains
    if (data < 0) return FileFailure("read", path, errno);
    const off_t hole = lseek(source.fd(), data, SEEK_HOLE);
    if (hole < 0) return FileFailure("read", path, errno);
    LATCHKEY_RETURN_IF_ERROR(CopyRange(source, target, data, hole, path, stop));
    at = hole;
  }
  return absl::OkStatus();
}

absl::Status CopyFile(const std::string& from, const std::string& to,
                      const std::atomic<bool>* stop) {
  const File source(from, O_RDONLY);
  if (source.fd() < 0) return FileFailure("open", from, errno);
  struct stat info;
  if (fstat(source.fd(), &info) != 0) return FileFailure("inspect", from, errno);
  const File target(to, O_WRONLY | O_CREAT | O_EXCL);
  if (target.fd() < 0) return FileFailure("create", to, errno);
  LATCHKEY_RETURN_IF_ERROR(CopyData(source, target, info.st_size, to, stop));
  if (fsync(target.fd()) != 0) return FileFailure("sync", to, errno);
  // A hint: if it fails, the page cache keeps the pages.
  posix_fadvise(source.fd(), 0, 0, POSIX_FADV_DONTNEED);
  posix_fadvise(target.fd(), 0, 0, POSIX_FADV_DONTNEED);
  return absl::OkStatus();
}

absl::Status CheckSpace(const std::string& from, const std::string& to) {
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t needed, DiskUsage(from));
  std::error_code error;
  const fs::space_info space = fs::space(fs::path(to).parent_path(), error);
  if (error || space.available > needed + needed / 50) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "a copy of {} needs {} MiB, {} MiB are free: free some, or give another --db",
                    from, needed >> 20, space.available >> 20);
}

}  // namespace

absl::StatusOr<uint64_t> DiskUsage(const std::string& path) {
  std::error_code error;
  uint64_t bytes = 0;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    struct stat info;
    if (stat(it->path().c_str(), &info) == 0) bytes += static_cast<uint64_t>(info.st_blocks) * 512;
  }
  if (error) return FileFailure("list", path, error.value());
  return bytes;
}

absl::Status CopyDirectory(const std::string& from, const std::string& to,
                           const std::atomic<bool>* stop) {
  LATCHKEY_RETURN_IF_ERROR(CheckSpace(from, to));
  std::error_code error;
  if (!fs::create_directory(to, error)) {
    return FileFailure("create", to, error ? error.value() : EEXIST);
  }
  for (fs::recursive_directory_iterator it(from, error), end; !error && it != end;
       it.increment(error)) {
    const std::string target = (fs::path(to) / it->path().lexically_relative(from)).string();
    if (it->is_directory()) {
      if (!fs::create_directory(target, error)) break;
    } else if (it->is_regular_file()) {
      LATCHKEY_RETURN_IF_ERROR(CopyFile(it->path().string(), target, stop));
    }
  }
  return error ? FileFailure("copy", from, error.value()) : absl::OkStatus();
}

}  // namespace latchkey
