// The emulator of the buffer-pool papers (BP-Wrapper IV.D, Nb-GCLOCK IV): threads fix pages of the
// real pool, without a tree above it or a device below it, and work a little between two fixes.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/runtime/runtime.h"
#include "tools/contention/access_pattern.h"
#include "tools/contention/measured_actors.h"

namespace latchkey {

struct PoolEmulatorConfig {
  ReplacementChoice replacement;
  SynchronizationChoice synchronization;
  AccessPatternChoice accesses;
  const PageTrace* trace = nullptr;  ///< for the pattern `trace`
  uint64_t pages = 1;
  uint32_t frames = 16;
  bool pins = false;  ///< a fix takes the page's shared latch, as in the papers; else optimistic
  Nanos work = 0;     ///< processor time between two fixes of a thread
  uint64_t seed = 42;
  MeasuredTimes times = {};
};

/// Of the measured time.
struct PoolEmulatorResult {
  MeasuredInterval interval;
  uint64_t hits = 0, misses = 0;
  uint64_t locks = 0;        ///< of the fix policy
  uint64_t contentions = 0;  ///< lock requests that gave up their processor
};

/// InvalidArgument: the policy is impossible, or the pool is too small for it or for the threads.
absl::Status CheckPoolEmulator(const PoolEmulatorConfig& config);

/// Errors as CheckPoolEmulator.
absl::StatusOr<PoolEmulatorResult> RunPoolEmulator(Runtime& runtime,
                                                   const PoolEmulatorConfig& config);

}  // namespace latchkey
