// The fault campaign: for k = 1, 2, ... until nothing fails any more, the k-th call fails, once or
// from then on, in each phase of a small database's life (RELIABILITY.md 2 and 3.2).
//
// A phase begins with disks that are made once: empty, closed, or crashed. A source counts calls
// and fails the one that is asked for. The database goes on, whatever it has answered; then the
// source stops, and it must go on as if nothing had been, or be read-only for good. Judged is
//  1. that answers are documented ones and, where the database is read-only, name the remedy;
//  2. that no commit, checkpoint or clean close is acknowledged, and no superblock written, once a
//     sync, a write of the log, or a page's write for good has failed;
//  3. that one write of the data file that fails is tried again, and nothing is refused for it;
//  4. that what is read while it is still open is right;
//  5. that no latch and no frame is left over;
//  6. that a call that fails for want of memory has had no effect, and may be made again;
//  7. that the next open of what is on the disks then, and of what is there after a power loss,
//     recovers every acknowledged commit, and those of unknown outcome whole or not at all. With
//     group durability some of the newest may be missing, and without a log a database that was not
//     closed is refused. Every page has one owner then.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/campaign/fault_life.h"
#include "tools/campaign/fault_source.h"

namespace latchkey {

struct FaultCampaignOptions {
  std::vector<std::string> layouts;
  std::vector<Durability> durabilities = {Durability::kCommit};
  std::vector<FaultPhase> phases;
  std::vector<std::unique_ptr<FaultSource>> sources;
  uint64_t first_seed = 1;
  uint64_t seeds = 1;
  /// Calls that fail of one layout, durability, phase and source, once and from then on each; 0:
  /// all. Fewer are spread over them by the seed.
  uint64_t max_calls = 0;
  uint32_t max_failures = 10;  ///< stops behind so many
  /// Only this call, and only in this way: to look at one failure again.
  std::optional<uint64_t> only_call{};
  std::optional<bool> only_from_then_on{};
};

struct FaultFailure {
  FaultSetting setting;
  std::string source;
  FaultPhase phase = FaultPhase::kCreate;
  FaultPoint point;
  std::string what;

  /// With the flags that repeat it.
  std::string Describe() const;
};

struct FaultReport {
  uint64_t runs = 0;       ///< lives in which something has failed
  uint64_t injected = 0;   ///< calls that failed in them
  uint64_t commits = 0;    ///< acknowledged in them
  uint64_t refused = 0;    ///< operations that answered an error
  uint64_t read_only = 0;  ///< lives that ended read-only
  uint64_t sync_failed = 0, written_again = 0, read_back = 0;
  uint64_t reopens = 0;  ///< opened again and compared, after power losses too
  uint64_t power_losses = 0;
  uint64_t hash = 0;                        ///< of what all lives came to: same options, same hash
  std::map<std::string, uint64_t> runs_of;  ///< by "phase"
  std::vector<FaultFailure> failures;
};

/// "commit", "group" or "none".
const char* FaultDurabilityName(Durability durability);

FaultReport RunFaultCampaign(const FaultCampaignOptions& options);

/// The verb.
int RunFaultCommand(const std::vector<std::string>& arguments);

}  // namespace latchkey
