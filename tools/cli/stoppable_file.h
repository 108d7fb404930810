// A file, pipe or terminal that is read until its end, or until the user asks the program to stop.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace latchkey {

/// Not thread-safe.
class StoppableFile {
 public:
  /// Opens `path`; "-" is stdin. Does not wait for the writer of a pipe. Errors: FileFailure with
  /// `action`.
  static absl::StatusOr<StoppableFile> Open(const std::string& path,
                                            std::string_view action = "open");
  ~StoppableFile();
  StoppableFile(StoppableFile&& other) noexcept;
  StoppableFile& operator=(StoppableFile&&) = delete;

  /// Reads up to `size` bytes, and waits for the first; 0 = the end. Cancelled: StopRequested.
  absl::StatusOr<size_t> Read(char* to, size_t size);

 private:
  StoppableFile(std::string name, int file) : name_(std::move(name)), file_(file) {}

  std::string name_;
  int file_;  // -1: moved from
};

}  // namespace latchkey
