#include "engine/folders.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace latchkey {

namespace fs = std::filesystem;

bool LiesInFolder(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(path, error);
  if (error) return false;
  const fs::path outer = fs::weakly_canonical(folder, error);
  if (error) return false;
  const auto [rest, at] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return rest == outer.end() || rest->empty();
}

}  // namespace latchkey
