#include "storage/device/file_open.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>

#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"

namespace latchkey {
namespace {

constexpr uint32_t kSector = 512;
// The largest alignment of direct I/O, for file systems that do not tell theirs (kernels before
// 6.1).
constexpr uint32_t kCommonHostPage = 4096;

int OpenRetrying(const std::string& path, int flags) {
  int fd;
  do {
    // O_NONBLOCK, so that opening a FIFO by mistake does not hang. The next F_SETFL clears it.
    fd = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

absl::Status OpenDescriptor(const std::string& path, const FileDeviceOptions& options,
                            OpenFile& file) {
  const int access = options.read_only ? O_RDONLY : O_RDWR;
  while (true) {
    if (options.creation != FileCreation::kMustBeNew) {
      file.fd = FileDescriptor(OpenRetrying(path, access));
      if (file.fd.get() >= 0) return absl::OkStatus();
      if (errno != ENOENT || options.creation == FileCreation::kMustExist) {
        return FileError("open", path, errno);
      }
    }
    file.fd = FileDescriptor(OpenRetrying(path, access | O_CREAT | O_EXCL));
    file.created = file.fd.get() >= 0;
    if (file.created) return absl::OkStatus();
    // Another process created it in between. It exists now, which kIfMissing accepts.
    if (errno != EEXIST || options.creation == FileCreation::kMustBeNew) {
      return FileError("create", path, errno);
    }
  }
}

absl::Status CheckRegularFile(const std::string& path, const OpenFile& file) {
  struct stat info;
  if (fstat(file.fd.get(), &info) != 0) return FileError("examine", path, errno);
  if (S_ISREG(info.st_mode)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "\"{}\" is not a regular file; name a file for the data", path);
}

// The alignment of direct I/O in bytes; 0: the file system has no direct I/O.
uint32_t DirectIoBlock(const OpenFile& file) {
#ifdef STATX_DIOALIGN
  struct statx info;
  const int rc = statx(file.fd.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &info);
  if (rc == 0 && (info.stx_mask & STATX_DIOALIGN) != 0) {
    if (info.stx_dio_offset_align == 0) return 0;
    return std::bit_ceil(std::max({kSector, info.stx_dio_offset_align, info.stx_dio_mem_align}));
  }
#endif
  return kCommonHostPage;
}

// O_DIRECT is set after open(2), because some file systems create the file and then refuse the
// flag.
absl::Status ChooseDirectIo(const std::string& path, const FileDeviceOptions& options,
                            OpenFile& file) {
  const int fd = file.fd.get();
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return FileError("examine", path, errno);
  const int plain = flags & ~O_NONBLOCK;
  const uint32_t block = options.direct_io ? DirectIoBlock(file) : 0;
  file.direct_io = block != 0 && fcntl(fd, F_SETFL, plain | O_DIRECT) == 0;
  if (file.direct_io) {
    file.logical_block = block;
    return absl::OkStatus();
  }
  if (fcntl(fd, F_SETFL, plain) != 0) return FileError("set the flags of", path, errno);
  if (options.direct_io) {
    LogTo(
        options.log_sink, LogLevel::kWarning,
        fmt::format("\"{}\": the file system refuses O_DIRECT, so I/O goes through the page cache: "
                    "pages are cached twice, and measured times are not the device's; put the file "
                    "on ext4 or XFS",
                    path));
  }
  return absl::OkStatus();
}

// Without this, a name or data that a crashed predecessor never synced could be visible now and
// lost after the next power failure. A file that this call has created has no data yet.
absl::Status MakeDurable(const std::string& path, const FileDeviceOptions& options,
                         const OpenFile& file) {
  if (!file.created && fsync(file.fd.get()) != 0) return FileError("sync", path, errno);
  if (file.created && !options.lasting_name) return absl::OkStatus();
  return SyncDirectory(
      (std::filesystem::path(path).parent_path() / ".").lexically_normal().string());
}

absl::Status CheckOptions(const std::string& path, const FileDeviceOptions& options) {
  if (!options.read_only || options.creation == FileCreation::kMustExist) return absl::OkStatus();
  return InvalidArgument("\"{}\": read_only needs creation = kMustExist", path);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

absl::Status SyncDirectory(const std::string& directory) {
  const FileDescriptor fd(OpenRetrying(directory, O_RDONLY | O_DIRECTORY));
  if (fd.get() < 0) return FileError("open the directory", directory, errno);
  // EINVAL: this file system cannot sync directories, and must make names durable by itself.
  if (fsync(fd.get()) != 0 && errno != EINVAL) {
    return FileError("sync the directory", directory, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenFile> OpenDeviceFile(Runtime& runtime, const std::string& path,
                                        const FileDeviceOptions& options) {
  LATCHKEY_RETURN_IF_ERROR(CheckOptions(path, options));
  OpenFile file;
  LATCHKEY_RETURN_IF_ERROR(OpenDescriptor(path, options, file));
  LATCHKEY_RETURN_IF_ERROR(CheckRegularFile(path, file));
  const auto mode = options.read_only ? FileLock::Mode::kShared : FileLock::Mode::kExclusive;
  LATCHKEY_ASSIGN_OR_RETURN(file.lock, FileLock::Acquire(runtime, file.fd.get(), path, mode));
  LATCHKEY_RETURN_IF_ERROR(ChooseDirectIo(path, options, file));
  if (!options.read_only) LATCHKEY_RETURN_IF_ERROR(MakeDurable(path, options, file));
  // After taking the lock, because other processes could change the size before.
  struct stat info;
  if (fstat(file.fd.get(), &info) != 0) return FileError("examine", path, errno);
  file.size_bytes = static_cast<uint64_t>(info.st_size) & ~uint64_t{file.logical_block - 1};
  return file;
}

}  // namespace latchkey
