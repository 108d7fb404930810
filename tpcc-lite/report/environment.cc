#include "tpcc-lite/report/environment.h"

#include <absl/base/config.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "tpcc-lite/kv/kv_backends.h"

// The build sets these. A file compiled without it still reports the rest.
#ifdef LATCHKEY_REVISION_HEADER
#include LATCHKEY_REVISION_HEADER
#endif
#ifndef LATCHKEY_REVISION
#define LATCHKEY_REVISION ""
#endif
#ifndef LATCHKEY_VERSION
#define LATCHKEY_VERSION ""
#define LATCHKEY_COMPILER ""
#define LATCHKEY_BUILD_TYPE ""
#define LATCHKEY_SANITIZERS ""
#endif

namespace latchkey {
namespace {

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string CpuModel() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) {
      const size_t colon = line.find(": ");
      return colon == std::string::npos ? "" : line.substr(colon + 2);
    }
  }
  return "";
}

std::vector<std::string> Libraries() {
  std::vector<std::string> all = {
#ifdef ABSL_LTS_RELEASE_VERSION
      fmt::format("Abseil {}", ABSL_LTS_RELEASE_VERSION),
#endif
      fmt::format("fmt {}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100),
      fmt::format("nlohmann-json {}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                  NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH),
      fmt::format("xxHash {}.{}.{}", XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE),
  };
  for (std::string& rival : RivalVersions()) all.push_back(std::move(rival));
  return all;
}

std::string Kernel() {
  utsname names;
  return uname(&names) == 0 ? fmt::format("{} {}", names.sysname, names.release) : "";
}

std::string NearestExisting(const std::string& path) {
  std::error_code error;
  std::filesystem::path here = std::filesystem::absolute(path, error);
  while (!here.empty() && !std::filesystem::exists(here, error) && here != here.parent_path()) {
    here = here.parent_path();
  }
  return here.string();
}

/// The type in the mount table for the device of `path`; if a device has several mounts, that of
/// the last.
std::string FileSystemType(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return "";
  const std::string device = fmt::format("{}:{}", major(info.st_dev), minor(info.st_dev));
  std::ifstream in("/proc/self/mountinfo");
  std::string type;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string id, parent, number;
    fields >> id >> parent >> number;
    const size_t separator = line.find(" - ");
    if (number != device || separator == std::string::npos) continue;
    type = line.substr(separator + 3, line.find(' ', separator + 3) - separator - 3);
  }
  return type;
}

}  // namespace

Json DescribeBuild() {
  return {
      {"version", TextOrNull(LATCHKEY_VERSION)},       {"revision", TextOrNull(LATCHKEY_REVISION)},
      {"compiler", TextOrNull(LATCHKEY_COMPILER)},     {"type", TextOrNull(LATCHKEY_BUILD_TYPE)},
      {"sanitizers", TextOrNull(LATCHKEY_SANITIZERS)}, {"libraries", Libraries()}};
}

std::optional<uint64_t> PhysicalMemoryBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return std::nullopt;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

std::optional<bool> SupportsDirectIo(const std::string& path) {
  std::string name = NearestExisting(path) + "/.latchkey-direct-io-XXXXXX";
  const int created = mkstemp(name.data());
  if (created < 0) return std::nullopt;
  close(created);
  const int direct = open(name.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (direct >= 0) close(direct);
  unlink(name.c_str());
  return direct >= 0;
}

Json DescribeHost(const std::string& path) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return {{"cpu", TextOrNull(CpuModel())},
          {"cores", cores > 0 ? Json(cores) : Json(nullptr)},
          {"memory_bytes", OrNull(PhysicalMemoryBytes())},
          {"kernel", TextOrNull(Kernel())},
          {"file_system", TextOrNull(FileSystemType(NearestExisting(path)))},
          {"direct_io", OrNull(SupportsDirectIo(path))}};
}

std::vector<std::string> BuildWarnings() {
  constexpr char kNotComparable[] =
      ": figures are not comparable; build with cmake --preset release";
  std::vector<std::string> warnings;
#ifndef NDEBUG
  warnings.push_back(std::string("debug build") + kNotComparable);
#elif !defined(__OPTIMIZE__)
  warnings.push_back(std::string("unoptimised build") + kNotComparable);
#endif
  if (std::string(LATCHKEY_SANITIZERS) != "") {
    warnings.push_back(std::string("built with sanitizers (" LATCHKEY_SANITIZERS ")") +
                       kNotComparable);
  }
  return warnings;
}

}  // namespace latchkey
