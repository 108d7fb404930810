// Power losses on databases in real files. The campaign records every system call that changes a
// file, a name or what is durable. From the record it builds the states that a power loss may
// leave, opens them and compares them with the acknowledged commits.
//
// A store has several lives: a process opens it, compares all of it, and works on two threads until
// it is killed or has ended its work; the last process closes it. So the power also fails while a
// process recovers files that a killed process has written but not synced. The schedule depends on
// the machine, so a seed does not repeat an image; the campaign keeps the files of a failing image
// instead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {

struct PowerFilesOptions {
  std::string directory;  ///< directory of the stores and images; there is one of each at a time
  std::vector<std::string> layouts = LayoutItems();
  uint64_t first_seed = 1, seeds = 2;  ///< one store for each layout and seed
  uint32_t lives = 4;                  ///< of a store
  uint64_t states = 100;               ///< images of a store, those inside recoveries not counted
  uint32_t recovery_every = 5;         ///< of so many images one is crashed again while it recovers
  uint32_t recovery_states = 3;        ///< so often, and where names change
};

struct PowerFilesReport {
  uint64_t stores = 0, lives = 0;
  uint64_t writes = 0, sizes = 0, syncs = 0;  ///< calls recorded
  uint64_t names = 0, directory_syncs = 0;
  uint64_t states = 0;           ///< images of stores at work
  uint64_t with_names = 0;       ///< of them, those in which a name waited for a sync
  uint64_t without_store = 0;    ///< of them, those in which no store had to be there
  uint64_t recovery_states = 0;  ///< images of stores that were recovering from another image
  uint64_t acknowledged = 0;     ///< transactions
  std::string wrong{};           ///< the first mistake, with the place of its files; empty: none
};

/// REQUIRES: this process has no other thread. Stops at the first mistake.
PowerFilesReport RunPowerFiles(Runtime& runtime, const PowerFilesOptions& options);

/// The campaign `power-files`.
int RunPowerFilesCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
