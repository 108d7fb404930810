// What fails in a run of the fault campaign: the k-th of the calls that a source counts, once or
// from then on. Devices are one kind of source; whatever else can fail is another, with a class and
// its names in a list of its own.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/campaign/crash_subject.h"

namespace latchkey {

/// Which calls of a source fail.
struct FaultPoint {
  static constexpr uint64_t kNever = UINT64_MAX;  ///< as `call`: all are counted, none fails

  uint64_t call = kNever;  ///< counted from 0, from Arm on
  bool from_then_on = false;
  uint64_t seed = 1;  ///< of the details
};

/// Thread-safety: used by the one actor that leads a run; the calls that it counts are everybody's.
class FaultSource {
 public:
  virtual ~FaultSource() = default;

  /// The name of the flag --fault.
  virtual std::string name() const = 0;
  /// From now on calls are counted, and fail as `point` says. Replaces the plan before.
  virtual void Arm(CrashMachine& machine, const FaultPoint& point) = 0;
  /// Nothing fails any more; the counts stay.
  virtual void Disarm(CrashMachine& machine) = 0;
  /// Since Arm: calls that could have failed, and those that did.
  virtual uint64_t calls(const CrashMachine& machine) const = 0;
  virtual uint64_t injected(const CrashMachine& machine) const = 0;
  /// Whether an operation that met such a fault, or what it has left behind, may answer this.
  virtual bool IsDocumented(const absl::Status& status) const = 0;
};

/// Calls of the machine's disks: io-error, no-space, short, sync-error (see FaultKind).
std::vector<std::unique_ptr<FaultSource>> DeviceFaultSources();

/// Allocations of the engine: allocation (std::bad_alloc). Counts what CountedAllocations covers
/// and what the engine's own actors ask for; one machine at a time.
std::vector<std::unique_ptr<FaultSource>> MemoryFaultSources();

/// The kinds of sources: what --kind takes.
std::vector<std::string> FaultSourceKinds();
/// Those of one kind; empty: there is no such kind.
std::vector<std::unique_ptr<FaultSource>> FaultSourcesOf(const std::string& kind);

}  // namespace latchkey
