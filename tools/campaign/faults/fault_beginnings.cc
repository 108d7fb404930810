// The initial disks of lives, and the check of the disks after a life.
#include <fmt/format.h>

#include <array>

#include "engine/log/engine_log.h"
#include "engine/transaction_impl.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/faults/fault_life.h"
#include "tools/campaign/faults/fault_steps.h"

namespace latchkey {
namespace {

constexpr std::array kPhases = {FaultPhase::kCreate,   FaultPhase::kOpen,   FaultPhase::kPut,
                                FaultPhase::kSplit,    FaultPhase::kCommit, FaultPhase::kCheckpoint,
                                FaultPhase::kCleaning, FaultPhase::kDrop,   FaultPhase::kUsers,
                                FaultPhase::kRecovery, FaultPhase::kClose};

// Applies seeded transactions. The last one stays unfinished if asked for.
absl::Status Fill(DatabaseImpl& db, Rng& rng, int transactions, FaultOracle& oracle) {
  for (int i = 0; i < transactions; ++i) {
    const std::vector<FaultStep> steps = SomeFaultSteps(rng);
    const std::unique_ptr<TransactionImpl> txn = db.Begin();
    for (const FaultStep& step : steps) {
      LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, db.OpenTree(step.tree, /*create=*/true));
      const absl::Status done = step.kind == FaultStep::Kind::kPut
                                    ? txn->Put(*tree, step.key, step.value)
                                    : txn->Delete(*tree, step.key);
      if (!done.ok() && !absl::IsNotFound(done)) return done;
    }
    LATCHKEY_RETURN_IF_ERROR(txn->Commit());
    oracle.Commit(steps);
    if (i % 20 == 19) LATCHKEY_RETURN_IF_ERROR(db.Checkpoint());
  }
  return absl::OkStatus();
}

std::vector<DiskImage> Contents(const CrashRecorder& disks) {
  std::vector<DiskImage> images;
  for (uint32_t disk = 0; disk < disks.disks(); ++disk) images.push_back(disks.content(disk));
  return images;
}

absl::Status MakeClosed(const FaultSetting& setting, FaultBeginning* made) {
  CrashMachine machine(std::vector<DiskImage>(3), setting.seed, /*record=*/false,
                       /*simulated=*/true);
  FaultOracle oracle({});
  const absl::Status ran = machine.RunInside([&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                              FaultSubject(setting).Open(setting.seed, machine, /*create=*/true));
    Rng rng(setting.seed);
    LATCHKEY_RETURN_IF_ERROR(Fill(*db, rng, 60, oracle));
    return db->Close();
  });
  *made = {Contents(*machine.disks), oracle.newest()};
  return ran;
}

// Commits since the last checkpoint, and a transaction that never ends.
absl::Status MakeCrashed(const FaultSetting& setting, const FaultBeginning& closed,
                         FaultBeginning* made) {
  CrashMachine machine(closed.images, setting.seed, /*record=*/false, /*simulated=*/true);
  FaultOracle oracle(closed.records);
  const absl::Status ran = machine.RunInside([&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                              FaultSubject(setting).Open(setting.seed, machine, /*create=*/false));
    Rng rng(MixHash(setting.seed + 1));
    LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, db->OpenTree(kFaultKept, /*create=*/true));
    const std::unique_ptr<TransactionImpl> unfinished = db->Begin();
    for (int i = 0; i < 4; ++i) {
      LATCHKEY_RETURN_IF_ERROR(
          unfinished->Put(*tree, fmt::format("unfinished{}", i), SomeFaultValue(rng, 8, 900)));
    }
    LATCHKEY_RETURN_IF_ERROR(Fill(*db, rng, 30, oracle));
    LATCHKEY_RETURN_IF_ERROR(db->engine_log()->FlushAll());
    *made = {Contents(*machine.disks), oracle.newest()};
    machine.disks->PowerOff();
    return absl::OkStatus();
  });
  return ran;
}

}  // namespace

DatabaseSubject FaultSubject(const FaultSetting& setting) {
  return DatabaseSubject(
      {.layout = setting.layout, .durability = setting.durability, .space_utilization = 0.95});
}

std::span<const FaultPhase> AllFaultPhases() { return kPhases; }

const char* FaultPhaseName(FaultPhase phase) {
  switch (phase) {
    case FaultPhase::kCreate:
      return "create";
    case FaultPhase::kOpen:
      return "open";
    case FaultPhase::kPut:
      return "put";
    case FaultPhase::kSplit:
      return "split";
    case FaultPhase::kCommit:
      return "commit";
    case FaultPhase::kCheckpoint:
      return "checkpoint";
    case FaultPhase::kCleaning:
      return "cleaning";
    case FaultPhase::kDrop:
      return "drop";
    case FaultPhase::kUsers:
      return "users";
    case FaultPhase::kRecovery:
      return "recovery";
    case FaultPhase::kClose:
      return "close";
  }
  return "unknown";
}

const FaultBeginning& FaultBeginnings::Of(FaultPhase phase) const {
  if (phase == FaultPhase::kCreate) return empty;
  return phase == FaultPhase::kRecovery ? crashed : closed;
}

absl::StatusOr<FaultBeginnings> MakeFaultBeginnings(const FaultSetting& setting) {
  FaultBeginnings all;
  all.empty.images.resize(3);
  LATCHKEY_RETURN_IF_ERROR(MakeClosed(setting, &all.closed));
  if (setting.durability == Durability::kNone) return all;
  LATCHKEY_RETURN_IF_ERROR(MakeCrashed(setting, all.closed, &all.crashed));
  return all;
}

absl::StatusOr<FaultRecords> ReopenAfterFaults(const FaultSetting& setting, CrashMachine& machine) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            FaultSubject(setting).Open(setting.seed, machine, /*create=*/false));
  LATCHKEY_RETURN_IF_ERROR(db->Verify());
  absl::StatusOr<FaultRecords> records = ReadRecords(*db);
  LATCHKEY_RETURN_IF_ERROR(db->Close());
  return records;
}

}  // namespace latchkey
