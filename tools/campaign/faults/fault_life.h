// One life of a small database that meets faults: the work of each phase, and the check of each
// answer.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/faulty/disk_image.h"
#include "tools/campaign/faults/fault_history.h"
#include "tools/campaign/faults/fault_source.h"
#include "tools/campaign/shared/crash_database.h"

namespace latchkey {

/// The work of the database while calls fail.
enum class FaultPhase : uint8_t {
  kCreate,      ///< a new database and its first commits
  kOpen,        ///< open of a closed database, then a read of everything
  kPut,         ///< changes of all kinds with a cache that is too small for them
  kSplit,       ///< pages split, and merge again
  kCommit,      ///< many small commits
  kCheckpoint,  ///< checkpoints between commits
  kCleaning,    ///< overwriting at high space utilisation: page and segment cleaners
  kDrop,        ///< trees are dropped and made again
  kUsers,       ///< several users at once, each with its own tree
  kRecovery,    ///< open after a crash, and a commit
  kClose,       ///< close with all changes still to be written
};
std::span<const FaultPhase> AllFaultPhases();
const char* FaultPhaseName(FaultPhase phase);

/// The database of a series of lives.
struct FaultSetting {
  std::string layout;
  Durability durability = Durability::kCommit;
  uint64_t seed = 1;
};
DatabaseSubject FaultSubject(const FaultSetting& setting);

/// Initial disks and contents of a life.
struct FaultBeginning {
  std::vector<DiskImage> images;
  FaultRecords records;  ///< acknowledged
};

/// Initial states for all phases of one setting. Without a log there is no crashed one.
struct FaultBeginnings {
  FaultBeginning empty, closed, crashed;

  const FaultBeginning& Of(FaultPhase phase) const;
};
absl::StatusOr<FaultBeginnings> MakeFaultBeginnings(const FaultSetting& setting);

/// Result of a life. `mistakes` is empty if the life kept every rule.
struct FaultOutcome {
  std::vector<std::string> mistakes;
  uint64_t calls = 0, injected = 0;
  uint64_t commits = 0, refused = 0;  ///< commits acknowledged; operations that answered an error
  uint64_t calm_until = 0;            ///< position before the first call that met a fault
  uint64_t created_at = 0;            ///< position from which on a database must open again
  uint64_t closed_at = UINT64_MAX;    ///< position from which on it is closed cleanly
  bool created = false;               ///< created_at was reached
  bool opened = false;
  bool read_only = false;             ///< in the end
  bool sync_failed = false;           ///< of any disk
  bool written_again = false;         ///< one write of the data file failed, and no other call
  bool read_back = false;             ///< everything was read before the close
};

/// Runs `phase` on the machine's disks while calls of `source` fail as `point` says. Then runs,
/// without faults, the calls that must now succeed or be refused, and closes. `history` learns the
/// commits. REQUIRES: runs in the machine's time.
FaultOutcome RunFaultLife(const FaultSetting& setting, FaultPhase phase, FaultSource& source,
                          const FaultPoint& point, CrashMachine& machine, FaultHistory& history);

/// Opens the disks after a life, lets the database recover and check itself, and reads all of it.
absl::StatusOr<FaultRecords> ReopenAfterFaults(const FaultSetting& setting, CrashMachine& machine);

}  // namespace latchkey
