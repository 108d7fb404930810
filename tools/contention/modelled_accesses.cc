#include "tools/contention/modelled_accesses.h"

#include <utility>

#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<std::unique_ptr<ModelledAccesses>> ModelledAccesses::Create(
    Runtime& runtime, const PoolEmulatorConfig& config) {
  const ModelCosts& costs = *config.costs;
  LATCHKEY_ASSIGN_OR_RETURN(const AlgorithmCosts algorithm,
                            CostsOf(costs, config.replacement.name()));
  const bool queues = config.synchronization.name() == "bp-wrapper";
  const bool sweeps = config.synchronization.name() == "nb-gclock";
  const bool hits_are_reported = config.replacement.entry().hit_needs == HitNeeds::kLock;
  Costs outside{.access = costs.access, .miss = costs.miss, .moved_miss = costs.moved_miss};
  CallCosts locked{.hit = algorithm.hit + costs.lock,
                   .load = algorithm.load + costs.lock,
                   .moved = algorithm.moved,
                   .moved_load = algorithm.moved_load,
                   .moved_in_batch = 0};
  const auto copies = config.synchronization.entry().private_copies;
  if (copies != nullptr && copies(config.synchronization.values()).actors >= config.times.threads) {
    outside.moved_miss = 0;  // the frames, their table and their algorithm are the thread's own
  }
  if (config.latches) outside.access += costs.pin;
  if (config.work > 0) outside.access += static_cast<double>(config.work) + costs.work;
  if (sweeps) outside.miss += costs.sweep;
  if (queues) {
    const double lock = costs.lock / config.synchronization.values()[1];  // its threshold
    locked = {.hit = algorithm.batched_hit + lock,
              .load = algorithm.load + lock,
              .moved = algorithm.moved,
              .moved_load = algorithm.moved_load,
              .moved_in_batch = algorithm.batch_moved};
    (hits_are_reported ? outside.access : outside.miss) += costs.queue;
  }
  return std::unique_ptr<ModelledAccesses>(new ModelledAccesses(runtime, config, locked, outside));
}

ModelledAccesses::ModelledAccesses(Runtime& runtime, const PoolEmulatorConfig& config,
                                   const CallCosts& locked, const Costs& costs)
    : runtime_(runtime),
      costs_(costs),
      replacement_(runtime, config.replacement, locked),
      chargers_(config.times.threads, Charger(runtime)),
      page_words_(config.latches ? config.pages / kWordsPerLine + 1 : 0) {}

void ModelledAccesses::Before(uint32_t thread, PageId page) {
  chargers_[thread].Charge(costs_.access);
  if (!page_words_.empty()) runtime_.TakeOver(WordOf(page));
}

void ModelledAccesses::After(uint32_t thread, PageId page, bool missed) {
  if (!page_words_.empty()) runtime_.TakeOver(WordOf(page));
  if (!missed) return;
  const bool moved = std::exchange(last_missed_, thread) != thread;
  chargers_[thread].Charge(costs_.miss + (moved ? costs_.moved_miss : 0));
}

}  // namespace latchkey
