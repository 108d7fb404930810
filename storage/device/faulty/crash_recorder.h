// CrashRecorder: a machine's disks in memory, and everything that happened to them in one order, so
// that one run holds every crash point (RELIABILITY.md 3.0, 3.1).
//
// Disks belong to the recorder and outlive the devices that are opened on them. The events of all
// disks form one sequence; position p means: the first p events have happened. crash_replay.h turns
// a position into what a machine that starts again may find.
//
// Monitors that are always on: a buffer that changes while its write is in flight, two writes in
// flight to the same place, a misaligned request, and whatever SetMonitor adds (log before page).
// What they find is in violations().
//
// Thread-safety: every member may be called from every actor at once, but for event(), which wants
// that nobody writes.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/block_device.h"
#include "storage/device/faulty/disk_image.h"
#include "storage/device/faulty/fault_injector.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

using DiskBytes = std::shared_ptr<const std::vector<std::byte>>;

struct DiskEvent {
  enum class Kind : uint8_t {
    kWriteSubmitted,
    kWriteCompleted,
    kWriteFailed,  ///< completed with an error, and with what is there now
    kSyncBegun,
    kSyncEnded,
    kSyncFailed,  ///< what it covered may be lost for ever
    kResizeBegun,
    kResizeEnded,
  };
  Kind kind = Kind::kWriteSubmitted;
  uint32_t disk = 0;
  uint64_t begun = 0;   ///< completed, ended, failed: the event that began it
  uint64_t offset = 0;  ///< of a write, bytes; of a resize: the new size
  DiskBytes bytes{};    ///< of a write that was submitted; of one that failed: what is in its place
};

struct CrashRecorderOptions {
  bool record = true;  ///< false: the disks and their faults without the events
  /// Requests take a seeded time between these; 0 both: they complete at once, in seeded order.
  Nanos min_latency = 0, max_latency = 0;
  Nanos sync_latency = 0;
  uint64_t capacity_limit_bytes = uint64_t{16} << 30;  ///< per disk: a larger one is a full disk
  uint64_t seed = 1;
};

/// Watches what happens to the disks, one call after the other, in the order of the events. A
/// string that is returned and not empty is a violation. No function may wait or call the recorder.
class DiskMonitor {
 public:
  virtual ~DiskMonitor() = default;
  virtual std::string OnWriteSubmitted(uint32_t disk, uint64_t offset,
                                       std::span<const std::byte> bytes) = 0;
  /// A sync of the disk has failed: what it was to cover may be lost.
  virtual void OnSyncFailed(uint32_t /*disk*/) {}
  /// The disk holds it now, and a sync that begins from here on covers it. `write`: its number
  /// among those that have completed on the disk, from 1.
  virtual void OnWriteCompleted(uint32_t /*disk*/, uint64_t /*offset*/,
                                std::span<const std::byte> /*bytes*/, uint64_t /*write*/) {}
  /// The first `writes` writes that completed on the disk are durable.
  virtual void OnDurable(uint32_t /*disk*/, uint64_t /*writes*/) {}
};

/// REQUIRES: outlives its devices.
class CrashRecorder {
 public:
  explicit CrashRecorder(Runtime& runtime, const CrashRecorderOptions& options = {});
  ~CrashRecorder();

  /// The number of the new disk, from 0. `name` appears in messages.
  uint32_t AddDisk(const std::string& name, DiskImage content = {});
  uint32_t disks() const;
  /// A device on the disk; any number at once or one after the other.
  std::unique_ptr<BlockDevice> Open(uint32_t disk);

  /// Events so far.
  uint64_t position() const;
  const DiskEvent& event(uint64_t index) const { return events_[index]; }
  DiskImage initial(uint32_t disk) const;
  /// What a reader sees now.
  DiskImage content(uint32_t disk) const;
  /// Whether a write that completed is not yet covered by a sync.
  bool HasUnsynced(uint32_t disk) const;

  /// See FaultInjector::Set. A failed sync is final for its disk, whatever the plan says.
  void SetFault(const std::optional<Fault>& fault);
  /// As SetFault(nullopt), but the counts stay.
  void StopFaults();
  /// Since SetFault: calls that the plan could hit, and faults handed out.
  uint64_t faultable_calls() const;
  uint64_t injected_faults() const;
  /// Calls of a disk that answered an error on purpose; refused and repeated ones do not count.
  uint64_t failed_calls(uint32_t disk, DeviceCall call) const;

  /// The power goes: nothing is recorded any more, and every call fails with Unavailable.
  void PowerOff();
  bool power_is_off() const;

  /// From now on it watches, too; replaces the one before.
  void SetMonitor(std::unique_ptr<DiskMonitor> monitor);
  /// Adds a finding; only the first few hundred are kept.
  void Report(const std::string& violation);
  std::vector<std::string> violations() const;

 private:
  friend class FaultyDevice;

  struct Disk {
    std::string name;
    DiskImage initial, now;
    absl::Status sync_error;
    std::array<uint64_t, kDeviceCalls> failed{};           // by DeviceCall
    uint64_t completed = 0, durable = 0;                   // writes
    std::vector<std::pair<uint64_t, uint64_t>> in_flight;  // offset, length of writes
  };
  /// A write between its submission and its completion.
  struct Flight {
    uint64_t begun = 0;
    uint64_t offset = 0;  // where it goes; not where it was sent, when misdirected
    DiskBytes bytes;
    absl::Status status;     // what it will complete with
    bool lost = false;       // never reaches the disk
    bool in_flight = false;  // of the disk's list
  };

  // What FaultyDevice consists of. REQUIRES: the request was checked.
  Flight StartWrite(uint32_t disk, uint64_t offset, std::span<const std::byte> data);
  absl::Status FinishWrite(uint32_t disk, Flight& flight, const std::byte* buffer);
  absl::Status DoRead(uint32_t disk, uint64_t offset, std::span<std::byte> out);
  struct Covered {
    uint64_t begun = 0;
    uint64_t writes = 0;
  };
  absl::StatusOr<Covered> StartSync(uint32_t disk);
  absl::Status FinishSync(uint32_t disk, const Covered& covered);
  absl::Status DoResize(uint32_t disk, uint64_t size_bytes);
  uint64_t SizeOf(uint32_t disk) const;
  Nanos Latency();
  uint64_t Below(uint64_t bound);

  // REQUIRES: mutex_ held.
  uint64_t Add(DiskEvent event);
  void ReportHeld(std::string violation);
  std::optional<FaultKind> NextFault(Disk& disk, DeviceCall call);
  void WatchOverlap(const Disk& disk, uint64_t offset, uint64_t length);
  void PlanFault(Disk& disk, FaultKind kind, Flight& flight);
  void Misdirect(const Disk& disk, Flight& flight);
  void Tear(Disk& disk, const Flight& flight, bool prefix_only);
  void SettleFailed(uint32_t disk, const Flight& flight);

  Runtime& runtime_;
  const CrashRecorderOptions options_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Disk>> disks_;
  std::vector<DiskEvent> events_;
  std::vector<std::string> violations_;
  FaultInjector faults_;
  Rng rng_;
  std::unique_ptr<DiskMonitor> monitor_;
  bool power_off_ = false;
};

}  // namespace latchkey
