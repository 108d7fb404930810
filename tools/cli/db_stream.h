// Sources and sinks of bytes for dumps. Tests use memory instead of files.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey {

/// Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads up to `size` bytes; 0 = the end.
  virtual absl::StatusOr<size_t> Read(char* to, size_t size) = 0;
};

/// Not thread-safe.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual absl::Status Write(std::string_view bytes) = 0;
  /// All bytes written so far reach the file, which is synced if it is a regular file.
  virtual absl::Status Finish() { return absl::OkStatus(); }
};

/// Reads or writes memory that outlives it.
class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes) : rest_(bytes) {}
  absl::StatusOr<size_t> Read(char* to, size_t size) override;

 private:
  std::string_view rest_;
};

class StringSink final : public ByteSink {
 public:
  absl::Status Write(std::string_view bytes) override {
    bytes_.append(bytes);
    return absl::OkStatus();
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A file, or stdin for "-". Errors as StoppableFile.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path);
/// A file that replaces `path` as a whole at Finish (until then it is PartialOf(path)), or
/// stdout for "-". A device, a pipe or a link is not replaced: it is written into.
absl::StatusOr<std::unique_ptr<ByteSink>> OpenFileSink(const std::string& path);

/// Reads a source byte by byte or in pieces, and knows its position. After an error every read
/// returns the end, and status() has the error.
class BufferedSource {
 public:
  static constexpr int kEnd = -1;

  explicit BufferedSource(ByteSource& source) : source_(source), buffer_(size_t{1} << 18) {}

  /// The next byte as 0..255, or kEnd.
  int Peek() {
    if (at_ == end_ && !Fill()) return kEnd;
    return static_cast<unsigned char>(buffer_[at_]);
  }
  int Get() {
    const int byte = Peek();
    if (byte != kEnd) ++at_;
    return byte;
  }
  /// Appends exactly `size` bytes to *bytes, which grows only by bytes that were read. False: the
  /// source has ended before.
  bool Append(size_t size, std::string* bytes);

  uint64_t offset() const { return offset_ + at_; }
  const absl::Status& status() const { return status_; }

 private:
  bool Fill();

  ByteSource& source_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;
  uint64_t offset_ = 0;  // of buffer_[0]
  absl::Status status_;
};

}  // namespace latchkey
