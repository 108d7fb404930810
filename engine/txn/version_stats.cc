#include "engine/txn/version_stats.h"

namespace latchkey {

void VersionCounters::Report(WriteRecord& record) {
  const auto fresh = static_cast<int64_t>(record.entries - record.reported_entries);
  record.reported_entries = record.entries;
  Here().versions.fetch_add(fresh, std::memory_order_relaxed);
}

uint64_t VersionCounters::CountVersions() const {
  int64_t versions = 0;
  for (const Stripe& s : stripes_) versions += s.versions.load(std::memory_order_relaxed);
  return versions < 0 ? 0 : static_cast<uint64_t>(versions);
}

void VersionCounters::AddTo(VersionStoreStats* stats) const {
  for (const Stripe& s : stripes_) {
    stats->commits += s.commits.load(std::memory_order_relaxed);
    stats->rollbacks += s.rollbacks.load(std::memory_order_relaxed);
    stats->conflicts += s.conflicts.load(std::memory_order_relaxed);
    stats->deadlocks += s.deadlocks.load(std::memory_order_relaxed);
    stats->waits += s.waits.load(std::memory_order_relaxed);
    stats->snapshots_expired += s.expired.load(std::memory_order_relaxed);
    stats->serializable_refused += s.refused.load(std::memory_order_relaxed);
  }
}

}  // namespace latchkey
