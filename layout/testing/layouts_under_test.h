// The layouts that conformance tests and campaigns run: every name of the list, of a layout with
// parameters that change its separator one item each, and some with page compression.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layout/image/page_codec.h"
#include "layout/separate/separator.h"

namespace latchkey {

inline std::vector<std::string> LayoutsUnderTest() {
  std::vector<std::string> items = Layouts().Names();
  items.emplace_back("hylog:h=0.4");
  items.emplace_back("hylog:h=0.2:holes");          // most pages are cold, and go into holes
  items.emplace_back("hylog:thesis:interval=5ms");  // its decisions change within a test
  return items;
}

/// Layout and page compression of an item such as lfs/lz4. Without a slash nothing is compressed.
struct LayoutAndCompression {
  std::string layout, page_compression = "none";

  static LayoutAndCompression Of(std::string_view item) {
    const size_t slash = item.find('/');
    if (slash == std::string_view::npos) return {.layout = std::string(item)};
    return {std::string(item.substr(0, slash)), std::string(item.substr(slash + 1))};
  }
};

/// The codecs of the build that compress; empty: it has none.
inline std::vector<std::string> CodecsUnderTest() {
  std::vector<std::string> names;
  for (const PageCodecInfo& codec : PageCodecs()) {
    if (codec.id != 0) names.emplace_back(codec.description.name);
  }
  return names;
}

/// The layout with a codec, if the build has one.
inline std::string Compressed(std::string_view layout) {
  const std::vector<std::string> codecs = CodecsUnderTest();
  return codecs.empty() ? std::string(layout) : std::string(layout) + "/" + codecs.front();
}

/// Those layouts, and some of them with each codec of the build.
inline std::vector<std::string> StoresUnderTest() {
  std::vector<std::string> items = LayoutsUnderTest();
  for (const char* item : {"overwrite/zstd", "lfs/lz4", "wolf/lz4", "hylog/zstd"}) {
    if (PageCodecs().Find(LayoutAndCompression::Of(item).page_compression) != nullptr) {
      items.emplace_back(item);
    }
  }
  return items;
}

}  // namespace latchkey
