// A database with several users as the subject of a crash campaign, in simulated time. Equal seeds
// give equal events.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "tools/campaign/crash/crash_tally.h"
#include "tools/campaign/shared/crash_subject.h"

namespace latchkey {

class DatabaseImpl;

struct BusyDatabaseOptions {
  std::string layout = "overwrite";
  std::string segment_cleaning = "auto";
  std::string replacement = "clock";
  std::string synchronization = "global";
  std::string cleaner = "self-tuning";
  Durability durability = Durability::kCommit;  ///< kCommit or kGroup
  TornWriteProtection torn_write_protection = TornWriteProtection::kDoublewrite;
  uint32_t page_size = 4096;
  double space_utilization = 0.8;
  uint32_t cleaners = 1;
  uint32_t users = 3;
  bool change_buffer = false;  ///< if the other options allow one
  bool flash = false;          ///< the data is on ForgetfulFlash: what was discarded reads as zeros
  uint32_t transactions = 60;  ///< of all users together
};

/// One database under CrashWorkload. All its sizes are small: within a few dozen transactions each
/// file grows, each ring wraps and each cleaner works. A WriteOrderMonitor watches every run and
/// every recovery.
class BusyDatabase final : public CrashSubject {
 public:
  explicit BusyDatabase(BusyDatabaseOptions options) : options_(std::move(options)) {}

  std::string name() const override;
  uint32_t disks() const override { return 3; }
  bool is_simulated() const override { return true; }
  bool is_busy() const override { return true; }
  bool creation_survives_crashes() const override { return false; }
  absl::Status Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) override;
  absl::StatusOr<uint64_t> Recover(uint64_t seed, CrashMachine& machine) override;

  /// Sum over all runs and recoveries so far.
  const CrashTally& tally() const { return tally_; }

 private:
  absl::StatusOr<std::unique_ptr<DatabaseImpl>> Open(uint64_t seed, CrashMachine& machine,
                                                     bool create, bool read_only = false);
  /// Recovers for reading alone, and proves that the disks stay as they are.
  absl::StatusOr<uint64_t> RecoverReadOnly(uint64_t seed, CrashMachine& machine);

  const BusyDatabaseOptions options_;
  CrashTally tally_;
};

/// Shrinks the cache to about the fewest frames that work, so that pages are evicted often.
absl::Status ShrinkCache(DatabaseImpl& db);

/// The values of each option. Each seed runs one combination; with many seeds every value meets
/// every other value.
struct BusyDatabaseChoices {
  std::vector<std::string> segment_cleanings, replacements, synchronizations;
  std::vector<Durability> durabilities;
  std::vector<uint32_t> page_sizes;
  std::vector<double> space_utilizations;
  std::vector<uint32_t> cleaners, users;
  std::vector<TornWriteProtection> protections;
  std::vector<uint32_t> change_buffers;  ///< 0 = none
  std::vector<uint32_t> flashes;         ///< 0 = a disk that keeps what was discarded

  /// The default values of a campaign.
  static BusyDatabaseChoices All();
  /// The combination of a seed. Options that are not listed here are those of `base`.
  BusyDatabaseOptions Of(uint64_t seed, BusyDatabaseOptions base) const;
};

/// A database of one layout. Each seed runs another combination of options.
class VariedBusyDatabase final : public CrashSubject {
 public:
  VariedBusyDatabase(BusyDatabaseChoices choices, BusyDatabaseOptions base)
      : choices_(std::move(choices)), base_(std::move(base)) {}

  std::string name() const override { return base_.layout; }
  uint32_t disks() const override { return 3; }
  bool is_simulated() const override { return true; }
  bool is_busy() const override { return true; }
  bool creation_survives_crashes() const override { return false; }
  absl::Status Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) override;
  absl::StatusOr<uint64_t> Recover(uint64_t seed, CrashMachine& machine) override;

  std::string Describe(uint64_t seed) const override {
    return BusyDatabase(choices_.Of(seed, base_)).name();
  }
  CrashTally tally() const;

 private:
  BusyDatabase& Current(uint64_t seed);

  const BusyDatabaseChoices choices_;
  const BusyDatabaseOptions base_;
  uint64_t seed_ = 0;
  std::unique_ptr<BusyDatabase> current_;  // for seed_
  CrashTally before_;                      // sum over the earlier seeds
};

}  // namespace latchkey
