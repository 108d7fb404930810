// What happens to a database before it crashes: several users at once, whose transactions meet,
// abort, roll back to savepoints and commit together; beside them checkpoints, trees that are
// dropped and made again, page and segment cleaners. In simulated time: equal seeds, equal events.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/database_impl.h"
#include "storage/base/rng.h"
#include "tools/campaign/crash_subject.h"

namespace latchkey {

struct CrashWorkloadOptions {
  uint32_t users = 3;          ///< 1 to kMostUsers
  uint32_t transactions = 60;  ///< of all users together
  /// How long after its commit has returned a transaction may be lost; nullopt: for ever. 0: never.
  std::optional<Nanos> promise = 0;
};

/// One run of the workload; used by the actor that has opened the database.
class CrashWorkload {
 public:
  static constexpr uint32_t kMostUsers = 6;

  CrashWorkload(DatabaseImpl& db, CrashMachine& machine, const CrashWorkloadOptions& options,
                uint64_t seed);

  /// Returns when all users are done: the first error that is not a user's own.
  absl::Status Run();
  /// Tells the commits in their order. REQUIRES: Run was OK.
  void Tell(CommitOracle& oracle) const;

  uint64_t aborts() const { return aborts_; }
  uint64_t savepoint_rollbacks() const { return savepoint_rollbacks_; }

  /// The fingerprint of all that any run of this workload may leave: 0 when empty.
  static absl::StatusOr<uint64_t> FingerprintOf(DatabaseImpl& db);

 private:
  static constexpr uint64_t kNever = UINT64_MAX;
  /// What one transaction did to one record, or to the whole of a tree.
  struct Step {
    enum class Kind : uint8_t { kPut, kDelete, kDrop };
    Kind kind = Kind::kPut;
    uint32_t tree = 0;
    std::string key, value;
  };
  /// A commit or a drop. Positions are those of the disks' events.
  struct Done {
    CommitTs place = 0;  ///< in the order of commits; a drop: of the commit before it
    bool is_drop = false;
    uint64_t submitted_at = 0;
    uint64_t promised_at = kNever;
    Nanos due = 0;  ///< when the promise begins to hold
    std::vector<Step> steps;
  };
  class User;

  bool stopped() const { return !status_.ok(); }
  void Stop(const absl::Status& status);
  void Pause(Rng& rng, Nanos most);
  void RunCheckpoints();
  void WatchPromises();
  void KeepPromises();
  absl::Status Commit(TransactionImpl& txn, std::vector<Step> steps);
  absl::Status DropAndMakeAgain(uint32_t tree);
  Done& Submit(bool is_drop, std::vector<Step> steps);
  void Promise(Done& done);

  DatabaseImpl& db_;
  CrashMachine& machine_;
  const CrashWorkloadOptions options_;
  const uint64_t seed_;
  std::vector<TreeImpl*> trees_;
  absl::Status status_;
  uint32_t running_ = 0;  // users
  // Dropping a tree has its place between two commits: nobody commits meanwhile.
  uint32_t committing_ = 0;
  bool dropping_ = false;
  std::vector<std::unique_ptr<Done>> done_;
  uint64_t aborts_ = 0, savepoint_rollbacks_ = 0;
};

}  // namespace latchkey
