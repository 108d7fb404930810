// The emulator of the buffer-pool papers (BP-Wrapper IV.D, Nb-GCLOCK IV): threads fix pages of the
// real pool, without a tree above it or a device below it, and work a little between two fixes.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

#include "bufferpool/fix_choices.h"
#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/runtime/runtime.h"
#include "tools/contention/access_pattern.h"
#include "tools/contention/measured_actors.h"
#include "tools/contention/model_costs.h"

namespace latchkey {

struct PoolEmulatorConfig {
  ReplacementChoice replacement;
  SynchronizationChoice synchronization;
  AccessPatternChoice accesses;
  const PageTrace* trace = nullptr;  ///< for the pattern `trace`
  uint64_t pages = 1;
  uint32_t frames = 16;  ///< memory of the pool; private frames are part of it
  bool latches = false;  ///< a fix takes the page's shared latch, as in the papers; else optimistic
  PageIn page_in = PageIn::kBlocking;
  Nanos work = 0;     ///< processor time between two fixes of a thread
  uint64_t seed = 42;
  MeasuredTimes times = {};
  /// For a simulated runtime: what the accesses cost. The pool is filled before the warm-up. nullptr:
  /// the accesses take the time that they take.
  const ModelCosts* costs = nullptr;
};

/// Of the measured time.
struct PoolEmulatorResult {
  MeasuredInterval interval;
  uint64_t hits = 0, misses = 0;
  uint64_t failed_page_ins = 0;  ///< pages read in vain; not part of the misses
  uint64_t locks = 0;        ///< of the fix policy
  uint64_t contentions = 0;  ///< lock requests that gave up their processor
  Nanos filled_at = 0;       ///< with costs: real time at which the pool was full
};

/// InvalidArgument: the policy is impossible, the pool is too small for it or for the threads, or
/// there are no costs for the algorithm.
absl::Status CheckPoolEmulator(const PoolEmulatorConfig& config);

/// Errors as CheckPoolEmulator.
absl::StatusOr<PoolEmulatorResult> RunPoolEmulator(Runtime& runtime,
                                                   const PoolEmulatorConfig& config);

}  // namespace latchkey
