#include "bufferpool/pool_actor.h"

namespace latchkey {

PoolActors::PoolActors(Runtime& runtime, uint32_t page_size)
    : runtime_(runtime), page_size_(page_size), actors_(Runtime::kMaxActors) {}

PoolActors::~PoolActors() {
  for (uint32_t i = 0; i < seen_.end(); ++i) delete actors_[i].load();
}

PoolActor& PoolActors::Add(uint32_t index) {
  auto fresh = std::make_unique<PoolActor>();
  fresh->index = index;
  fresh->scratch = std::make_unique_for_overwrite<uint64_t[]>(page_size_ / sizeof(uint64_t));
  PoolActor* actor = fresh.release();  // only this actor writes this entry
  seen_.Note(index);
  actors_[index].store(actor, std::memory_order_seq_cst);
  // SetRecorder stores recorder_ before it looks at the actors, so one of the two sees the other. If
  // it stores in the meantime, its recorder is the newer one.
  FixRecorder* recorder = recorder_.load(std::memory_order_seq_cst);
  for (;;) {
    actor->recorder.store(recorder, std::memory_order_seq_cst);
    FixRecorder* const now = recorder_.load(std::memory_order_seq_cst);
    if (now == recorder) break;
    recorder = now;
  }
  return *actor;
}

void PoolActors::SetRecorder(FixRecorder* recorder) {
  recorder_.store(recorder, std::memory_order_seq_cst);
  const uint32_t seen = seen_.end();
  for (uint32_t i = 0; i < seen; ++i) {
    PoolActor* actor = actors_[i].load(std::memory_order_seq_cst);
    if (actor != nullptr) actor->recorder.store(recorder, std::memory_order_seq_cst);
  }
}

PoolActors::Totals PoolActors::Sum() const {
  Totals totals;
  const auto add = [](uint64_t& total, const std::atomic<uint64_t>& counter) {
    total += counter.load(std::memory_order_relaxed);
  };
  const uint32_t seen = seen_.end();
  for (uint32_t i = 0; i < seen; ++i) {
    const PoolActor* actor = actors_[i].load(std::memory_order_acquire);
    if (actor == nullptr) continue;
    for (size_t type = 0; type < PoolActor::kCountedTypes; ++type) {
      add(totals.fixes_of_type[type], actor->fixes_of_type[type]);
    }
    for (size_t cause = 0; cause < kLoadCauses; ++cause) {
      add(totals.loads[cause], actor->loads[cause]);
    }
    add(totals.first_uses, actor->first_uses);
    add(totals.wasted_reads, actor->wasted_reads);
    add(totals.scouting_fixes, actor->scouting_fixes);
    add(totals.sync_writes, actor->sync_writes);
    add(totals.failed_page_ins, actor->failed_page_ins);
  }
  return totals;
}

}  // namespace latchkey
