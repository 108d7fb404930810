#include "tools/trace/page_trace.h"

#include <absl/container/flat_hash_map.h>
#include <zstd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "storage/base/status_macros.h"
#include "tools/cli/file_failure.h"

namespace latchkey {
namespace {

constexpr uint64_t kWriteBit = uint64_t{1} << 63;
constexpr uint32_t kZstdMagic = 0xFD2FB528;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;
struct ContextFreer {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Turns bytes into requests. Ids below a bound are renumbered through an array, the others through
// a hash table.
class TraceBuilder {
 public:
  absl::Status Add(std::span<const char> bytes) {
    while (!bytes.empty()) {
      const size_t taken = std::min(bytes.size(), sizeof(uint64_t) - partial_size_);
      std::memcpy(partial_ + partial_size_, bytes.data(), taken);
      partial_size_ += taken;
      bytes = bytes.subspan(taken);
      if (partial_size_ < sizeof(uint64_t)) break;
      partial_size_ = 0;
      uint64_t request;
      std::memcpy(&request, partial_, sizeof(request));
      LATCHKEY_RETURN_IF_ERROR(AddRequest(request));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<PageTrace> Finish(const std::string& path) && {
    if (partial_size_ != 0) {
      return InvalidArgument(
          "{}: the trace ends within request {}, which has {} of 8 bytes: it is truncated, or no "
          "trace of 64-bit page ids",
          path, trace_.pages.size(), partial_size_);
    }
    if (trace_.pages.empty()) return InvalidArgument("{}: the trace has no request", path);
    if (!writes_) trace_.writes.clear();
    trace_.unique_pages = unique_;
    return std::move(trace_);
  }
  uint64_t requests() const { return trace_.pages.size(); }

 private:
  static constexpr uint64_t kArrayIds = uint64_t{1} << 24;
  static constexpr uint32_t kNew = UINT32_MAX;

  absl::Status AddRequest(uint64_t request) {
    static_assert(std::endian::native == std::endian::little);
    const uint64_t id = request & ~kWriteBit;
    uint32_t& number = id < kArrayIds ? SmallNumber(id) : Number(id);
    if (number == kNew) {
      if (unique_ == kNew) {
        return MakeStatus(absl::StatusCode::kResourceExhausted,
                          "request {}: a trace may have {} different pages at most",
                          trace_.pages.size(), kNew);
      }
      number = unique_++;
    }
    trace_.pages.push_back(number);
    trace_.writes.push_back((request & kWriteBit) != 0);
    writes_ |= (request & kWriteBit) != 0;
    return absl::OkStatus();
  }
  uint32_t& SmallNumber(uint64_t id) {
    if (id >= small_.size()) small_.resize(std::max<size_t>(2 * small_.size(), id + 1), kNew);
    return small_[id];
  }
  uint32_t& Number(uint64_t id) { return large_.try_emplace(id, kNew).first->second; }

  PageTrace trace_;
  bool writes_ = false;
  uint32_t unique_ = 0;
  std::vector<uint32_t> small_;  // the number of each id below kArrayIds, or kNew
  absl::flat_hash_map<uint64_t, uint32_t> large_;
  char partial_[sizeof(uint64_t)] = {};
  size_t partial_size_ = 0;
};

// The bytes of a file, decompressed if its first bytes are those of zstd.
class TraceReader {
 public:
  TraceReader(const std::string& path, File file)
      : path_(path), file_(std::move(file)), in_(ZSTD_DStreamInSize()) {}

  absl::Status ReadInto(TraceBuilder& builder) {
    LATCHKEY_ASSIGN_OR_RETURN(size_t size, Fill());
    uint32_t magic = 0;
    if (size >= sizeof(magic)) std::memcpy(&magic, in_.data(), sizeof(magic));
    if (magic == kZstdMagic) return Decompress(size, builder);
    while (size > 0) {
      LATCHKEY_RETURN_IF_ERROR(builder.Add(std::span(in_).first(size)));
      LATCHKEY_ASSIGN_OR_RETURN(size, Fill());
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<size_t> Fill() {
    errno = 0;
    const size_t size = std::fread(in_.data(), 1, in_.size(), file_.get());
    if (std::ferror(file_.get()) != 0) return FileFailure("read", path_, errno);
    position_ += size;
    return size;
  }
  absl::Status Decompress(size_t size, TraceBuilder& builder) {
    const std::unique_ptr<ZSTD_DCtx, ContextFreer> context(ZSTD_createDCtx());
    std::vector<char> out(ZSTD_DStreamOutSize());
    size_t wanted = 1;  // 0 at the end of a frame
    while (size > 0) {
      ZSTD_inBuffer input{in_.data(), size, 0};
      size_t written = 0;
      while (input.pos < input.size || written == out.size()) {
        ZSTD_outBuffer output{out.data(), out.size(), 0};
        wanted = ZSTD_decompressStream(context.get(), &output, &input);
        if (ZSTD_isError(wanted)) {
          return InvalidArgument(
              "{}: cannot decompress it at byte {}: {}; the file is damaged, give it anew", path_,
              position_ - size + input.pos, ZSTD_getErrorName(wanted));
        }
        written = output.pos;
        LATCHKEY_RETURN_IF_ERROR(builder.Add(std::span(out).first(written)));
      }
      LATCHKEY_ASSIGN_OR_RETURN(size, Fill());
    }
    if (wanted == 0) return absl::OkStatus();
    return InvalidArgument(
        "{}: the compressed trace ends at byte {}, after {} requests, within a frame: it is "
        "truncated",
        path_, position_, builder.requests());
  }

  const std::string& path_;
  File file_;
  std::vector<char> in_;
  uint64_t position_ = 0;  // bytes of the file that were read
};

}  // namespace

absl::StatusOr<PageTrace> ReadPageTrace(const std::string& path) {
  errno = 0;
  File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return FileFailure("open the trace", path, errno);
  TraceBuilder builder;
  TraceReader reader(path, std::move(file));
  LATCHKEY_RETURN_IF_ERROR(reader.ReadInto(builder));
  return std::move(builder).Finish(path);
}

}  // namespace latchkey
