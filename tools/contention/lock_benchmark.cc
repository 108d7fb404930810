#include "tools/contention/lock_benchmark.h"

#include <memory>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey {
namespace {

struct alignas(128) PaddedLock {
  PaddedLock(Runtime& runtime, LockKind kind) : lock(runtime, kind) {}
  SchemeLock lock;
};

// Of one thread, since it began. The thread alone writes.
struct alignas(128) Counters {
  std::atomic<uint64_t> requests{0}, contentions{0}, wait_ns{0}, held_ns{0};
};

struct Sums {
  uint64_t requests = 0, contentions = 0, wait_ns = 0, held_ns = 0;
};

void Add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

Sums SumOf(const std::vector<Counters>& counters) {
  Sums sums;
  for (const Counters& one : counters) {
    sums.requests += one.requests.load(std::memory_order_relaxed);
    sums.contentions += one.contentions.load(std::memory_order_relaxed);
    sums.wait_ns += one.wait_ns.load(std::memory_order_relaxed);
    sums.held_ns += one.held_ns.load(std::memory_order_relaxed);
  }
  return sums;
}

void Request(Runtime& runtime, SchemeLock& lock, Nanos hold, Counters& counters) {
  const Nanos asked = runtime.Now();
  const bool slept = lock.Lock();
  const Nanos got = runtime.Now();
  Work(runtime, hold);
  const Nanos done = runtime.Now();
  lock.Unlock();
  Add(counters.requests, 1);
  Add(counters.contentions, slept ? 1 : 0);
  Add(counters.wait_ns, got - asked);
  Add(counters.held_ns, done - got);
}

}  // namespace

LockBenchmarkResult RunLockBenchmark(Runtime& runtime, const LockBenchmarkConfig& config) {
  std::vector<std::unique_ptr<PaddedLock>> locks;
  for (uint32_t i = 0; i < config.locks; ++i) {
    locks.push_back(std::make_unique<PaddedLock>(runtime, config.lock));
  }
  std::vector<Counters> counters(config.times.threads);
  const auto body = [&](uint32_t thread, const std::atomic<bool>& running) {
    Rng rng(config.seed + thread);
    while (running.load(std::memory_order_relaxed)) {
      Request(runtime, locks[rng.Below(locks.size())]->lock, config.batch * config.hold,
              counters[thread]);
      Work(runtime, config.batch * config.work);
    }
  };
  Sums before, after;
  LockBenchmarkResult result;
  result.interval = RunMeasured(
      runtime, config.times, body, [&] { before = SumOf(counters); },
      [&] { after = SumOf(counters); });
  result.requests = after.requests - before.requests;
  result.accesses = result.requests * config.batch;
  result.contentions = after.contentions - before.contentions;
  if (result.requests == 0) return result;
  const auto requests = static_cast<double>(result.requests);
  result.wait_ns = static_cast<double>(after.wait_ns - before.wait_ns) / requests;
  result.held_ns = static_cast<double>(after.held_ns - before.held_ns) / requests;
  return result;
}

}  // namespace latchkey
