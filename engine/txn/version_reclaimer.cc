#include "engine/txn/version_reclaimer.h"

#include <algorithm>

#include "storage/base/out_of_memory.h"

namespace latchkey {
namespace {

// Entries that one commit collects: few enough to go unnoticed, or kEntriesPerEntry times the
// number that it wrote itself, so that a backlog behind a long snapshot shrinks.
constexpr uint64_t kEntriesPerCommit = 256;
constexpr uint64_t kEntriesPerEntry = 2;
// One commit in this many also collects from the queue of another actor, which may be gone, and
// checks the bound.
constexpr uint64_t kCommitsPerVisit = 16;
// Commits of an actor that may wait to be collected before the older ones settle. A snapshot as
// short as the transactions around it makes fewer wait.
constexpr uint64_t kMostUnsettled = 16;
// The same beside the actor. Beyond it the actor lags, perhaps for want of a core. What waits
// longer is in no cache any more, and makes the table of versions grow.
constexpr uint64_t kMostBehind = 256;
// Above half of the bound the actor spills, but not before a kLeastSpill-th of that half has settled: a
// run has to be worth its place in the file. Above three quarters of the bound, if less has settled, the
// table of known writes is given up first.
constexpr uint64_t kLeastSpill = 4;
// Most snapshots that one call lets expire, so that other calls get their turn.
constexpr int kMostExpired = 64;

// One commit in this many wakes the actor if there is enough to settle, and one in kCommitsPerTidying if
// there is something to sweep or to drop: a round has to be worth its wake-up.
constexpr uint64_t kCommitsPerRound = 64, kCommitsPerTidying = 256;
static_assert(kCommitsPerRound % kCommitsPerVisit == 0);
static_assert(kCommitsPerTidying % kCommitsPerRound == 0);

}  // namespace

void VersionReclaimer::CollectAfter(const Committed& commit) {
  savepoints_.FreeChains(commit.savepoints.get());
  const bool alone = !actor_.is_running();
  const uint32_t queue = runtime_.ActorIndex() % FinishedQueues::kQueues;
  collector_.CollectFrom(queue, std::max(kEntriesPerCommit, kEntriesPerEntry * commit.entries));
  if (!finished_.empty(queue)) settler_.DropUnneeded(queue);
  if (Waiting(queue) > (alone ? kMostUnsettled : kMostBehind)) settler_.SettleBehind(queue);
  if (alone && !settled_.empty()) settler_.SweepSome();
  if (commit.ts % kCommitsPerVisit != 1) return;
  const auto other = static_cast<uint32_t>(commit.ts / kCommitsPerVisit % FinishedQueues::kQueues);
  collector_.CollectFrom(other, kEntriesPerCommit);
  table_.ResizeFor(counters_.CountVersions());
  if (alone) {
    if (Waiting(other) > kMostUnsettled) settler_.SettleBehind(other);
    spiller_.DropUnneeded();
    RememberWrites();
  } else if (commit.ts % kCommitsPerRound == 1) {
    const bool tidies = commit.ts % kCommitsPerTidying == 1;
    AskForRound(queue, other, tidies);
  }
  Reclaim();
}

void VersionReclaimer::AskForRound(uint32_t queue, uint32_t other, bool tidies) {
  const bool settles = std::max(Waiting(queue), Waiting(other)) > kMostUnsettled;
  const auto has_to_tidy = [this] {
    return !settled_.empty() || spiller_.HasAny() || gaps_.any() || known_.bytes() != 0;
  };
  if (settles || (tidies && has_to_tidy())) actor_.Ask();
}

void VersionReclaimer::ReclaimAhead() {
  MutexLock lock(rounds_mutex_);
  snapshots_.RefreshBounds();
  gaps_.NoteFor(snapshots_.long_bounds().long_below);
  TidyGaps();
  RememberWrites();
  for (uint32_t queue = 0; queue < FinishedQueues::kQueues; ++queue) {
    if (Waiting(queue) > kMostUnsettled) settler_.SettleBehind(queue);
  }
  for (uint32_t shard = 0; shard < SettledVersions::kShards; ++shard) settler_.SweepSome();
  spiller_.DropUnneeded();
  SpillAhead();
}

void VersionReclaimer::TidyGaps() {
  if (gaps_.below() == 0) return;
  CatchOutOfMemory([&] {
    LiveSnapshots live;
    snapshots_.ListSnapshots(&live);
    gaps_.Tidy(live);
    return absl::OkStatus();
  }).IgnoreError();
}

// The table of known writes is worth its memory while there is a long snapshot and half of the bound is
// left for versions.
void VersionReclaimer::RememberWrites() {
  if (snapshots_.long_bounds().long_below == 0) {
    if (!spiller_.HasSettled()) known_.Clear();
    return;
  }
  const uint64_t used = budget_.used(), bound = budget_.bound(), most = known_.most_bytes();
  const uint64_t others = used - std::min<uint64_t>(used, settled_.bytes());
  if (known_.bytes() != 0 || others + most > bound / 2 || used + most > bound - bound / 4) return;
  // Without memory for it more versions are kept than needed.
  CatchOutOfMemory([this] {
    known_.MakeRoom();
    return absl::OkStatus();
  }).IgnoreError();
}

// What the device refuses is left to the committers, which spill from three quarters of the bound
// on.
void VersionReclaimer::SpillAhead() {
  const uint64_t limit = budget_.bound() / 2;
  if (limit == 0 || budget_.used() <= limit || !spiller_.CanSpill()) return;
  if (spiller_.disk_bytes() == refused_at_) return;
  if (reclaiming_.exchange(true, std::memory_order_acquire)) return;
  snapshots_.RefreshBoundsNow();
  collector_.CollectFromAll();
  settler_.SettleAndSweepAll(/*thaw=*/false);
  if (settled_.bytes() > limit / kLeastSpill) {
    refused_at_ = spiller_.SpillSettled() ? UINT64_MAX : spiller_.disk_bytes();
    if (refused_at_ != UINT64_MAX) settler_.SettleAndSweepAll(/*thaw=*/true);
  } else if (budget_.used() > limit + limit / 2) {
    known_.Clear();
  }
  reclaiming_.store(false, std::memory_order_release);
}

void VersionReclaimer::CollectAll() {
  MutexLock lock(rounds_mutex_);
  snapshots_.RefreshBounds();
  collector_.CollectFromAll();
  // Frozen entries belong to the actor that reclaims.
  const bool alone = !reclaiming_.exchange(true, std::memory_order_acquire);
  settler_.SettleAndSweepAll(/*thaw=*/alone);
  if (alone) reclaiming_.store(false, std::memory_order_release);
  TidyGaps();
  spiller_.DropUnneeded();
  RememberWrites();
}

void VersionReclaimer::Reclaim() {
  const uint64_t bound = budget_.bound();
  // Starts early, because spilling takes a while, in which other actors go on writing.
  const uint64_t limit = spiller_.CanSpill() ? bound - bound / 4 : bound;
  const uint64_t used = budget_.used();
  if (bound == 0 || used <= bound / 2) return;
  actor_.Ask();
  if (used <= limit) return;
  if (reclaiming_.exchange(true, std::memory_order_acquire)) {
    // Packed, the commits of this actor take less until there is room. At the bound it waits: a
    // transaction of one write asks for no admission.
    settler_.SettleBehind(runtime_.ActorIndex() % FinishedQueues::kQueues);
    Backoff backoff(runtime_);
    while (spiller_.is_spilling() && budget_.used() > bound) backoff.Pause();
    return;
  }
  for (int expired = 0; expired <= kMostExpired; ++expired) {
    snapshots_.RefreshBoundsNow();
    collector_.CollectFromAll();
    if (budget_.used() <= limit) break;
    const bool can_spill = spiller_.CanSpill();
    settler_.SettleAndSweepAll(/*thaw=*/!can_spill);
    if (settled_.bytes() <= bound / 2 / kLeastSpill) known_.Clear();
    if (budget_.used() <= bound / 2 || spiller_.SpillSettled()) break;
    if (can_spill) settler_.SettleAndSweepAll(/*thaw=*/true);
    if (budget_.used() <= bound) break;
    known_.Clear();
    if (budget_.used() <= bound) break;
    // Commits that a read set must be checked against cannot settle: they fill the store first.
    if (!snapshots_.ExpireOldest(/*of_validated=*/true) && !snapshots_.ExpireOldest()) break;
    counters_.Here().expired.fetch_add(1, std::memory_order_relaxed);
  }
  reclaiming_.store(false, std::memory_order_release);
}

}  // namespace latchkey
