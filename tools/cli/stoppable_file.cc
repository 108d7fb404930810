#include "tools/cli/stoppable_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "storage/base/status_macros.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/signals.h"

namespace latchkey {

absl::StatusOr<StoppableFile> StoppableFile::Open(const std::string& path,
                                                  std::string_view action) {
  if (path == "-") return StoppableFile("stdin", STDIN_FILENO);
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return FileFailure(action, path, errno);
  return StoppableFile(path, file);
}

StoppableFile::StoppableFile(StoppableFile&& other) noexcept
    : name_(std::move(other.name_)), file_(std::exchange(other.file_, -1)) {}

StoppableFile::~StoppableFile() {
  if (file_ > STDIN_FILENO) close(file_);
}

absl::StatusOr<size_t> StoppableFile::Read(char* to, size_t size) {
  // Another thread may get the signal. Then only the flag tells of it.
  constexpr int kLookMs = 100;
  for (;;) {
    if (StopRequested().load(std::memory_order_relaxed)) {
      return MakeStatus(absl::StatusCode::kCancelled, "interrupted while reading {}", name_);
    }
    pollfd waiting{.fd = file_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kLookMs) <= 0) continue;
    const ssize_t got = read(file_, to, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EAGAIN && errno != EINTR) return FileFailure("read", name_, errno);
  }
}

}  // namespace latchkey
