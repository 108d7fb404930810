// The workload of crash runs. Several users at once: their transactions conflict, abort, roll back
// to savepoints and commit in groups. Now and then one user puts alone, so that its puts may wait
// in a change buffer. Besides: checkpoints, trees dropped and made again, page and segment cleaners.
// In simulated time equal seeds give equal events.
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
#include "tools/campaign/crash/alone_gate.h"
#include "tools/campaign/shared/crash_subject.h"

namespace latchkey {

struct CrashWorkloadOptions {
  uint32_t users = 3;          ///< 1 to kMostUsers
  uint32_t transactions = 60;  ///< of all users together
  /// Time after its commit during which a transaction may still be lost; 0: none, nullopt: for
  /// ever.
  std::optional<Nanos> promise = 0;
};

/// One run of the workload. Used by the actor that has opened the database.
class CrashWorkload {
 public:
  static constexpr uint32_t kMostUsers = 6;

  CrashWorkload(DatabaseImpl& db, CrashMachine& machine, const CrashWorkloadOptions& options,
                uint64_t seed);

  /// Returns when all users have ended: the first error that a user does not expect, or OK.
  absl::Status Run();
  /// Tells the oracle of the commits in their order. REQUIRES: Run was OK.
  void Tell(CommitOracle& oracle) const;

  uint64_t aborts() const { return aborts_; }
  /// Bulk loads that were finished.
  uint64_t loads() const { return loads_; }
  /// Values that were written in parts.
  uint64_t values_in_parts() const { return values_in_parts_; }
  uint64_t savepoint_rollbacks() const { return savepoint_rollbacks_; }

  /// Fingerprint of all contents that a run of this workload may leave; 0: empty.
  static absl::StatusOr<uint64_t> FingerprintOf(DatabaseImpl& db);

 private:
  static constexpr uint64_t kNever = UINT64_MAX;
  /// Change of one record, or of a whole tree, by one transaction.
  struct Step {
    enum class Kind : uint8_t { kPut, kDelete, kDrop, kDeleteRange };
    Kind kind = Kind::kPut;
    uint32_t tree = 0;
    std::string key, value;  ///< kDeleteRange: from, to
  };
  /// A commit, a single put, or a drop, load or rename of a tree. Positions are event numbers of
  /// the disks.
  struct Done {
    CommitTs place = 0;  ///< in the order of commits; is_between: of the commit before it
    bool is_between = false;
    uint64_t submitted_at = 0;
    uint64_t promised_at = kNever;
    Nanos due = 0;  ///< when the promise begins to hold
    std::vector<Step> steps;
  };
  class User;

  bool stopped() const { return !status_.ok(); }
  void Stop(const absl::Status& status);
  /// Sleeps for at most `most`, and then until the quiet time is over.
  void Pause(Rng& rng, Nanos most);
  /// Used where commits are promised with a delay: users and checkpoints start nothing for twice
  /// that time.
  void BeQuiet();
  void RunCheckpoints();
  void RunCompactions();
  void WatchPromises();
  void KeepPromises();
  absl::Status Commit(TransactionImpl& txn, std::vector<Step> steps);
  /// Runs a change of a whole tree, which has its place between two commits.
  absl::Status BetweenCommits(std::vector<Step> steps, absl::FunctionRef<absl::Status()> change);
  absl::Status DropAndMakeAgain(uint32_t tree, Rng& rng);
  absl::Status DeleteRange(uint32_t tree, Rng& rng);
  absl::Status LoadAgain(uint32_t tree, Rng& rng);
  absl::Status MakePutTree();
  /// Makes some single puts. No other user does anything meanwhile: a put waits for its leaf only if
  /// no transaction is open.
  absl::Status PutSome(Rng& rng);
  Done& Submit(bool is_between, std::vector<Step> steps);
  void Promise(Done& done);

  DatabaseImpl& db_;
  CrashMachine& machine_;
  const CrashWorkloadOptions options_;
  const uint64_t seed_;
  std::vector<TreeImpl*> trees_;
  TreeImpl* puts_ = nullptr;  // the tree of single puts
  absl::Status status_;
  uint32_t running_ = 0;  // users
  AloneGate actions_;     // what users do, or PutSome of one of them
  AloneGate commits_;     // a drop has its place between two commits: no user commits during a drop
  Nanos quiet_until_ = 0;
  std::vector<std::unique_ptr<Done>> done_;
  uint64_t aborts_ = 0, savepoint_rollbacks_ = 0, loads_ = 0, values_in_parts_ = 0;
};

}  // namespace latchkey
