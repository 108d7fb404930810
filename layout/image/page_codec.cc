#include "layout/image/page_codec.h"

#ifdef LATCHKEY_WITH_LZ4
#include <lz4.h>
#endif
#ifdef LATCHKEY_WITH_ZSTD
#include <zstd.h>
#endif

#include <memory>
#include <new>
#include <utility>

#include "storage/base/idle_objects.h"

namespace latchkey {
namespace {

#ifdef LATCHKEY_WITH_LZ4
const char* CharsOf(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());
}
char* CharsOf(std::span<std::byte> bytes) { return reinterpret_cast<char*>(bytes.data()); }

size_t CompressLz4(std::span<const std::byte> in, std::span<std::byte> out,
                   std::span<const double> parameters) {
  const int bytes =
      LZ4_compress_fast(CharsOf(in), CharsOf(out), static_cast<int>(in.size()),
                        static_cast<int>(out.size()), static_cast<int>(parameters[0]));
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

bool DecompressLz4(std::span<const std::byte> in, std::span<std::byte> out) {
  const int size = static_cast<int>(out.size());
  return LZ4_decompress_safe(CharsOf(in), CharsOf(out), static_cast<int>(in.size()), size) == size;
}
#endif

#ifdef LATCHKEY_WITH_ZSTD
// A context takes about a hundred KiB and is expensive to make.
struct EndContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using CompressionContexts = IdleObjects<ZSTD_CCtx, EndContext>;
using DecompressionContexts = IdleObjects<ZSTD_DCtx, EndContext>;

CompressionContexts& IdleCompressionContexts() {
  static auto& idle = *new CompressionContexts;
  return idle;
}
DecompressionContexts& IdleDecompressionContexts() {
  static auto& idle = *new DecompressionContexts;
  return idle;
}

size_t CompressZstd(std::span<const std::byte> in, std::span<std::byte> out,
                    std::span<const double> parameters) {
  auto context = IdleCompressionContexts().Take();
  if (context == nullptr) context.reset(ZSTD_createCCtx());
  if (context == nullptr) return 0;
  const size_t bytes = ZSTD_compressCCtx(context.get(), out.data(), out.size(), in.data(),
                                         in.size(), static_cast<int>(parameters[0]));
  IdleCompressionContexts().Return(std::move(context));
  return ZSTD_isError(bytes) ? 0 : bytes;
}

bool DecompressZstd(std::span<const std::byte> in, std::span<std::byte> out) {
  auto context = IdleDecompressionContexts().Take();
  if (context == nullptr) context.reset(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  const size_t bytes =
      ZSTD_decompressDCtx(context.get(), out.data(), out.size(), in.data(), in.size());
  IdleDecompressionContexts().Return(std::move(context));
  return bytes == out.size();
}
#endif

#ifdef LATCHKEY_WITH_LZ4
constexpr ChoiceParameter kLz4Parameters[] = {
    {"acceleration", 1, 1, 100, ParameterKind::kWhole, "more is faster and larger"}};
#endif
#ifdef LATCHKEY_WITH_ZSTD
constexpr ChoiceParameter kZstdParameters[] = {
    {"level", 1, 1, 19, ParameterKind::kWhole, "more is slower and smaller"}};
#endif

constexpr PageCodecInfo kCodecs[] = {
    {{"none", "pages are written as they are", {}}},
#ifdef LATCHKEY_WITH_LZ4
    {{"lz4", "compressed by lz4: fast", kLz4Parameters}, 1, CompressLz4, DecompressLz4},
#endif
#ifdef LATCHKEY_WITH_ZSTD
    {{"zstd", "compressed by zstd: smaller and slower than by lz4", kZstdParameters},
     2,
     CompressZstd,
     DecompressZstd},
#endif
};

}  // namespace

const Registry<PageCodecInfo>& PageCodecs() {
  static constexpr Registry<PageCodecInfo> registry("page compression", kCodecs);
  return registry;
}

const PageCodecInfo* FindPageCodec(uint8_t id) {
  for (const PageCodecInfo& codec : PageCodecs()) {
    if (id != 0 && codec.id == id) return &codec;
  }
  return nullptr;
}

}  // namespace latchkey
