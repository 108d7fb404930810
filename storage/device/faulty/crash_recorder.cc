#include "storage/device/faulty/crash_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/device/faulty/faulty_device.h"
#include "storage/device/file_errors.h"

namespace latchkey {
namespace {

constexpr size_t kMaxViolations = 256;

absl::Status PowerIsOff(const std::string& disk) {
  return MakeStatus(absl::StatusCode::kUnavailable, "\"{}\": the power is off", disk);
}

}  // namespace

CrashRecorder::CrashRecorder(Runtime& runtime, const CrashRecorderOptions& options)
    : runtime_(runtime), options_(options), mutex_(runtime), rng_(options.seed) {}

CrashRecorder::~CrashRecorder() = default;

uint32_t CrashRecorder::AddDisk(const std::string& name, DiskImage content) {
  MutexLock lock(mutex_);
  auto disk = std::make_unique<Disk>();
  disk->number = static_cast<uint32_t>(disks_.size());
  disk->name = name;
  disk->initial = content;
  disk->now = std::move(content);
  disks_.push_back(std::move(disk));
  return static_cast<uint32_t>(disks_.size() - 1);
}

uint32_t CrashRecorder::disks() const {
  MutexLock lock(mutex_);
  return static_cast<uint32_t>(disks_.size());
}

std::unique_ptr<BlockDevice> CrashRecorder::Open(uint32_t disk) {
  MutexLock lock(mutex_);
  LATCHKEY_CHECK(disk < disks_.size());
  return std::make_unique<FaultyDevice>(runtime_, *this, disk, disks_[disk]->name);
}

uint64_t CrashRecorder::position() const {
  MutexLock lock(mutex_);
  return events_.size();
}

DiskImage CrashRecorder::initial(uint32_t disk) const {
  MutexLock lock(mutex_);
  return disks_[disk]->initial;
}

DiskImage CrashRecorder::content(uint32_t disk) const {
  MutexLock lock(mutex_);
  return disks_[disk]->now;
}

bool CrashRecorder::HasUnsynced(uint32_t disk) const {
  MutexLock lock(mutex_);
  return disks_[disk]->completed > disks_[disk]->durable;
}

void CrashRecorder::SetFault(const std::optional<Fault>& fault) {
  MutexLock lock(mutex_);
  faults_.Set(fault);
  first_fault_at_.reset();
}

uint64_t CrashRecorder::faultable_calls() const {
  MutexLock lock(mutex_);
  return faults_.calls();
}

uint64_t CrashRecorder::injected_faults() const {
  MutexLock lock(mutex_);
  return faults_.injected();
}

std::optional<uint64_t> CrashRecorder::first_fault_at() const {
  MutexLock lock(mutex_);
  return first_fault_at_;
}

std::vector<BadPlace> CrashRecorder::bad_places(uint32_t disk) const {
  MutexLock lock(mutex_);
  return disks_[disk]->bad;
}

void CrashRecorder::SetBadPlaces(uint32_t disk, std::vector<BadPlace> places) {
  MutexLock lock(mutex_);
  disks_[disk]->bad = std::move(places);
}

void CrashRecorder::StopFaults() {
  MutexLock lock(mutex_);
  faults_.Stop();
}

uint64_t CrashRecorder::failed_calls(uint32_t disk, DeviceCall call) const {
  MutexLock lock(mutex_);
  return disks_[disk]->failed[static_cast<size_t>(call)];
}

void CrashRecorder::PowerOff() {
  MutexLock lock(mutex_);
  power_off_ = true;
}

void CrashRecorder::PowerOffAfter(uint64_t events) {
  LATCHKEY_CHECK(options_.record);
  MutexLock lock(mutex_);
  power_off_at_ = events_.size() + events;
  power_off_ = power_off_ || events == 0;
}

bool CrashRecorder::power_is_off() const {
  MutexLock lock(mutex_);
  return power_off_;
}

void CrashRecorder::SetMonitor(std::unique_ptr<DiskMonitor> monitor) {
  MutexLock lock(mutex_);
  monitor_ = std::move(monitor);
}

void CrashRecorder::Report(const std::string& violation) {
  MutexLock lock(mutex_);
  ReportHeld(violation);
}

std::vector<std::string> CrashRecorder::violations() const {
  MutexLock lock(mutex_);
  return violations_;
}

uint64_t CrashRecorder::SizeOf(uint32_t disk) const {
  MutexLock lock(mutex_);
  return disks_[disk]->now.size();
}

Nanos CrashRecorder::Latency() {
  if (options_.max_latency == 0) return 0;
  MutexLock lock(mutex_);
  return options_.min_latency + rng_.Below(options_.max_latency - options_.min_latency + 1);
}

uint64_t CrashRecorder::Below(uint64_t bound) {
  MutexLock lock(mutex_);
  return rng_.Below(bound);
}

uint64_t CrashRecorder::Add(DiskEvent event) {
  if (options_.record && !power_off_) {
    events_.push_back(std::move(event));
    power_off_ = events_.size() >= power_off_at_;
  }
  return events_.empty() ? 0 : events_.size() - 1;
}

void CrashRecorder::ReportHeld(std::string violation) {
  if (violations_.size() < kMaxViolations) {
    violations_.push_back(fmt::format("event {}: {}", events_.size(), violation));
  }
}

void CrashRecorder::WatchOverlap(const Disk& disk, uint64_t offset, uint64_t length) {
  for (const auto& [other, other_length] : disk.in_flight) {
    if (offset < other + other_length && other < offset + length) {
      ReportHeld(
          fmt::format("\"{}\": {} bytes at {} and {} bytes at {} are written at once: either may "
                      "be the last",
                      disk.name, length, offset, other_length, other));
    }
  }
}

CrashRecorder::Flight CrashRecorder::StartWrite(uint32_t number, uint64_t offset,
                                                std::span<const std::byte> data) {
  Flight flight;
  flight.offset = offset;
  flight.bytes = std::make_shared<const std::vector<std::byte>>(data.begin(), data.end());
  MutexLock lock(mutex_);
  Disk& disk = *disks_[number];
  if (power_off_) {
    flight.status = PowerIsOff(disk.name);
    flight.lost = true;
    return flight;
  }
  if (monitor_ != nullptr) {
    std::string violation = monitor_->OnWriteSubmitted(number, offset, data);
    if (!violation.empty()) ReportHeld(std::move(violation));
  }
  WatchOverlap(disk, offset, data.size());
  if (const auto fault = NextWriteFault(disk, flight)) PlanFault(disk, *fault, flight);
  if (flight.lost) return flight;
  flight.begun = Add({.kind = DiskEvent::Kind::kWriteSubmitted,
                      .disk = number,
                      .offset = flight.offset,
                      .bytes = flight.bytes});
  disk.in_flight.emplace_back(flight.offset, data.size());
  flight.in_flight = true;
  return flight;
}

// Silent faults, which return no error, do not count as failed calls.
std::optional<FaultKind> CrashRecorder::NextFault(Disk& disk, DeviceCall call) {
  const std::optional<FaultKind> fault = faults_.Next(disk.number, call);
  if (fault && !first_fault_at_) first_fault_at_ = events_.size();
  const bool is_silent = fault == FaultKind::kLostWrite || fault == FaultKind::kMisdirected ||
                         fault == FaultKind::kFlippedBit;
  if (fault && !is_silent) ++disk.failed[static_cast<size_t>(call)];
  return fault;
}

std::optional<FaultKind> CrashRecorder::NextWriteFault(Disk& disk, const Flight& flight) {
  const uint64_t end = flight.offset + flight.bytes->size();
  for (const BadPlace& place : disk.bad) {
    if (flight.offset >= place.offset + place.length || place.offset >= end) continue;
    ++disk.failed[static_cast<size_t>(DeviceCall::kWrite)];
    return FaultKind::kWriteError;
  }
  const std::optional<FaultKind> fault = NextFault(disk, DeviceCall::kWrite);
  if (fault == FaultKind::kBadPlace) GoBad(disk, flight);
  return fault;
}

// One page of the write goes bad, or all of a smaller write.
void CrashRecorder::GoBad(Disk& disk, const Flight& flight) {
  constexpr uint64_t kBadBytes = 4096;
  const uint64_t length = std::min<uint64_t>(kBadBytes, flight.bytes->size());
  const uint64_t page = faults_.rng().Below(flight.bytes->size() / length);
  disk.bad.push_back({.offset = flight.offset + page * length, .length = length});
}

void CrashRecorder::PlanFault(Disk& disk, FaultKind kind, Flight& flight) {
  switch (kind) {
    case FaultKind::kNoSpace:
      flight.status = FileError("write", disk.name, flight.offset, flight.bytes->size(), ENOSPC);
      flight.lost = true;
      break;
    case FaultKind::kShort:
      flight.status = NoProgress("write", disk.name, flight.offset, flight.bytes->size());
      Tear(disk, flight, /*prefix_only=*/true);
      break;
    case FaultKind::kLostWrite:
      flight.lost = true;
      break;
    case FaultKind::kMisdirected:
      Misdirect(disk, flight);
      break;
    default:
      flight.status = FileError("write", disk.name, flight.offset, flight.bytes->size(), EIO);
      Tear(disk, flight, /*prefix_only=*/false);
      break;
  }
}

void CrashRecorder::Misdirect(const Disk& disk, Flight& flight) {
  const uint64_t length = flight.bytes->size();
  const uint64_t places = disk.now.size() / length;
  if (places < 2) {
    flight.lost = true;
    return;
  }
  const uint64_t place = flight.offset / length;
  flight.offset = (place + 1 + faults_.rng().Below(places - 1)) % places * length;
}

// A write that fails may have reached the disk in parts.
void CrashRecorder::Tear(Disk& disk, const Flight& flight, bool prefix_only) {
  const std::span<const std::byte> bytes(*flight.bytes);
  const size_t sectors = bytes.size() / DiskImage::kSector;
  const size_t prefix = faults_.rng().Below(sectors + 1);
  for (size_t i = 0; i < sectors; ++i) {
    const bool kept = prefix_only ? i < prefix : faults_.rng().Below(2) == 0;
    if (!kept) continue;
    const size_t at = i * DiskImage::kSector;
    disk.now.Write(flight.offset + at, bytes.subspan(at, DiskImage::kSector));
  }
}

// Ends a failed write: no further part of it reaches the disk later.
void CrashRecorder::SettleFailed(uint32_t number, const Flight& flight) {
  std::vector<std::byte> left(flight.bytes->size());
  disks_[number]->now.Read(flight.offset, left);
  Add({.kind = DiskEvent::Kind::kWriteFailed,
       .disk = number,
       .begun = flight.begun,
       .offset = flight.offset,
       .bytes = std::make_shared<const std::vector<std::byte>>(std::move(left))});
}

absl::Status CrashRecorder::FinishWrite(uint32_t number, Flight& flight, const std::byte* buffer) {
  MutexLock lock(mutex_);
  Disk& disk = *disks_[number];
  if (flight.in_flight) {
    std::erase(disk.in_flight, std::pair<uint64_t, uint64_t>(flight.offset, flight.bytes->size()));
  }
  if (power_off_) return PowerIsOff(disk.name);
  if (std::memcmp(buffer, flight.bytes->data(), flight.bytes->size()) != 0) {
    ReportHeld(fmt::format("\"{}\": the buffer of {} bytes at {} changed while it was written",
                           disk.name, flight.bytes->size(), flight.offset));
  }
  if (flight.lost) return flight.status;
  if (!flight.status.ok()) {
    SettleFailed(number, flight);
    return flight.status;
  }
  disk.now.Write(flight.offset, *flight.bytes);
  ++disk.completed;
  if (monitor_ != nullptr) {
    monitor_->OnWriteCompleted(number, flight.offset, *flight.bytes, disk.completed);
  }
  Add({.kind = DiskEvent::Kind::kWriteCompleted, .disk = number, .begun = flight.begun});
  return absl::OkStatus();
}

absl::Status CrashRecorder::DoRead(uint32_t number, uint64_t offset, std::span<std::byte> out) {
  MutexLock lock(mutex_);
  Disk& disk = *disks_[number];
  if (power_off_) return PowerIsOff(disk.name);
  const std::optional<FaultKind> fault = NextFault(disk, DeviceCall::kRead);
  if (fault == FaultKind::kShort) {
    const size_t sectors = faults_.rng().Below(out.size() / DiskImage::kSector);
    const size_t there = sectors * DiskImage::kSector;
    if (offset + there <= disk.now.size()) disk.now.Read(offset, out.first(there));
    return NoProgress("read", disk.name, offset, out.size());
  }
  if (fault && fault != FaultKind::kFlippedBit) {
    return FileError("read", disk.name, offset, out.size(), EIO);
  }
  // The disk may have become shorter since the device has checked the request: a file answers so.
  if (offset + out.size() > disk.now.size()) {
    return NoProgress("read", disk.name, offset, out.size());
  }
  disk.now.Read(offset, out);
  if (fault) out[faults_.rng().Below(out.size())] ^= std::byte(1u << faults_.rng().Below(8));
  return absl::OkStatus();
}

absl::StatusOr<CrashRecorder::Covered> CrashRecorder::StartSync(uint32_t number) {
  MutexLock lock(mutex_);
  Disk& disk = *disks_[number];
  if (power_off_) return PowerIsOff(disk.name);
  return Covered{.begun = Add({.kind = DiskEvent::Kind::kSyncBegun, .disk = number}),
                 .writes = disk.completed};
}

absl::Status CrashRecorder::FinishSync(uint32_t number, const Covered& covered) {
  MutexLock lock(mutex_);
  Disk& disk = *disks_[number];
  if (power_off_) return PowerIsOff(disk.name);
  if (disk.sync_error.ok() && NextFault(disk, DeviceCall::kSync)) {
    disk.sync_error = FileError("sync", disk.name, EIO);
    if (monitor_ != nullptr) monitor_->OnSyncFailed(number);
  }
  const auto kind =
      disk.sync_error.ok() ? DiskEvent::Kind::kSyncEnded : DiskEvent::Kind::kSyncFailed;
  Add({.kind = kind, .disk = number, .begun = covered.begun});
  if (disk.sync_error.ok() && covered.writes > disk.durable) {
    disk.durable = covered.writes;
    if (monitor_ != nullptr) monitor_->OnDurable(number, covered.writes);
  }
  return disk.sync_error;
}

absl::Status CrashRecorder::DoResize(uint32_t number, uint64_t size_bytes) {
  MutexLock lock(mutex_);
  Disk& disk = *disks_[number];
  if (power_off_) return PowerIsOff(disk.name);
  const auto fault = NextFault(disk, DeviceCall::kResize);
  if (fault == FaultKind::kNoSpace || size_bytes > options_.capacity_limit_bytes) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "cannot grow \"{}\" to {} bytes: {}; free space on its file system",
                      disk.name, size_bytes, ErrnoText(ENOSPC));
  }
  if (fault) return FileError("resize", disk.name, EIO);
  const uint64_t begun =
      Add({.kind = DiskEvent::Kind::kResizeBegun, .disk = number, .offset = size_bytes});
  if (power_off_) return PowerIsOff(disk.name);
  disk.now.Resize(size_bytes);
  Add({.kind = DiskEvent::Kind::kResizeEnded, .disk = number, .begun = begun});
  return absl::OkStatus();
}

}  // namespace latchkey
