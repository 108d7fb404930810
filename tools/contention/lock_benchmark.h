// The micro-benchmark of a lock: what a batch of accesses under one lock costs (BP-Wrapper, Figure
// 4), by the number of threads and locks and by the share of the time that is spent under a lock.
#pragma once

#include <cstdint>

#include "bufferpool/synchronization/scheme_lock.h"
#include "storage/runtime/runtime.h"
#include "tools/contention/measured_actors.h"

namespace latchkey {

struct LockBenchmarkConfig {
  LockKind lock = LockKind::kSleep;
  uint32_t locks = 1;  ///< each request is for one of them, drawn at random
  uint32_t batch = 1;  ///< accesses under one request
  Nanos hold = 0;      ///< processor time of an access under the lock
  Nanos work = 0;      ///< processor time of an access outside
  uint64_t seed = 42;
  MeasuredTimes times;
};

/// Of the measured time.
struct LockBenchmarkResult {
  MeasuredInterval interval;
  uint64_t accesses = 0;
  uint64_t requests = 0;
  uint64_t contentions = 0;  ///< requests that gave up their processor
  double wait_ns = 0;        ///< of a request: mean time until it had the lock
  double held_ns = 0;        ///< of a request: mean time under the lock
};

LockBenchmarkResult RunLockBenchmark(Runtime& runtime, const LockBenchmarkConfig& config);

}  // namespace latchkey
