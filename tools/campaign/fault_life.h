// One life of a small database that meets faults: what it does in each phase, and what it answers.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/faulty/disk_image.h"
#include "tools/campaign/crash_database.h"
#include "tools/campaign/fault_records.h"
#include "tools/campaign/fault_source.h"

namespace latchkey {

/// What the database does while calls fail.
enum class FaultPhase : uint8_t {
  kCreate,      ///< a new database and its first commits
  kOpen,        ///< one that was closed, and everything read
  kPut,         ///< changes of all kinds with a cache that is too small for them
  kSplit,       ///< pages split, and merge again
  kCommit,      ///< many small commits
  kCheckpoint,  ///< checkpoints between commits
  kCleaning,    ///< overwriting at high space utilisation: page and segment cleaners
  kDrop,        ///< trees are dropped and made again
  kUsers,       ///< several at once, each with a tree of its own
  kRecovery,    ///< open after a crash, and a commit
  kClose,       ///< close with everything still to be written
};
std::span<const FaultPhase> AllFaultPhases();
const char* FaultPhaseName(FaultPhase phase);

/// Of which database the lives are.
struct FaultSetting {
  std::string layout;
  Durability durability = Durability::kCommit;
  uint64_t seed = 1;
};
DatabaseSubject FaultSubject(const FaultSetting& setting);

/// What a life begins with.
struct FaultBeginning {
  std::vector<DiskImage> images;
  FaultRecords records;  ///< acknowledged
};

/// The beginnings of all lives of one setting. Without a log there is none that has crashed.
struct FaultBeginnings {
  FaultBeginning empty, closed, crashed;

  const FaultBeginning& Of(FaultPhase phase) const;
};
absl::StatusOr<FaultBeginnings> MakeFaultBeginnings(const FaultSetting& setting);

/// What a life came to. `mistakes` is empty when everything was as it should be.
struct FaultOutcome {
  std::vector<std::string> mistakes;
  uint64_t calls = 0, injected = 0;
  uint64_t commits = 0, refused = 0;  ///< commits acknowledged; operations that answered an error
  bool created = false;               ///< there is a database that must open again
  bool closed = false;                ///< it was closed in order
  bool read_only = false;             ///< in the end
  bool sync_failed = false;           ///< of any disk
  bool written_again = false;         ///< one write of the data file failed, and nothing else
  bool read_back = false;             ///< everything was read while it was still open
};

/// Runs `phase` on the machine's disks while calls of `source` fail as `point` says, then without
/// faults what must be possible or refused then, and closes. `oracle` learns what was acknowledged.
/// REQUIRES: in the machine's time.
FaultOutcome RunFaultLife(const FaultSetting& setting, FaultPhase phase, FaultSource& source,
                          const FaultPoint& point, CrashMachine& machine, FaultOracle& oracle);

/// Opens what a life has left, lets it recover and check itself, and reads all of it.
absl::StatusOr<FaultRecords> ReopenAfterFaults(const FaultSetting& setting, CrashMachine& machine);

}  // namespace latchkey
