// Faults of the fault campaign: a source counts calls and fails the k-th one, once or from then on.
// Devices are one kind of source. Another kind is a class of its own, with its names in a list.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/campaign/shared/crash_subject.h"

namespace latchkey {

/// The calls of a source that fail.
struct FaultPoint {
  static constexpr uint64_t kNever = UINT64_MAX;  ///< as `call`: all are counted, none fails

  uint64_t call = kNever;  ///< counted from 0, from Arm on
  bool from_then_on = false;
  uint64_t seed = 1;  ///< decides the details
};

/// Thread-safety: used by the one actor that leads a run. It counts the calls of all actors.
class FaultSource {
 public:
  virtual ~FaultSource() = default;

  /// The name for the flag --fault.
  virtual std::string name() const = 0;
  /// From now on counts calls and fails them as `point` says. Replaces the plan before.
  virtual void Arm(CrashMachine& machine, const FaultPoint& point) = 0;
  /// From now on no call fails. The counts stay.
  virtual void Disarm(CrashMachine& machine) = 0;
  /// Since Arm: number of calls that could have failed, and number that did.
  virtual uint64_t calls(const CrashMachine& machine) const = 0;
  virtual uint64_t injected(const CrashMachine& machine) const = 0;
  /// Whether an operation that met this fault, or its consequences, may return `status`.
  virtual bool IsDocumented(const absl::Status& status) const = 0;
};

/// Calls of the machine's disks: io-error, no-space, short, bad-place, sync-error (see FaultKind).
std::vector<std::unique_ptr<FaultSource>> DeviceFaultSources();
/// Writes to the bad places that the machine's disks have. Arm and Disarm change nothing.
std::unique_ptr<FaultSource> BadPlacesThatStay();

/// Allocations of the engine: allocation (std::bad_alloc). Counts the allocations inside
/// CountedAllocations and those of the engine's own actors. One machine at a time.
std::vector<std::unique_ptr<FaultSource>> MemoryFaultSources();

/// The kinds of sources: the values of --kind.
std::vector<std::string> FaultSourceKinds();
/// The sources of one kind; empty: no such kind.
std::vector<std::unique_ptr<FaultSource>> FaultSourcesOf(const std::string& kind);

}  // namespace latchkey
