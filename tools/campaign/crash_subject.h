// What a crash campaign needs to know of a store: how to run a workload on recorded disks, and how
// to recover; and the oracle that says which recovered contents are right.
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

/// The disks of a machine and the time they live in.
struct CrashMachine {
  /// One disk for each image. `simulated`: virtual time, so that equal seeds give equal events.
  /// `is_busy`: its requests take a while and its actors are interrupted, so that much is under way
  /// at once; else everything is prompt. `max_hand_overs`: a simulated run that takes more of them
  /// is ended as a livelock.
  CrashMachine(const std::vector<DiskImage>& images, uint64_t seed, bool record, bool simulated,
               bool is_busy = false, uint64_t max_hand_overs = UINT64_MAX);

  Runtime& runtime() { return simulation == nullptr ? ThreadRuntime() : *simulation; }
  /// Runs `body` in this machine's time: as the first actor of the simulation, or just so.
  absl::Status RunInside(const std::function<absl::Status()>& body);

  std::unique_ptr<SimulatedRuntime> simulation;  ///< null: threads
  std::unique_ptr<CrashRecorder> disks;
};

/// What was promised when. Contents are named by fingerprints: equal for equal contents, and for
/// different ones but by a chance of 2^-64. Not thread-safe.
class CommitOracle {
 public:
  /// From event number `position` on the store may hold `fingerprint`: a commit (or, first, the
  /// creation of the store) is asked for. In the order of commits: one that was asked for earlier
  /// than the one before it counts from then on, since it is found only behind that.
  void Submit(uint64_t position, uint64_t fingerprint);
  /// From `position` on it must not hold anything older than the newest submission.
  void Acknowledge(uint64_t position) { Acknowledge(position, steps_.size()); }
  /// From `position` on it must not hold anything older than submission number `steps` (from 1).
  /// REQUIRES: positions do not fall from call to call.
  void Acknowledge(uint64_t position, size_t steps);
  /// The newest submission was refused and will never be found.
  void Withdraw();

  /// Whether a store that lost its power at `position` may hold `fingerprint`.
  bool Accepts(uint64_t position, uint64_t fingerprint) const;
  /// Whether there must be a store at all.
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
    size_t steps = 0;  // so many are promised
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
  /// What exactly the run of a seed is of.
  virtual std::string Describe(uint64_t /*seed*/) const { return name(); }
  virtual uint32_t disks() const = 0;
  virtual bool is_simulated() const = 0;
  /// Whether its runs want a busy machine (see CrashMachine).
  virtual bool is_busy() const { return false; }
  /// Whether a crash while the store is created leaves it, or nothing. False: it gets its name only
  /// when it is complete, as databases do in the file system; such states are not tried.
  virtual bool creation_survives_crashes() const { return true; }
  /// Creates the store on empty disks and runs the workload of `seed`, telling the oracle (first of
  /// all of the creation). An error is a finding.
  virtual absl::Status Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) = 0;
  /// Opens what a crash left, lets it recover and check itself, reads all of it and closes it
  /// again. The fingerprint, or why that cannot be.
  virtual absl::StatusOr<uint64_t> Recover(uint64_t seed, CrashMachine& machine) = 0;
};

}  // namespace latchkey
