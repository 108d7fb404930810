#include "engine/txn/version_collector.h"

#include "storage/base/canary.h"

namespace latchkey {

void VersionCollector::CollectFrom(uint32_t queue, uint64_t budget) {
  // Commits that were to settle are older than the others of their actor.
  const uint64_t collected = settling_.empty(queue) ? 0 : CollectFrom(settling_, queue, budget);
  CollectFrom(finished_, queue, budget - collected);
}

uint64_t VersionCollector::CollectFrom(FinishedQueues& queues, uint32_t queue, uint64_t budget) {
  uint64_t collected = 0, unlinked = 0;
  while (collected < budget && !queues.empty(queue)) {
    const bool early = LATCHKEY_CANARY("versions-collected-too-early");
    WriteRecord* record =
        queues.Pop(queue, early ? snapshots_.clock() : snapshots_.oldest_snapshot());
    if (record == nullptr) break;
    collected += CollectRecord(*record, budget - collected, &unlinked);
    if (record->newest == nullptr) {
      pool_.Return(record);
    } else {
      queues.PushFront(queue, record);
    }
  }
  if (unlinked != 0) counters_.CountUnlinked(unlinked);
  return collected;
}

void VersionCollector::CollectFromAll() {
  for (uint32_t queue = 0; queue < FinishedQueues::kQueues; ++queue) CollectFrom(queue, UINT64_MAX);
}

uint64_t VersionCollector::CollectRecord(WriteRecord& record, uint64_t budget, uint64_t* unlinked) {
  uint64_t collected = 0;
  for (; record.newest != nullptr && collected < budget; ++collected) {
    VersionEntry* entry = record.newest;
    record.newest = entry->next_of_writer;
    if (record.newest != nullptr) table_.Prefetch(record.newest->hash);
    *unlinked += CollectEntry(*entry);
  }
  return collected;
}

// False: the entry has settled and is no longer this collector's.
bool VersionCollector::CollectEntry(VersionEntry& entry) {
  if (!table_.Unlink(entry)) return false;
  if (entry.leaves_ghost) {
    gc_client_.PurgeGhost(entry.tree, entry.key(), /*unneeded_until=*/0);
  }
  if (entry.old_state == RecordState::kOverflow && !entry.lock_only) {
    gc_client_.FreeOverflow(entry.tree, entry.old());
  }
  return true;
}

}  // namespace latchkey
