// The calls campaign: random public calls on small databases. One seed draws each life: sizes at
// every border, many callers on few keys, small caches, disks that are full or fail.
//
// A mistake is a broken invariant (the process ends and names the seed), a life that exceeds its
// bound of hand-overs, a status that latchkey.h does not document, or contents that no order of the
// calls explains. See README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/campaign/calls/call_life.h"

namespace latchkey {

struct CallsOptions {
  uint64_t first_seed = 1, seeds = 1;
  uint32_t calls = 100;  ///< of each caller
  bool threads = false;  ///< on threads: a seed does not repeat the schedule
};

CallCounts CheckCalls(const CallsOptions& options);

/// The verb: `latchkey_campaign calls`.
int RunCallsCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
