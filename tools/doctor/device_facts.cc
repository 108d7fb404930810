#include "tools/doctor/device_facts.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace latchkey {
namespace {

std::optional<std::string> ReadLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const std::optional<std::string> line = ReadLine(path);
  uint64_t number = 0;
  if (!line.has_value() || !absl::SimpleAtoi(*line, &number)) return std::nullopt;
  return number;
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string SysfsOf(dev_t device) {
  return fmt::format("/sys/dev/block/{}:{}", major(device), minor(device));
}

}  // namespace

bool MountFacts::has(std::string_view option) const {
  for (const absl::string_view each : absl::StrSplit(options, ',')) {
    if (std::string_view(each.data(), each.size()) == option) return true;
  }
  return false;
}

// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
MountFacts FindMount(std::string_view mountinfo, unsigned major, unsigned minor) {
  const std::string number = fmt::format("{}:{}", major, minor);
  MountFacts facts;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(mountinfo.data(), mountinfo.size()), '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 3 >= words.size() || words[2] != number) continue;
    facts = {words[dash + 1], words[dash + 2], words[5] + "," + words[dash + 3]};
  }
  return facts;
}

BlockQueueFacts ReadBlockQueue(const std::string& device) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path directory = fs::canonical(device, error);
  if (error) return {};
  // A partition has no queue of its own: its disk is the directory above.
  if (!fs::exists(directory / "queue", error)) directory = directory.parent_path();
  if (!fs::exists(directory / "queue", error)) return {};
  const std::string queue = (directory / "queue").string();
  BlockQueueFacts facts{.name = directory.filename().string()};
  if (const auto rotational = ReadNumber(queue + "/rotational"))
    facts.rotational = *rotational != 0;
  if (const auto cache = ReadLine(queue + "/write_cache")) {
    facts.has_volatile_cache = *cache == "write back";
  }
  const auto atomic = ReadNumber(queue + "/atomic_write_unit_max_bytes");
  if (atomic.value_or(0) > 0) facts.atomic_write_bytes = atomic;
  return facts;
}

DeviceFacts ReadDeviceFacts(const std::string& path) {
  DeviceFacts facts;
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return facts;
  facts.mount = FindMount(ReadAll("/proc/self/mountinfo"), major(info.st_dev), minor(info.st_dev));
  facts.queue = ReadBlockQueue(SysfsOf(info.st_dev));
  // Some file systems (btrfs, overlay) have device numbers of their own.
  if (facts.queue.name.empty() && stat(facts.mount.source.c_str(), &info) == 0 &&
      S_ISBLK(info.st_mode)) {
    facts.queue = ReadBlockQueue(SysfsOf(info.st_rdev));
  }
  return facts;
}

}  // namespace latchkey
