#include "storage/device/faulty/fault_injector.h"

#include <array>
#include <cstring>
#include <utility>

namespace latchkey {
namespace {

constexpr std::array<std::pair<FaultKind, const char*>, 10> kKinds = {{
    {FaultKind::kIoError, "io-error"},
    {FaultKind::kReadError, "read-error"},
    {FaultKind::kWriteError, "write-error"},
    {FaultKind::kNoSpace, "no-space"},
    {FaultKind::kShort, "short"},
    {FaultKind::kBadPlace, "bad-place"},
    {FaultKind::kSyncError, "sync-error"},
    {FaultKind::kLostWrite, "lost-write"},
    {FaultKind::kMisdirected, "misdirected"},
    {FaultKind::kFlippedBit, "flipped-bit"},
}};

bool CanHit(FaultKind kind, DeviceCall call) {
  switch (kind) {
    case FaultKind::kIoError:
      return true;
    case FaultKind::kReadError:
    case FaultKind::kFlippedBit:
      return call == DeviceCall::kRead;
    case FaultKind::kWriteError:
    case FaultKind::kBadPlace:
    case FaultKind::kLostWrite:
    case FaultKind::kMisdirected:
      return call == DeviceCall::kWrite;
    case FaultKind::kNoSpace:
      return call == DeviceCall::kWrite || call == DeviceCall::kResize;
    case FaultKind::kShort:
      return call == DeviceCall::kRead || call == DeviceCall::kWrite;
    case FaultKind::kSyncError:
      return call == DeviceCall::kSync;
  }
  return false;
}

}  // namespace

std::optional<FaultKind> FaultKindOf(const char* name) {
  for (const auto& [kind, known] : kKinds) {
    if (std::strcmp(known, name) == 0) return kind;
  }
  return std::nullopt;
}

const char* FaultKindName(FaultKind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "unknown";
}

void FaultInjector::Set(const std::optional<Fault>& fault) {
  fault_ = fault;
  rng_ = Rng(fault ? fault->seed : 1);
  calls_ = 0;
  injected_ = 0;
}

std::optional<FaultKind> FaultInjector::Next(uint32_t disk, DeviceCall call) {
  if (!fault_ || !CanHit(fault_->kind, call)) return std::nullopt;
  if (fault_->only_disk && *fault_->only_disk != disk) return std::nullopt;
  const uint64_t number = calls_++;
  const bool hit = fault_->from_then_on ? number >= fault_->at_call : number == fault_->at_call;
  if (!hit) return std::nullopt;
  ++injected_;
  return fault_->kind;
}

}  // namespace latchkey
