// A directory for one test, removed at the end.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "storage/base/check.h"

namespace latchkey {

/// Lies in $TMPDIR, or else in the working directory (the build tree, when ctest runs the tests).
class TempDir {
 public:
  TempDir() {
    const char* base = std::getenv("TMPDIR");
    path_ = (base != nullptr ? std::filesystem::path(base) : std::filesystem::current_path()) /
            "latchkey_test_XXXXXX";
    std::string name = path_.string();
    LATCHKEY_CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace latchkey
