// A database with one user as the subject of a crash campaign, in simulated time. Equal seeds give
// equal events.
#pragma once

#include <memory>
#include <string>

#include "engine/latchkey.h"
#include "tools/campaign/shared/crash_subject.h"

namespace latchkey {

class DatabaseImpl;

struct CrashDatabaseOptions {
  std::string layout = "overwrite";
  std::string replacement = "clock";
  Durability durability = Durability::kCommit;  ///< not kNone for crashes
  uint32_t page_size = 4096;
  double space_utilization = 0.8;
  uint32_t cleaners = 1;
  uint32_t transactions = 60;
  uint64_t database_id = 0;  ///< 0: the id that all subjects share
};

/// One user runs one transaction after another. A second transaction stays open for a while and is
/// often rolled back. Besides: checkpoints, trees made and dropped, page and segment cleaners.
class DatabaseSubject final : public CrashSubject {
 public:
  explicit DatabaseSubject(CrashDatabaseOptions options) : options_(std::move(options)) {}

  std::string name() const override;
  uint32_t disks() const override { return 3; }
  bool is_simulated() const override { return true; }
  bool creation_survives_crashes() const override { return false; }
  absl::Status Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) override;
  absl::StatusOr<uint64_t> Recover(uint64_t seed, CrashMachine& machine) override;

  /// Opens the database on the machine's disks.
  absl::StatusOr<std::unique_ptr<DatabaseImpl>> Open(uint64_t seed, CrashMachine& machine,
                                                     bool create) const;
  /// Fingerprint of all records, as the oracle computes it.
  static absl::StatusOr<uint64_t> FingerprintOf(DatabaseImpl& db);

 private:
  const CrashDatabaseOptions options_;
};

}  // namespace latchkey
