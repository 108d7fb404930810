// kill -9, again and again, on databases in real files: real threads, libaio, O_DIRECT
// (RELIABILITY.md 3.3). The parent process keeps the numbers of submitted and acknowledged
// transactions in memory that outlives a child. Each child opens the store on which the last child
// was killed, compares all of it, and works until it is killed: after a random time, or at a named
// system call.
//
// No check depends on time: a child that did no work is no failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "storage/base/rng.h"
#include "storage/runtime/runtime.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/kill_points.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {

/// The options that all campaigns of kills on stores have.
struct KillRunOptions {
  std::string directory;  ///< directory of the stores; there is one at a time
  uint64_t seed = 42;
  uint64_t kills = 200;
  uint32_t kills_per_store = 10;              ///< then the store is closed, and another one made
  uint32_t threads = 4;                       ///< 1 to KillNotes::kMostThreads
  uint64_t min_run_ms = 2, max_run_ms = 300;  ///< of a child's work before it is killed
  std::vector<std::string> layouts = LayoutItems();
};

/// Their flags, and `--db`: where to make the directory.
void AddKillFlags(CampaignFlags& command, KillRunOptions& options, std::string& parent);

struct KillCampaignOptions : KillRunOptions {
  /// Every child that reaches this point while it works is killed there.
  std::optional<KillPoint> kill_at{};
};

struct KillReport {
  uint64_t kills = 0;
  uint64_t in_open = 0;    ///< before the store was open and compared
  uint64_t at_points = 0;  ///< by the child itself, at a named call
  uint64_t stores = 0;
  uint64_t compared = 0;         ///< stores opened and compared as a whole
  uint64_t acknowledged = 0;     ///< transactions
  uint64_t in_flight = 0;        ///< submitted, not acknowledged when the kill came ...
  uint64_t in_flight_found = 0;  ///< ... and there afterwards
  std::string wrong;             ///< the first mistake, with the flags that repeat it; empty: none
};

/// Options that a store of `layout` keeps for life.
Options KillStoreOptions(Rng& rng, const std::string& layout);
/// Changes the options that may differ from open to open.
void ChangeKillOptions(Rng& rng, Options* options);
std::string DescribeKillOptions(const Options& options);

/// REQUIRES: this process has no other thread. Stops at the first mistake and keeps its store.
KillReport RunKills(Runtime& runtime, const KillCampaignOptions& options);

/// The campaign `kills`.
int RunKillCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
