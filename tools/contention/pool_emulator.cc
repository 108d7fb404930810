#include "tools/contention/pool_emulator.h"

#include <algorithm>
#include <memory>

#include "bufferpool/buffer_pool.h"
#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/contention/modelled_accesses.h"
#include "tools/contention/zero_page_store.h"

namespace latchkey {
namespace {

constexpr int kFixesBetweenChecks = 16;

absl::Status Fix(BufferPool& pool, PoolActor& actor, PageId page, bool latches) {
  if (latches) {
    SharedGuard guard;
    return pool.FixShared(actor, page, &guard);
  }
  OptimisticGuard guard;
  return pool.FixOptimistic(actor, page, &guard);
}

absl::StatusOr<std::unique_ptr<ModelledAccesses>> MakeModel(Runtime& runtime,
                                                            const PoolEmulatorConfig& config) {
  if (config.costs == nullptr) return nullptr;
  return ModelledAccesses::Create(runtime, config);
}

// Loads the pages that the pool has room for. If it is smaller, makes so many accesses that it is
// full of what they ask for. Private frames are filled by their actors' own warm-up: a read here
// would give this actor the part of one of them.
absl::Status Fill(BufferPool& pool, const PoolEmulatorConfig& config) {
  if (config.synchronization.entry().private_copies != nullptr) return absl::OkStatus();
  constexpr uint64_t kRounds = 4;
  const bool fits = config.pages <= config.frames;
  const auto sequential = AccessPatterns().Named("sequential");
  const auto stream = (fits ? sequential : config.accesses)
                          .Make(AccessPatternConfig{
                              .pages = config.pages, .seed = ~config.seed, .trace = config.trace});
  PoolActor& actor = pool.Here();
  for (uint64_t left = fits ? config.pages : kRounds * config.frames; left > 0; --left) {
    OptimisticGuard guard;
    LATCHKEY_RETURN_IF_ERROR(pool.FixOptimistic(actor, PageId{stream->Next()}, &guard));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPoolEmulator(const PoolEmulatorConfig& config) {
  const uint64_t fewest = std::max<uint64_t>(BufferPool::kMinFrames, 2 * config.times.threads);
  if (config.frames < fewest) {
    return InvalidArgument("a pool of {} for {}: give {} frames or more",
                           CountOf(config.frames, "frame"), CountOf(config.times.threads, "thread"),
                           fewest);
  }
  if (config.costs != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(CostsOf(*config.costs, config.replacement.name()).status());
  }
  LATCHKEY_RETURN_IF_ERROR(CheckFixMode(config.synchronization,
                                        config.latches ? FixMode::kLatched : FixMode::kOptimistic));
  const uint32_t frames = SharedFrames(config.synchronization, config.frames);
  return MakeFixPolicy(ThreadRuntime(), config.replacement, config.synchronization, frames, frames,
                       config.seed)
      .status();
}

absl::StatusOr<PoolEmulatorResult> RunPoolEmulator(Runtime& runtime,
                                                   const PoolEmulatorConfig& config) {
  LATCHKEY_RETURN_IF_ERROR(CheckPoolEmulator(config));
  ZeroPageStore store(kEmulatedPageSize, config.pages);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<ModelledAccesses> model,
                            MakeModel(runtime, config));
  const uint32_t frames = SharedFrames(config.synchronization, config.frames);
  LATCHKEY_ASSIGN_OR_RETURN(
      std::unique_ptr<FixPolicy> policy,
      MakeFixPolicy(runtime, model == nullptr ? config.replacement : model->replacement(),
                    config.synchronization, frames, frames, config.seed));
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BufferPool> pool,
                            BufferPool::Create(runtime, store, std::move(policy), frames, frames));
  pool->SetPageIn(config.page_in);
  PoolEmulatorResult result;
  if (model != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(Fill(*pool, config));
    model->Start();
    result.filled_at = ThreadRuntime().Now();
  }
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
        const PageId page{stream->Next()};
        if (model != nullptr) model->Before(thread, page);
        const uint64_t misses = actor.LoadsBy(LoadCause::kDemand);
        failures[thread] = Fix(*pool, actor, page, config.latches);
        if (model == nullptr) {
          Work(runtime, config.work);
        } else {
          model->After(thread, page, actor.LoadsBy(LoadCause::kDemand) != misses);
        }
      }
    }
  };
  BufferPoolStats before, after;
  result.interval = RunMeasured(
      runtime, config.times, body, [&] { before = pool->stats(); }, [&] { after = pool->stats(); });
  for (const absl::Status& failure : failures) LATCHKEY_RETURN_IF_ERROR(failure);
  result.hits = after.hits - before.hits;
  result.misses = after.misses - before.misses;
  result.failed_page_ins = after.failed_page_ins - before.failed_page_ins;
  result.locks = after.policy.lock_acquisitions - before.policy.lock_acquisitions;
  result.contentions = after.policy.contentions - before.policy.contentions;
  return result;
}

}  // namespace latchkey
