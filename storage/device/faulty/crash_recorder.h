// CrashRecorder: a machine's disks in memory, and all events on them in one order, so that one run
// yields every crash point (RELIABILITY.md 3.0, 3.1).
//
// Disks belong to the recorder and outlive the devices opened on them. The events of all disks form
// one sequence; position p means that the first p events have happened. crash_replay.h turns a
// position into the states that a machine may find when it starts again.
//
// The recorder always checks three rules: no buffer changes while its write is in flight, no two
// writes to the same place are in flight, no request is misaligned. A DiskMonitor adds rules (log
// before page). violations() returns the findings of both.
//
// Thread-safety: all actors may call every member at once, except event() and events(), which
// require that no actor writes.
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
    kWriteFailed,  ///< completed with an error; `bytes` holds the content that is there now
    kSyncBegun,
    kSyncEnded,
    kSyncFailed,  ///< the writes that it should have covered may be lost for ever
    kResizeBegun,
    kResizeEnded,
  };
  Kind kind = Kind::kWriteSubmitted;
  uint32_t disk = 0;
  uint64_t begun = 0;   ///< completed, ended, failed: index of the event that began it
  uint64_t offset = 0;  ///< of a write, bytes; of a resize: the new size
  DiskBytes bytes{};    ///< of a submitted write; of a failed one: the content in its place
};

struct CrashRecorderOptions {
  bool record = true;  ///< false: disks and faults, but no events
  /// Requests take a seeded time between these. Both 0: they complete at once, in seeded order.
  Nanos min_latency = 0, max_latency = 0;
  Nanos sync_latency = 0;
  uint64_t capacity_limit_bytes = uint64_t{16} << 30;  ///< per disk; growing beyond is a full disk
  uint64_t seed = 1;
};

/// Watches the events of the disks, called in their order, one at a time. A returned non-empty
/// string is a violation. No function may wait or call the recorder.
class DiskMonitor {
 public:
  virtual ~DiskMonitor() = default;
  virtual std::string OnWriteSubmitted(uint32_t disk, uint64_t offset,
                                       std::span<const std::byte> bytes) = 0;
  /// A sync of the disk has failed: the writes that it should have covered may be lost.
  virtual void OnSyncFailed(uint32_t /*disk*/) {}
  /// A write has completed; a sync that begins later covers it. `write`: its number among the
  /// completed writes of the disk, from 1.
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

  /// Adds a disk and returns its number, from 0. `name` appears in messages.
  uint32_t AddDisk(const std::string& name, DiskImage content = {});
  uint32_t disks() const;
  /// Opens a device on the disk. A disk may have any number of devices, at once or in turn.
  std::unique_ptr<BlockDevice> Open(uint32_t disk);

  /// Events so far.
  uint64_t position() const;
  /// REQUIRES: the run is over, so that no more events come.
  const DiskEvent& event(uint64_t index) const LATCHKEY_NO_THREAD_SAFETY_ANALYSIS {
    return events_[index];
  }
  /// REQUIRES: as event().
  std::span<const DiskEvent> events() const LATCHKEY_NO_THREAD_SAFETY_ANALYSIS { return events_; }
  DiskImage initial(uint32_t disk) const;
  /// The content that a reader sees now.
  DiskImage content(uint32_t disk) const;
  /// Whether there is a completed write that no sync has covered.
  bool HasUnsynced(uint32_t disk) const;

  /// See FaultInjector::Set. A failed sync is final for its disk, even if the fault is a single
  /// one.
  void SetFault(const std::optional<Fault>& fault);
  /// As SetFault(nullopt), but the counts stay.
  void StopFaults();
  /// Since SetFault: the number of calls that the fault could hit, and of injected faults.
  uint64_t faultable_calls() const;
  uint64_t injected_faults() const;
  /// Since SetFault: number of events before the first fault; nullopt: there was no fault.
  std::optional<uint64_t> first_fault_at() const;
  /// The bad places of a disk (FaultKind::kBadPlace). They outlive SetFault and StopFaults: a test
  /// hands them on to the next machine.
  std::vector<BadPlace> bad_places(uint32_t disk) const;
  void SetBadPlaces(uint32_t disk, std::vector<BadPlace> places);
  /// Number of calls of a disk that returned an injected error. Refused calls, and repetitions of a
  /// final error, do not count.
  uint64_t failed_calls(uint32_t disk, DeviceCall call) const;

  /// A power failure: nothing is recorded any more, and every call fails with Unavailable.
  void PowerOff();
  /// A power failure as soon as `events` more have happened. REQUIRES: the events are recorded.
  void PowerOffAfter(uint64_t events);
  bool power_is_off() const;

  /// From now on `monitor` watches the disks, in place of the previous monitor.
  void SetMonitor(std::unique_ptr<DiskMonitor> monitor);
  /// Adds a finding; only the first few hundred are kept.
  void Report(const std::string& violation);
  std::vector<std::string> violations() const;

 private:
  friend class FaultyDevice;

  struct Disk {
    uint32_t number = 0;
    std::string name;
    DiskImage initial, now;
    absl::Status sync_error;
    std::array<uint64_t, kDeviceCalls> failed{};           // by DeviceCall
    uint64_t completed = 0, durable = 0;                   // writes
    std::vector<std::pair<uint64_t, uint64_t>> in_flight;  // offset, length of writes
    std::vector<BadPlace> bad;
  };
  /// A write between its submission and its completion.
  struct Flight {
    uint64_t begun = 0;
    uint64_t offset = 0;  // the real target; differs from the requested one if misdirected
    DiskBytes bytes;
    absl::Status status;     // the status with which it will complete
    bool lost = false;       // never reaches the disk
    bool in_flight = false;  // it is in the disk's list
  };

  // The operations of FaultyDevice. REQUIRES: the request was checked.
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

  uint64_t Add(DiskEvent event) LATCHKEY_REQUIRES(mutex_);
  void ReportHeld(std::string violation) LATCHKEY_REQUIRES(mutex_);
  std::optional<FaultKind> NextFault(Disk& disk, DeviceCall call) LATCHKEY_REQUIRES(mutex_);
  void WatchOverlap(const Disk& disk, uint64_t offset, uint64_t length) LATCHKEY_REQUIRES(mutex_);
  std::optional<FaultKind> NextWriteFault(Disk& disk, const Flight& flight)
      LATCHKEY_REQUIRES(mutex_);
  void GoBad(Disk& disk, const Flight& flight) LATCHKEY_REQUIRES(mutex_);
  void PlanFault(Disk& disk, FaultKind kind, Flight& flight) LATCHKEY_REQUIRES(mutex_);
  void Misdirect(const Disk& disk, Flight& flight) LATCHKEY_REQUIRES(mutex_);
  void Tear(Disk& disk, const Flight& flight, bool prefix_only) LATCHKEY_REQUIRES(mutex_);
  void SettleFailed(uint32_t disk, const Flight& flight) LATCHKEY_REQUIRES(mutex_);

  Runtime& runtime_;
  const CrashRecorderOptions options_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Disk>> disks_ LATCHKEY_GUARDED_BY(mutex_);
  std::vector<DiskEvent> events_ LATCHKEY_GUARDED_BY(mutex_);
  std::vector<std::string> violations_ LATCHKEY_GUARDED_BY(mutex_);
  FaultInjector faults_ LATCHKEY_GUARDED_BY(mutex_);
  std::optional<uint64_t> first_fault_at_ LATCHKEY_GUARDED_BY(mutex_);
  Rng rng_ LATCHKEY_GUARDED_BY(mutex_);
  std::unique_ptr<DiskMonitor> monitor_;
  bool power_off_ LATCHKEY_GUARDED_BY(mutex_) = false;
  uint64_t power_off_at_ LATCHKEY_GUARDED_BY(mutex_) = UINT64_MAX;  // number of events
};

}  // namespace latchkey
