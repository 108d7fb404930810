// The fault campaign: for k = 1, 2, ... until no call fails any more, the k-th call fails, once or
// from then on, in each phase of a small database's life (RELIABILITY.md 2 and 3.2).
//
// A phase begins with disks that are made once: empty, closed, or crashed. A source counts calls
// and fails the chosen one. The life goes on after every answer. Then the source stops, and the
// database must go on as if nothing had failed, or be read-only until it is closed. The campaign
// checks:
//
//  1. Every answer is documented. If the database is read-only, the message names the remedy.
//  2. Once a sync, a write of the log, or a page write after its retries has failed, no commit,
//     checkpoint or clean close is acknowledged, and no superblock is written.
//  3. If one write of the data file fails, the store tries it again and refuses nothing because of
//     it.
//  4. While the database is open, every read returns the right data.
//  5. At the end no latch is held and no frame is fixed.
//  6. A call that fails for want of memory has no effect and can be repeated.
//  7. The next open, both of the disks as they are and after a power loss at an event behind the
//     first fault, recovers every commit acknowledged until then; commits of unknown outcome are
//     whole or absent. With group durability some of the newest commits may be missing. Without a
//     log, a database that was not closed is refused. Every page then has one owner.
//  8. If a place of a disk takes no write any more, rules 1 to 6 hold for the next life on that
//     disk, too. A copy on sound disks then has every acknowledged commit. With LFS and WOLF that
//     life does not end read-only, if the place lies behind the header of the data file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/campaign/faults/fault_life.h"
#include "tools/campaign/faults/fault_source.h"

namespace latchkey {

struct FaultCampaignOptions {
  std::vector<std::string> layouts;
  std::vector<Durability> durabilities = {Durability::kCommit};
  std::vector<FaultPhase> phases;
  std::vector<std::unique_ptr<FaultSource>> sources;
  uint64_t first_seed = 1;
  uint64_t seeds = 1;
  /// Failing calls tried for each layout, durability, phase, source and way (once, from then on);
  /// 0: all. A smaller number is spread over all calls by the seed.
  uint64_t max_calls = 0;
  /// Power losses tried in each life behind its first fault. One more is tried at its end.
  uint32_t power_losses = 1;
  uint32_t max_failures = 10;  ///< stops after this many
  /// Fails only this call, and only in this way, to repeat one failure.
  std::optional<uint64_t> only_call{};
  std::optional<bool> only_from_then_on{};
};

struct FaultFailure {
  FaultSetting setting;
  std::string source;
  FaultPhase phase = FaultPhase::kCreate;
  FaultPoint point;
  std::string what;

  /// Describes the failure, with the flags that repeat it.
  std::string Describe() const;
};

struct FaultReport {
  uint64_t runs = 0;       ///< lives in which a call has failed
  uint64_t injected = 0;   ///< calls that failed in them
  uint64_t commits = 0;    ///< commits acknowledged in them
  uint64_t refused = 0;    ///< operations that answered an error
  uint64_t read_only = 0;  ///< lives that ended read-only
  uint64_t sync_failed = 0, written_again = 0, read_back = 0;
  uint64_t reopens = 0;  ///< opened again and compared, after power losses too
  uint64_t power_losses = 0;                ///< at the end of a life
  uint64_t power_losses_in_life = 0;        ///< behind its first fault
  uint64_t lived_on = 0;                    ///< lives whose bad place stayed bad in another life
  uint64_t writable = 0;                    ///< of these, other lives that did not end read-only
  uint64_t hash = 0;                        ///< of what all lives came to: same options, same hash
  std::map<std::string, uint64_t> runs_of;  ///< by "phase"
  std::vector<FaultFailure> failures;
};

/// "commit", "group" or "none".
const char* FaultDurabilityName(Durability durability);

FaultReport RunFaultCampaign(const FaultCampaignOptions& options);

/// The campaign `faults`.
int RunFaultCommand(const std::vector<std::string>& arguments);

}  // namespace latchkey
