// The list of page codecs: how pages are compressed (`--page-compression`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/base/registry.h"

namespace latchkey {

/// One codec of the list. Both functions are thread-safe.
struct PageCodecInfo {
  ChoiceDescription description;
  /// Stands for the codec in images on the device. 0: pages are not compressed.
  uint8_t id = 0;
  /// Compresses `in` to `out`. Returns the number of bytes written; 0 when they do not fit in
  /// `out`.
  size_t (*compress)(std::span<const std::byte> in, std::span<std::byte> out,
                     std::span<const double> parameters) = nullptr;
  /// Decompresses `in` to exactly `out.size()` bytes. False when `in` is damaged. std::bad_alloc.
  bool (*decompress)(std::span<const std::byte> in, std::span<std::byte> out) = nullptr;
};

/// The list: none, and those of lz4 and zstd with which the build was configured.
const Registry<PageCodecInfo>& PageCodecs();
using PageCodecChoice = Choice<PageCodecInfo>;

/// The codec with that id, 1 to 255; nullptr: this build has none.
const PageCodecInfo* FindPageCodec(uint8_t id);

}  // namespace latchkey
