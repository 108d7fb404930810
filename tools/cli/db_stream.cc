#include "tools/cli/db_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "storage/base/status_macros.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/output.h"
#include "tools/cli/stoppable_file.h"

namespace latchkey {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OwnedFile = std::unique_ptr<std::FILE, CloseFile>;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(StoppableFile file) : file_(std::move(file)) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override { return file_.Read(to, size); }

 private:
  StoppableFile file_;
};

// stdout, or what no rename may replace: a device, a pipe, the target of a link.
class StreamSink final : public ByteSink {
 public:
  StreamSink(std::string name, OwnedFile owned)
      : name_(std::move(name)), owned_(std::move(owned)), file_(owned_ ? owned_.get() : stdout) {}

  absl::Status Write(std::string_view bytes) override {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return absl::OkStatus();
    return FileFailure("write to", name_, errno);
  }
  absl::Status Finish() override {
    if (std::fflush(file_) != 0) return FileFailure("write to", name_, errno);
    std::error_code error;
    const bool is_file = owned_ && std::filesystem::is_regular_file(name_, error);
    if (is_file && fsync(fileno(file_)) != 0) return FileFailure("sync", name_, errno);
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  OwnedFile owned_;
  std::FILE* const file_;
};

class ReplacingFileSink final : public ByteSink {
 public:
  ReplacingFileSink(std::string path, OwnedFile file)
      : path_(std::move(path)), partial_(PartialOf(path_)), file_(std::move(file)) {}
  ~ReplacingFileSink() override {
    if (file_ != nullptr) unlink(partial_.c_str());
  }

  absl::Status Write(std::string_view bytes) override {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size()) {
      return absl::OkStatus();
    }
    return FileFailure("write", partial_, errno);
  }
  absl::Status Finish() override {
    if (std::fflush(file_.get()) != 0 || fsync(fileno(file_.get())) != 0) {
      return FileFailure("write", partial_, errno);
    }
    if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
      return FileFailure("put the finished file in the place of", path_, errno);
    }
    file_.reset();
    return absl::OkStatus();
  }

 private:
  const std::string path_, partial_;
  OwnedFile file_;
};

}  // namespace

absl::StatusOr<size_t> StringSource::Read(char* to, size_t size) {
  const size_t part = std::min(size, rest_.size());
  std::copy_n(rest_.data(), part, to);
  rest_.remove_prefix(part);
  return part;
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path) {
  LATCHKEY_ASSIGN_OR_RETURN(StoppableFile file, StoppableFile::Open(path));
  return std::make_unique<FileSource>(std::move(file));
}

absl::StatusOr<std::unique_ptr<ByteSink>> OpenFileSink(const std::string& path) {
  if (path == "-") return std::make_unique<StreamSink>("stdout", nullptr);
  const bool renames = CanBeRenamedTo(path);
  const std::string opened = renames ? PartialOf(path) : path;
  OwnedFile file(std::fopen(opened.c_str(), "wb"));
  if (file == nullptr) return FileFailure("create", opened, errno);
  if (!renames) return std::make_unique<StreamSink>(path, std::move(file));
  return std::make_unique<ReplacingFileSink>(path, std::move(file));
}

bool BufferedSource::Fill() {
  if (!status_.ok()) return false;
  offset_ += end_;
  at_ = end_ = 0;
  const absl::StatusOr<size_t> got = source_.Read(buffer_.data(), buffer_.size());
  if (!got.ok()) {
    status_ = got.status();
    return false;
  }
  end_ = *got;
  return end_ > 0;
}

bool BufferedSource::Append(size_t size, std::string* bytes) {
  while (size > 0) {
    if (Peek() == kEnd) return false;
    const size_t part = std::min(size, end_ - at_);
    bytes->append(buffer_.data() + at_, part);
    at_ += part;
    size -= part;
  }
  return true;
}

}  // namespace latchkey
