// Where tests find the real traces, which are not part of the project.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace latchkey {

/// $LATCHKEY_TRACES, or a folder `shared/traces` beside the project. It may not exist.
inline std::filesystem::path TraceFolder() {
  const char* set = std::getenv("LATCHKEY_TRACES");
  return set != nullptr ? set : LATCHKEY_TRACES_BESIDE_SOURCE;
}

}  // namespace latchkey
