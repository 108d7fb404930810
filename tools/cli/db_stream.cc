#include "tools/cli/db_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "storage/base/status_macros.h"
#include "tools/cli/file_failure.h"

namespace latchkey {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OwnedFile = std::unique_ptr<std::FILE, CloseFile>;

class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, OwnedFile owned)
      : path_(std::move(path)), owned_(std::move(owned)), file_(owned_ ? owned_.get() : stdin) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    const size_t got = std::fread(to, 1, size, file_);
    if (got == 0 && std::ferror(file_) != 0) {
      return FileFailure("read", path_ == "-" ? "stdin" : path_, errno);
    }
    return got;
  }

 private:
  const std::string path_;
  OwnedFile owned_;
  std::FILE* const file_;
};

class StdoutSink final : public ByteSink {
 public:
  absl::Status Write(std::string_view bytes) override {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return absl::OkStatus();
    return FileFailure("write to", "stdout", errno);
  }
  absl::Status Finish() override {
    return std::fflush(stdout) == 0 ? absl::OkStatus() : FileFailure("write to", "stdout", errno);
  }
};

class ReplacingFileSink final : public ByteSink {
 public:
  ReplacingFileSink(std::string path, OwnedFile file)
      : path_(std::move(path)), partial_(path_ + ".partial"), file_(std::move(file)) {}
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
  OwnedFile file;
  if (path != "-") {
    file.reset(std::fopen(path.c_str(), "rb"));
    if (file == nullptr) return FileFailure("open", path, errno);
  }
  return std::make_unique<FileSource>(path, std::move(file));
}

absl::StatusOr<std::unique_ptr<ByteSink>> OpenFileSink(const std::string& path) {
  if (path == "-") return std::make_unique<StdoutSink>();
  const std::string partial = path + ".partial";
  OwnedFile file(std::fopen(partial.c_str(), "wb"));
  if (file == nullptr) return FileFailure("create", partial, errno);
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
