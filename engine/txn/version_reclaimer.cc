#include "engine/txn/version_reclaimer.h"

#include <algorithm>

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
// Most snapshots that one call lets expire, so that other calls get their turn.
constexpr int kMostExpired = 64;

}  // namespace

void VersionReclaimer::CollectAfter(const Committed& commit) {
  savepoints_.FreeChains(commit.savepoints.get());
  const uint32_t queue = runtime_.ActorIndex() % FinishedQueues::kQueues;
  collector_.CollectFrom(queue, std::max(kEntriesPerCommit, kEntriesPerEntry * commit.entries));
  if (finished_.size(queue) > kMostUnsettled) settler_.SettleBehind(queue);
  if (!settled_.empty()) settler_.SweepSome();
  if (commit.ts % kCommitsPerVisit != 1) return;
  const auto other = static_cast<uint32_t>(commit.ts / kCommitsPerVisit % FinishedQueues::kQueues);
  collector_.CollectFrom(other, kEntriesPerCommit);
  if (finished_.size(other) > kMostUnsettled) settler_.SettleBehind(other);
  table_.ResizeFor(counters_.CountVersions());
  if (spiller_.HasAny()) spiller_.DropUnneeded();
  Reclaim();
}

void VersionReclaimer::CollectAll() {
  snapshots_.RefreshBounds();
  collector_.CollectFromAll();
  // Frozen entries belong to the actor that reclaims.
  const bool alone = !reclaiming_.exchange(true, std::memory_order_acquire);
  settler_.SettleAndSweepAll(/*thaw=*/alone);
  if (alone) reclaiming_.store(false, std::memory_order_release);
  spiller_.DropUnneeded();
}

void VersionReclaimer::Reclaim() {
  const uint64_t bound = budget_.bound();
  // Starts early, because spilling takes a while, in which other actors go on writing.
  const uint64_t limit = spiller_.CanSpill() ? bound - bound / 4 : bound;
  if (bound == 0 || budget_.used() <= limit) return;
  if (reclaiming_.exchange(true, std::memory_order_acquire)) return;
  for (int expired = 0; expired <= kMostExpired; ++expired) {
    snapshots_.RefreshBoundsNow();
    collector_.CollectFromAll();
    if (budget_.used() <= limit) break;
    const bool can_spill = spiller_.CanSpill();
    settler_.SettleAndSweepAll(/*thaw=*/!can_spill);
    if (budget_.used() <= bound / 2 || spiller_.SpillSettled()) break;
    if (can_spill) settler_.SettleAndSweepAll(/*thaw=*/true);
    if (budget_.used() <= bound) break;
    // Commits that a read set must be checked against cannot settle: they fill the store first.
    if (!snapshots_.ExpireOldest(/*of_validated=*/true) && !snapshots_.ExpireOldest()) break;
    counters_.Here().expired.fetch_add(1, std::memory_order_relaxed);
  }
  reclaiming_.store(false, std::memory_order_release);
}

}  // namespace latchkey
