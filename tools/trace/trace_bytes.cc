#include "tools/trace/trace_bytes.h"

#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "storage/base/status_macros.h"
#include "tools/cli/stoppable_file.h"

namespace latchkey {
namespace {

constexpr uint32_t kZstdMagic = 0xFD2FB528;
constexpr size_t kFirstPortion = 8;

struct ContextFreer {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class Reader {
 public:
  using Take = absl::FunctionRef<absl::Status(std::string_view)>;

  Reader(const std::string& path, StoppableFile file, Take take)
      : path_(path), file_(std::move(file)), take_(take), in_(ZSTD_DStreamInSize()) {}

  absl::Status Read() {
    LATCHKEY_ASSIGN_OR_RETURN(size_t size, Fill());
    uint32_t magic = 0;
    if (size >= sizeof(magic)) std::memcpy(&magic, in_.data(), sizeof(magic));
    if (magic == kZstdMagic) return Decompress(size);
    while (size > 0) {
      LATCHKEY_RETURN_IF_ERROR(take_({in_.data(), size}));
      LATCHKEY_ASSIGN_OR_RETURN(size, Fill());
    }
    return absl::OkStatus();
  }

 private:
  /// Fills in_, or less at the end: a pipe hands out a few bytes at a time.
  absl::StatusOr<size_t> Fill() {
    size_t size = 0;
    while (size < in_.size()) {
      LATCHKEY_ASSIGN_OR_RETURN(const size_t got, file_.Read(in_.data() + size, in_.size() - size));
      if (got == 0) break;
      size += got;
    }
    position_ += size;
    return size;
  }
  absl::Status Decompress(size_t size) {
    const std::unique_ptr<ZSTD_DCtx, ContextFreer> context(ZSTD_createDCtx());
    std::vector<char> out(ZSTD_DStreamOutSize());
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    size_t wanted = 1;  // 0 at the end of a frame
    while (size > 0) {
      ZSTD_inBuffer input{in_.data(), size, 0};
      bool full = false;
      while (input.pos < input.size || full) {
        wanted = ZSTD_decompressStream(context.get(), &output, &input);
        if (ZSTD_isError(wanted)) {
          return InvalidArgument(
              "{}: cannot decompress it at byte {}: {}; the file is damaged, give it anew", path_,
              position_ - size + input.pos, ZSTD_getErrorName(wanted));
        }
        full = output.pos == output.size;
        if (output.pos < kFirstPortion && taken_ == 0) continue;
        LATCHKEY_RETURN_IF_ERROR(Pass(&output));
      }
      LATCHKEY_ASSIGN_OR_RETURN(size, Fill());
    }
    LATCHKEY_RETURN_IF_ERROR(Pass(&output));
    if (wanted == 0) return absl::OkStatus();
    return InvalidArgument(
        "{}: the compressed trace ends at byte {}, after {} bytes of the trace, within a frame: it "
        "is truncated",
        path_, position_, taken_);
  }
  absl::Status Pass(ZSTD_outBuffer* output) {
    const size_t size = output->pos;
    output->pos = 0;
    taken_ += size;
    return size == 0 ? absl::OkStatus() : take_({static_cast<const char*>(output->dst), size});
  }

  const std::string& path_;
  StoppableFile file_;
  Take take_;
  std::vector<char> in_;
  uint64_t position_ = 0;  // bytes of the file that were read
  uint64_t taken_ = 0;     // bytes of the trace that were passed on, if it is compressed
};

}  // namespace

absl::Status ReadTraceBytes(const std::string& path,
                            absl::FunctionRef<absl::Status(std::string_view)> take) {
  LATCHKEY_ASSIGN_OR_RETURN(StoppableFile file, StoppableFile::Open(path, "open the trace"));
  return Reader(path, std::move(file), take).Read();
}

}  // namespace latchkey
