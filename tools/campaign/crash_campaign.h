// The crash campaign: runs a workload once on recorded disks, then for every position and crash
// variant makes the disks, recovers and asks the oracle; and crashes again inside recoveries
// (RELIABILITY.md 3.0, 3.1).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/device/faulty/crash_replay.h"
#include "tools/campaign/crash_subject.h"

namespace latchkey {

struct CrashCampaignOptions {
  uint64_t first_seed = 1;
  uint64_t seeds = 1;
  /// Crash states of one seed, recoveries apart; 0: all. Fewer are a seeded choice of all.
  uint64_t max_states = 0;
  CrashChoiceOptions choices{};
  uint32_t recovery_every = 4;   ///< the recovery of every n-th state is crashed too; 0: none
  uint32_t recovery_states = 2;  ///< in so many states
  uint32_t max_failures = 1;     ///< stops behind so many
  /// Only this position, and there only this choice: to look at one failure again.
  std::optional<uint64_t> only_position{};
  std::optional<CrashChoice> only_choice{};
};

struct CrashFailure {
  uint64_t seed = 0, position = 0;
  CrashChoice choice;
  std::optional<uint64_t> recovery_position;  ///< crashed there in the recovery, too
  CrashChoice recovery_choice;
  uint64_t states_before = 0;  ///< tried before, in the whole campaign
  std::string what;

  /// With the flags that repeat it.
  std::string Describe() const;
};

struct CrashReport {
  uint64_t runs = 0, transactions = 0, events = 0;
  uint64_t boundaries = 0;       ///< positions at which states were tried
  uint64_t states = 0;           ///< recovered and compared, with the ones in recoveries
  uint64_t recovery_states = 0;  ///< of them crashed inside a recovery
  uint64_t history_hash = 0;     ///< of the events of all runs: same seeds, same hash
  std::vector<CrashFailure> failures;
};

/// Deterministic if the subject is.
CrashReport RunCrashCampaign(CrashSubject& subject, const CrashCampaignOptions& options);

}  // namespace latchkey
