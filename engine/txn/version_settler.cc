#include "engine/txn/version_settler.h"

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

}  // namespace

void VersionSettler::SettleBehind(uint32_t queue) {
  Chores chores;
  CatchOutOfMemory([&] {
    LiveSnapshots live;
    snapshots_.ListSnapshots(&live);
    SettleFrom(queue, kFewUnsettled, live, &chores);
    return absl::OkStatus();
  }).IgnoreError();
  DoChores(gc_client_, chores);
}

void VersionSettler::SettleFrom(uint32_t queue, uint64_t leave, const LiveSnapshots& live,
                                Chores* chores) {
  for (;;) {
    WriteRecord* records[kRecordsAtOnce];
    size_t count = 0;
    while (count < kRecordsAtOnce && finished_.size(queue) > leave) {
      records[count] = finished_.Pop(queue, live.validated_from);
      if (records[count] == nullptr) break;
      ++count;
    }
    if (count == 0) return;
    size_t done = 0;
    const OnException put_back([&] {
      while (count > done) finished_.PushFront(queue, records[--count]);
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
    gone += table_.Settle(*entry, [&](const VersionEntry& version) {
      settled_.Add({.tree = version.tree,
                    .hash = version.hash,
                    .ts = version.writer->outcome.load(std::memory_order_relaxed),
                    .key = version.key(),
                    .state = version.old_state,
                    .old = version.old(),
                    .lock_only = version.lock_only,
                    .leaves_ghost = version.leaves_ghost,
                    .empty_below = empty_below},
                   live, chores);
    });
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
    for (uint32_t queue = 0; queue < FinishedQueues::kQueues; ++queue)
      SettleFrom(queue, 0, live, &chores);
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
