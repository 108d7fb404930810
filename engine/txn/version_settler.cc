#include "engine/txn/version_settler.h"

#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"

namespace latchkey {
namespace {

// Settling goes on until only this many commits of the actor wait.
constexpr uint64_t kFewUnsettled = 8;
// Records that settle together, and the distances, in entries, at which what an entry needs is
// prefetched. Most time of settling is waiting for memory.
constexpr size_t kRecordsAtOnce = 16;
constexpr size_t kBucketsAhead = 16, kChainsAhead = 6;

/// The entries of several records, in the order in which they settle.
class Entries {
 public:
  Entries(WriteRecord* const* records, size_t count) : next_(records), end_(records + count) {}
  /// nullptr = no more.
  const VersionEntry* Next() {
    while (entry_ == nullptr && next_ != end_) entry_ = (*next_++)->newest;
    const VersionEntry* entry = entry_;
    if (entry != nullptr) entry_ = entry->next_of_writer;
    return entry;
  }

 private:
  WriteRecord* const* next_;
  WriteRecord* const* end_;
  const VersionEntry* entry_ = nullptr;
};

SettlingVersion Describe(const VersionEntry& version, CommitTs empty_below) {
  return {.tree = version.tree,
          .hash = version.hash,
          .ts = version.writer->outcome.load(std::memory_order_relaxed),
          .key = version.key(),
          .state = version.old_state,
          .old = version.old(),
          .lock_only = version.lock_only,
          .leaves_ghost = version.leaves_ghost,
          .empty_below = empty_below};
}

}  // namespace

// ---- Versions that need not settle

void VersionSettler::DropUnneeded(uint32_t queue) {
  const SnapshotManager::LongBounds bounds = snapshots_.long_bounds();
  if (bounds.long_below == 0) return;
  const CommitTs limit = LATCHKEY_CANARY("versions-dropped-beside-a-short-snapshot")
                             ? snapshots_.clock()
                             : bounds.others_from;
  Chores chores;
  EmptyGaps::Search gaps(gaps_);
  uint64_t gone = 0;
  WriteRecord* record = nullptr;
  const absl::Status done = CatchOutOfMemory([&] {
    uint64_t looked = 0;
    while (looked < kMostDropped && (record = finished_.Pop(queue, limit)) != nullptr) {
      const bool is_small = record->entries <= kMostDropped;
      looked += is_small ? record->entries : 1;
      if (is_small) DropUnneededOf(*record, bounds.long_below, &gaps, &chores, &gone);
      if (record->newest == nullptr) {
        pool_.Return(record);
      } else {
        settling_.Push(queue, record);
      }
    }
    return absl::OkStatus();
  });
  if (!done.ok() && record != nullptr) finished_.PushFront(queue, record);
  if (gone != 0) counters_.CountUnlinked(gone);
  DoChores(gc_client_, chores);
}

void VersionSettler::DropUnneededOf(WriteRecord& record, CommitTs long_below,
                                    EmptyGaps::Search* gaps, Chores* chores, uint64_t* gone) {
  const auto take = [&](const VersionEntry& version) {
    const SettlingVersion described = Describe(version, 0);
    if (!IsUnneeded(version, described.ts, long_below, gaps)) return false;
    chores->Add(described, /*purge=*/false);
    return true;
  };
  for (VersionEntry** link = &record.newest; *link != nullptr;) {
    VersionEntry& entry = **link;
    if (table_.Settle(entry, take, gone)) {
      *link = entry.next_of_writer;
    } else {
      link = &entry.next_of_writer;
    }
  }
}

// No other snapshot needs it: all of them read at `ts` or later. A lock is a conflict for other
// writers, and a ghost is a duty: the settled versions care for both.
bool VersionSettler::IsUnneeded(const VersionEntry& version, CommitTs ts, CommitTs long_below,
                                EmptyGaps::Search* gaps) {
  if (version.lock_only || version.leaves_ghost) return false;
  if (version.old_state != RecordState::kAbsent &&
      known_.HasSince(version.hash, version.tree, version.key(), long_below, ts)) {
    return true;
  }
  return gaps->EmptyBelow(version.tree, version.key()) >= long_below;
}

// ---- Settling

void VersionSettler::SettleBehind(uint32_t queue) {
  Chores chores;
  CatchOutOfMemory([&] {
    LiveSnapshots live;
    snapshots_.ListSnapshots(&live);
    SettleFrom(settling_, queue, 0, live, &chores);
    SettleFrom(finished_, queue, kFewUnsettled, live, &chores);
    return absl::OkStatus();
  }).IgnoreError();
  DoChores(gc_client_, chores);
}

void VersionSettler::SettleFrom(FinishedQueues& queues, uint32_t queue, uint64_t leave,
                                const LiveSnapshots& live, Chores* chores) {
  for (;;) {
    WriteRecord* records[kRecordsAtOnce];
    size_t count = 0;
    while (count < kRecordsAtOnce && queues.size(queue) > leave) {
      records[count] = queues.Pop(queue, live.validated_from);
      if (records[count] == nullptr) break;
      ++count;
    }
    if (count == 0) return;
    size_t done = 0;
    const OnException put_back([&] {
      while (count > done) queues.PushFront(queue, records[--count]);
    });
    Entries buckets(records, count), chains(records, count);
    const auto prefetch = [&](size_t more_buckets, size_t more_chains) {
      for (const VersionEntry* entry; more_buckets > 0 && (entry = buckets.Next()) != nullptr;) {
        table_.Prefetch(entry->hash);
        settled_.PrefetchBucket(entry->hash);
        --more_buckets;
      }
      for (const VersionEntry* entry; more_chains > 0 && (entry = chains.Next()) != nullptr;) {
        settled_.PrefetchChain(entry->hash);
        --more_chains;
      }
    };
    prefetch(kBucketsAhead, 0);
    prefetch(0, kChainsAhead);
    for (; done < count; ++done) {
      SettleRecord(*records[done], live, chores, [&] { prefetch(1, 1); });
      pool_.Return(records[done]);
    }
  }
}

// `before_each` runs before each entry.
void VersionSettler::SettleRecord(WriteRecord& record, const LiveSnapshots& live, Chores* chores,
                                  absl::FunctionRef<void()> before_each) {
  uint64_t gone = 0;
  const auto count = [&] { counters_.CountUnlinked(gone); };
  const OnException count_partly(count);
  while (VersionEntry* entry = record.newest) {
    before_each();
    const CommitTs empty_below = gaps_.EmptyBelow(entry->tree, entry->key());
    const auto settle = [&](const VersionEntry& version) {
      settled_.Add(Describe(version, empty_below), live, chores);
      return true;
    };
    table_.Settle(*entry, settle, &gone);
    record.newest = entry->next_of_writer;
  }
  count();
}

void VersionSettler::SweepSome() {
  const uint32_t shard =
      next_sweep_.fetch_add(1, std::memory_order_relaxed) % SettledVersions::kShards;
  if (!settled_.IsWorthSweeping(shard, snapshots_.oldest_snapshot())) return;
  Chores chores;
  CatchOutOfMemory([&] {
    LiveSnapshots live;
    snapshots_.ListSnapshots(&live);
    settled_.Sweep(shard, live, &chores);
    return absl::OkStatus();
  }).IgnoreError();
  DoChores(gc_client_, chores);
}

bool VersionSettler::SettleAndSweepAll(bool thaw) {
  Chores chores;
  const absl::Status done = CatchOutOfMemory([&] {
    LiveSnapshots live;
    snapshots_.ListSnapshots(&live);
    for (uint32_t queue = 0; queue < FinishedQueues::kQueues; ++queue) {
      SettleFrom(settling_, queue, 0, live, &chores);
      SettleFrom(finished_, queue, 0, live, &chores);
    }
    for (uint32_t shard = 0; shard < SettledVersions::kShards; ++shard) {
      if (!thaw && !settled_.IsWorthSweeping(shard, live.oldest)) continue;
      settled_.Sweep(shard, live, &chores, thaw);
    }
    return absl::OkStatus();
  });
  DoChores(gc_client_, chores);
  return done.ok();
}

}  // namespace latchkey
