// Two workloads whose result says by itself whether transactions were isolated: money that is moved
// and never made, and a ring that stays one ring (the cycle test of FoundationDB).
#pragma once

#include <absl/status/status.h>

#include <cstdint>

#include "engine/latchkey.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct InvariantRound {
  uint64_t seed = 1;
  uint32_t actors = 3;
  uint32_t transactions = 1000;  ///< of all actors together
  Isolation isolation = Isolation::kSnapshot;
};

/// Transfers between accounts beside readers that add all of them up. Internal: a wrong sum.
absl::Status RunBank(Runtime& runtime, const InvariantRound& round);
/// Each transaction takes three neighbours of a ring and exchanges the inner two, beside readers
/// that go around. Internal: the ring has broken.
absl::Status RunRing(Runtime& runtime, const InvariantRound& round);

}  // namespace latchkey
