#include "tools/contention/pool_emulator.h"

#include <algorithm>
#include <memory>

#include "bufferpool/buffer_pool.h"
#include "storage/base/status_macros.h"
#include "tools/contention/zero_page_store.h"

namespace latchkey {
namespace {

constexpr uint32_t kPageSize = 4096;
constexpr int kFixesBetweenChecks = 16;

absl::Status Fix(BufferPool& pool, PoolActor& actor, PageId page, bool pins) {
  if (pins) {
    SharedGuard guard;
    return pool.FixShared(actor, page, &guard);
  }
  OptimisticGuard guard;
  return pool.FixOptimistic(actor, page, &guard);
}

}  // namespace

absl::Status CheckPoolEmulator(const PoolEmulatorConfig& config) {
  const uint64_t fewest = std::max<uint64_t>(BufferPool::kMinFrames, 2 * config.times.threads);
  if (config.frames < fewest) {
    return InvalidArgument("a pool of {} frames for {} threads: give {} frames or more",
                           config.frames, config.times.threads, fewest);
  }
  return MakeFixPolicy(ThreadRuntime(), config.replacement, config.synchronization, config.frames,
                       config.frames, config.seed)
      .status();
}

absl::StatusOr<PoolEmulatorResult> RunPoolEmulator(Runtime& runtime,
                                                   const PoolEmulatorConfig& config) {
  LATCHKEY_RETURN_IF_ERROR(CheckPoolEmulator(config));
  ZeroPageStore store(kPageSize, config.pages);
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<FixPolicy> policy,
                            MakeFixPolicy(runtime, config.replacement, config.synchronization,
                                          config.frames, config.frames, config.seed));
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<BufferPool> pool,
      BufferPool::Create(runtime, store, std::move(policy), config.frames, config.frames));
  std::vector<absl::Status> failures(config.times.threads);
  const auto body = [&](uint32_t thread, const std::atomic<bool>& running) {
    const auto stream = config.accesses.Make(AccessPatternConfig{.pages = config.pages,
                                                                 .thread = thread,
                                                                 .threads = config.times.threads,
                                                                 .seed = config.seed,
                                                                 .trace = config.trace});
    PoolActor& actor = pool->Here();
    while (running.load(std::memory_order_relaxed) && failures[thread].ok()) {
      for (int i = 0; i < kFixesBetweenChecks && failures[thread].ok(); ++i) {
        failures[thread] = Fix(*pool, actor, PageId{stream->Next()}, config.pins);
        Work(runtime, config.work);
      }
    }
  };
  BufferPoolStats before, after;
  PoolEmulatorResult result;
  result.interval = RunMeasured(
      runtime, config.times, body, [&] { before = pool->stats(); }, [&] { after = pool->stats(); });
  for (const absl::Status& failure : failures) LATCHKEY_RETURN_IF_ERROR(failure);
  result.hits = after.hits - before.hits;
  result.misses = after.misses - before.misses;
  result.locks = after.policy.lock_acquisitions - before.policy.lock_acquisitions;
  result.contentions = after.policy.contentions - before.policy.contentions;
  return result;
}

}  // namespace latchkey
