// The interface between the crash campaign and a store: how to run a workload on recorded disks,
// how to recover, and the oracle that knows the right contents after recovery.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/disk_image.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey {

/// The disks of a machine and the time in which they run.
struct CrashMachine {
  /// One disk for each image. `simulated`: virtual time, so that equal seeds give equal events.
  /// `is_busy`: requests take time and actors are interrupted, so that many requests are in flight
  /// at once; otherwise every request ends at once. `max_hand_overs`: a simulated run that takes
  /// more of them is ended as a livelock.
  CrashMachine(const std::vector<DiskImage>& images, uint64_t seed, bool record, bool simulated,
               bool is_busy = false, uint64_t max_hand_overs = UINT64_MAX);

  Runtime& runtime() { return simulation == nullptr ? ThreadRuntime() : *simulation; }
  /// Runs `body` in this machine's time: as the first actor of the simulation, or else as a plain
  /// call.
  absl::Status RunInside(const std::function<absl::Status()>& body);

  std::unique_ptr<SimulatedRuntime> simulation;  ///< null: threads
  std::unique_ptr<CrashRecorder> disks;
};

/// The promises of a run, by event number. Contents are named by fingerprints: equal contents have
/// equal fingerprints, and different contents have different ones except with a chance of 2^-64.
/// Not thread-safe.
class CommitOracle {
 public:
  /// From event number `position` on the store may hold `fingerprint`: a commit (or, in the first
  /// call, the creation of the store) is submitted. Calls come in commit order. If a commit was
  /// submitted before its predecessor in that order, its predecessor's position counts: recovery
  /// finds it only after the predecessor.
  void Submit(uint64_t position, uint64_t fingerprint);
  /// From `position` on the store must hold the newest submission or a later one.
  void Acknowledge(uint64_t position) { Acknowledge(position, steps_.size()); }
  /// From `position` on the store must hold submission number `steps` (from 1) or a later one.
  /// REQUIRES: `position` is not below that of the call before.
  void Acknowledge(uint64_t position, size_t steps);

  /// Whether a store that lost its power at `position` may hold `fingerprint`.
  bool Accepts(uint64_t position, uint64_t fingerprint) const;
  /// Whether a store must exist.
  bool MustExist(uint64_t position) const { return Acknowledged(position) > 0; }
  /// Whether a promise was made at exactly this position.
  bool PromisedAt(uint64_t position) const;
  std::string Explain(uint64_t position, uint64_t fingerprint) const;
  uint64_t submitted() const { return steps_.size(); }
  uint64_t acknowledged() const { return acknowledged_.size(); }

 private:
  struct Step {
    uint64_t submitted_at = 0;
    uint64_t fingerprint = 0;
  };
  struct Promise {
    uint64_t position = 0;
    size_t steps = 0;  // number of submissions promised
  };
  size_t Acknowledged(uint64_t position) const;
  size_t Submitted(uint64_t position) const;

  std::vector<Step> steps_;
  std::vector<Promise> acknowledged_;
};

class CrashSubject {
 public:
  virtual ~CrashSubject() = default;

  virtual std::string name() const = 0;
  /// Describes the run of a seed.
  virtual std::string Describe(uint64_t /*seed*/) const { return name(); }
  virtual uint32_t disks() const = 0;
  virtual bool is_simulated() const = 0;
  /// Whether runs need a busy machine (see CrashMachine).
  virtual bool is_busy() const { return false; }
  /// Whether a crash during creation leaves a complete store or nothing. False: the store gets its
  /// name only when it is complete, as a database in the file system does; the campaign does not
  /// try such states.
  virtual bool creation_survives_crashes() const { return true; }
  /// Whether the open makes durable what a killed process has left on the disks. Then the campaign
  /// also cuts the power during the recovery of such disks.
  virtual bool syncs_when_opened() const { return false; }
  /// Creates the store on empty disks and runs the workload of `seed`. Tells the oracle of the
  /// creation first, then of each commit. An error is a finding.
  virtual absl::Status Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) = 0;
  /// Opens the disks after a crash, lets the store recover and check itself, reads all of it and
  /// closes it. Returns the fingerprint, or the reason why this failed.
  virtual absl::StatusOr<uint64_t> Recover(uint64_t seed, CrashMachine& machine) = 0;
};

}  // namespace latchkey
