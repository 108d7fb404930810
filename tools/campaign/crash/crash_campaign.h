// The crash campaign runs a workload once on recorded disks. For every position and crash variant
// it then makes the disks, recovers the store and asks the oracle. It also crashes the recoveries
// (RELIABILITY.md 3.0, 3.1).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/device/faulty/crash_replay.h"
#include "tools/campaign/shared/crash_subject.h"

namespace latchkey {

struct CrashCampaignOptions {
  uint64_t first_seed = 1;
  uint64_t seeds = 1;
  /// Crash states per seed, without those of recoveries; 0: all. A smaller number is a seeded
  /// choice.
  uint64_t max_states = 0;
  CrashChoiceOptions choices{};
  uint32_t recovery_every = 4;   ///< the recovery of every n-th state is crashed too; 0: none
  uint32_t recovery_states = 2;  ///< crash states tried in each such recovery
  uint32_t max_failures = 1;     ///< stops after this many
  /// Tries only this position and only this choice, to repeat one failure.
  std::optional<uint64_t> only_position{};
  std::optional<CrashChoice> only_choice{};
};

struct CrashFailure {
  uint64_t seed = 0, position = 0;
  CrashChoice choice;
  std::optional<uint64_t> recovery_position;  ///< the position of a crash inside the recovery
  CrashChoice recovery_choice;
  uint64_t states_before = 0;  ///< states tried before, in the whole campaign
  std::string what;

  /// Describes the failure, with the flags that repeat it.
  std::string Describe() const;
};

struct CrashReport {
  uint64_t runs = 0, transactions = 0, events = 0;
  uint64_t boundaries = 0;       ///< positions at which states were tried
  uint64_t states = 0;           ///< recovered and compared, those inside recoveries included
  uint64_t recovery_states = 0;  ///< of them, those crashed inside a recovery
  uint64_t history_hash = 0;     ///< of the events of all runs: same seeds, same hash
  std::vector<CrashFailure> failures;
};

/// Deterministic if the subject is.
CrashReport RunCrashCampaign(CrashSubject& subject, const CrashCampaignOptions& options);

}  // namespace latchkey
