#include "tools/campaign/shared/kill_points.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <string>

#include "storage/base/check.h"

namespace latchkey {
namespace {

enum Point : int {
  kDataWrite,
  kLogWrite,
  kMapWrite,
  kDataSync,
  kLogSync,
  kMapSync,
  kDirectorySync,
  kGrow,
  kBackupWrite,
  kBackupSync,
  kRename,
  kPoints,
  kNone = kPoints,
};
constexpr std::array<const char*, kPoints> kNames = {
    "data-write",     "log-write", "map-write",    "data-sync",   "log-sync", "map-sync",
    "directory-sync", "grow",      "backup-write", "backup-sync", "rename"};

std::atomic<int> armed{kNone};
std::atomic<uint64_t> calls_left{0};

enum class FileKind { kOther, kData, kLog, kMap, kBackup, kDirectory };

FileKind KindOf(int fd) {
  char path[PATH_MAX];
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path, sizeof(path));
  const std::string_view name(path, length > 0 ? static_cast<size_t>(length) : 0);
  if (name.ends_with("/data.lk") || name.ends_with("/data.lk.new")) return FileKind::kData;
  if (name.ends_with("/log.lk")) return FileKind::kLog;
  if (name.ends_with("/map.lk")) return FileKind::kMap;
  if (name.ends_with(".lkb") || name.ends_with(".lkb.new")) return FileKind::kBackup;
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) ? FileKind::kDirectory : FileKind::kOther;
}

int WriteOf(int fd) {
  switch (KindOf(fd)) {
    case FileKind::kData:
      return kDataWrite;
    case FileKind::kLog:
      return kLogWrite;
    case FileKind::kMap:
      return kMapWrite;
    case FileKind::kBackup:
      return kBackupWrite;
    default:
      return kNone;
  }
}

int SyncOf(int fd) {
  switch (KindOf(fd)) {
    case FileKind::kData:
      return kDataSync;
    case FileKind::kLog:
      return kLogSync;
    case FileKind::kMap:
      return kMapSync;
    case FileKind::kBackup:
      return kBackupSync;
    case FileKind::kDirectory:
      return kDirectorySync;
    default:
      return kNone;
  }
}

bool IsArmed() { return armed.load(std::memory_order_acquire) != kNone; }

// Whether this call is the kill point. From then on every call is, so that no other thread passes
// it.
bool IsTheCall(int point) {
  if (point == kNone || armed.load(std::memory_order_acquire) != point) return false;
  uint64_t left = calls_left.load(std::memory_order_relaxed);
  while (left > 0 && !calls_left.compare_exchange_weak(left, left - 1)) {
  }
  return left <= 1;
}

void DieAt(int point) {
  if (IsTheCall(point)) KillThisProcess();
}

}  // namespace

void KillThisProcess() {
  for (;;) kill(getpid(), SIGKILL);
}

bool IsArmedWrite(int fd) { return IsArmed() && IsTheCall(WriteOf(fd)); }

void DieAtWrite(int fd) {
  if (IsArmed()) DieAt(WriteOf(fd));
}

void DieAtSync(int fd) {
  if (IsArmed()) DieAt(SyncOf(fd));
}

void DieAtGrowth() {
  if (IsArmed()) DieAt(kGrow);
}

void DieAtRename() {
  if (IsArmed()) DieAt(kRename);
}

std::span<const char* const> KillPointNames() { return std::span(kNames).first(kBackupWrite); }
std::span<const char* const> BackupKillPointNames() { return kNames; }

std::optional<KillPoint> ParseKillPoint(std::string_view text) {
  const size_t colon = text.find(':');
  KillPoint point{.name = std::string(text.substr(0, colon)), .at_call = 1};
  if (std::find(kNames.begin(), kNames.end(), point.name) == kNames.end()) return std::nullopt;
  if (colon == std::string_view::npos) return point;
  const std::string_view number = text.substr(colon + 1);
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, point.at_call);
  if (error != std::errc() || stop != end || point.at_call == 0) return std::nullopt;
  return point;
}

std::string DescribeKillPoint(const KillPoint& point) {
  return fmt::format("{}:{}", point.name, point.at_call);
}

void ArmKillPoint(const KillPoint& point) {
  const auto found = std::find(kNames.begin(), kNames.end(), point.name);
  LATCHKEY_CHECK(found != kNames.end());
  armed.store(kNone, std::memory_order_release);
  calls_left.store(point.at_call, std::memory_order_relaxed);
  armed.store(static_cast<int>(found - kNames.begin()), std::memory_order_release);
}

}  // namespace latchkey
