// Workloads with an invariant that shows whether transactions were isolated: transfers that keep the
// sum of money, exchanges that keep one ring (the cycle test of FoundationDB), and range deletes of
// blocks that are written whole.
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

/// Transfers between accounts, beside readers that sum up all accounts. Internal: a wrong sum.
absl::Status RunBank(Runtime& runtime, const InvariantRound& round);
/// Each transaction takes three neighbours of a ring and exchanges the inner two, beside readers
/// that walk around the ring. Internal: the ring is broken.
absl::Status RunRing(Runtime& runtime, const InvariantRound& round);
/// Transactions write all keys of a block with one number; range deletes take all keys of a block.
/// Internal: a reader has found a part of a block, or two numbers in it.
absl::Status RunBlocks(Runtime& runtime, const InvariantRound& round);

}  // namespace latchkey
