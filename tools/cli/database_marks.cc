#include "tools/cli/database_marks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "layout/checkpoint/superblock.h"
#include "layout/geometry.h"

namespace latchkey {

DatabaseMarks FindMarks(const std::string& database) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(database) / "data.lk";
  DatabaseMarks marks;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return marks;
  marks.other_files = fs::exists(fs::path(database) / "log.lk", error) ||
                      fs::exists(fs::path(database) / "map.lk", error);
  const uint64_t size = fs::file_size(path, error);
  // An empty file alone is a database that was not created yet.
  marks.cut_off = size < kHeaderAreaBytes && (size > 0 || marks.other_files);
  std::ifstream file(path, std::ios::binary);
  for (const uint64_t generation : {0, 1}) {
    for (const int copy : {0, 1}) {
      std::array<char, kSuperblockMagic.size()> bytes{};
      file.clear();
      file.seekg(static_cast<std::streamoff>(SuperblockOffset(generation, copy)));
      file.read(bytes.data(), bytes.size());
      const std::string_view found(bytes.data(), static_cast<size_t>(file.gcount()));
      if (found.find_first_not_of('\0') == std::string_view::npos) continue;  // or empty
      const bool is_ours = std::equal(found.begin(), found.end(), kSuperblockMagic.begin());
      (is_ours ? marks.ours : marks.others) = true;
    }
  }
  return marks;
}

}  // namespace latchkey
