#include "engine/range/range_deletes.h"

#include <algorithm>

#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr Nanos kFirstPause = 20 * kNanosPerMicro, kLongestPause = kNanosPerMilli;

absl::Status RangeWasDeleted() {
  return absl::AbortedError(
      "conflict: a range delete that covers the key has committed after this transaction's "
      "snapshot; roll back and run it again");
}

absl::Status RangeDeadlock() {
  return absl::AbortedError(
      "deadlock: a range delete that covers the key waits for the snapshot of a transaction that "
      "waits for this one; roll back and run it again");
}

absl::Status RangeTakesTooLong() {
  return absl::AbortedError(
      "a range delete that covers the key was under way for Options::lock_wait_ms: it waits for "
      "writers of its tree, or for an older snapshot to end; end those transactions, then run this "
      "one again");
}

}  // namespace

bool RangeDeletes::Hides(const TreeImpl& tree, std::string_view key, CommitTs read_ts) const {
  MutexLock lock(mutex_);
  return std::any_of(entered_.begin(), entered_.end(), [&](const auto& entered) {
    const CommitTs ts = entered->commit_ts.load(std::memory_order_seq_cst);
    const bool hides = ts <= read_ts || LATCHKEY_CANARY("deleted-range-hidden-from-all");
    return ts != 0 && hides && &entered->tree == &tree && entered->Covers(key);
  });
}

std::vector<KeyRange> RangeDeletes::HiddenIn(const TreeImpl& tree, CommitTs read_ts) const {
  std::vector<KeyRange> hidden;
  MutexLock lock(mutex_);
  for (const auto& entered : entered_) {
    const CommitTs ts = entered->commit_ts.load(std::memory_order_seq_cst);
    if (ts != 0 && ts <= read_ts && &entered->tree == &tree) hidden.push_back(entered->range);
  }
  return hidden;
}

bool RangeDeletes::MayPass(const RangeDelete& entered, uint32_t slot) const {
  if (entered.closed) return false;
  const bool is_listed = snapshots_.IsTreeListed(slot, entered.tree.id);
  // The tree counts a writer whose slot has no room for it. WritersAreGone waits for all of these.
  return !is_listed ||
         std::find(entered.awaited.begin(), entered.awaited.end(), slot) != entered.awaited.end();
}

bool RangeDeletes::WaitsForOneOf(const RangeDelete& entered,
                                 std::span<const uint32_t> actors) const {
  return std::any_of(entered.awaited.begin(), entered.awaited.end(), [&](uint32_t slot) {
    return std::any_of(actors.begin(), actors.end(),
                       [&](uint32_t actor) { return snapshots_.IsBegunBy(slot, actor); });
  });
}

// `behind`: the actors that wait for `txn`.
RangeDeletes::Verdict RangeDeletes::Judge(const Txn& txn, const TreeImpl& tree,
                                          std::string_view key, std::span<const uint32_t> behind,
                                          CommitTs* committed) {
  const uint32_t slot = snapshots_.SlotOf(txn);
  MutexLock lock(mutex_);
  Verdict verdict = Verdict::kGo;
  for (const auto& entered : entered_) {
    if (&entered->tree != &tree || !entered->Covers(key)) continue;
    if (MayPass(*entered, slot)) continue;
    if (!entered->closed && WaitsForOneOf(*entered, behind)) {
      entered->awaited.push_back(slot);
      continue;
    }
    verdict = Verdict::kWait;
    const CommitTs ts = entered->commit_ts.load(std::memory_order_seq_cst);
    *committed = std::max(*committed, ts);
    const bool is_older = ts != 0 && txn.has_snapshot() && txn.snapshot().read_ts < ts;
    if (is_older && txn.has_read()) return Verdict::kConflict;
    if (ts != 0 && snapshots_.HasSnapshotBelow(ts, behind)) return Verdict::kDeadlock;
  }
  return verdict;
}

absl::Status RangeDeletes::Pass(SnapshotManager& snapshots, VersionStore& versions, Txn& txn,
                                const TreeImpl& tree, std::string_view key, bool* is_vain) {
  const Nanos deadline = versions.WaitDeadline();
  for (Nanos pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    CommitTs committed = 0;
    const Verdict verdict = Judge(txn, tree, key, versions.ActorsBehind(txn), &committed);
    if (verdict == Verdict::kGo) return absl::OkStatus();
    if (verdict == Verdict::kConflict) return RangeWasDeleted();
    if (verdict == Verdict::kDeadlock) {
      versions.NoteVictim(txn);
      return RangeDeadlock();
    }
    // The range delete waits for older snapshots. This one has shown nothing yet, so it may move.
    if (committed != 0 && txn.has_snapshot() && txn.snapshot().read_ts < committed) {
      snapshots.RenewSnapshot(txn, committed);
    }
    if (finish_) finish_();
    if (runtime_.Now() >= deadline) {
      *is_vain = true;
      return RangeTakesTooLong();
    }
    runtime_.SleepFor(pause);
  }
}

absl::Status RangeDeletes::Enter(std::shared_ptr<RangeDelete> entered) {
  RangeDelete& added = *entered;
  MutexLock lock(mutex_);
  entered_.push_back(std::move(entered));
  count_.fetch_add(1, std::memory_order_seq_cst);
  added.awaited = snapshots_.ListWriters(added.tree.id);
  const uint32_t actor = runtime_.ActorIndex();
  if (std::none_of(added.awaited.begin(), added.awaited.end(),
                   [&](uint32_t slot) { return snapshots_.IsBegunBy(slot, actor); })) {
    return absl::OkStatus();
  }
  entered_.pop_back();
  count_.fetch_sub(1, std::memory_order_seq_cst);
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      "this thread has begun a transaction that has written in the tree \"{}\": commit "
      "it or roll it back before deleting a range",
      added.tree.name());
}

bool RangeDeletes::WritersAreGone(RangeDelete& entered) {
  MutexLock lock(mutex_);
  std::erase_if(entered.awaited,
                [&](uint32_t slot) { return !snapshots_.IsTreeListed(slot, entered.tree.id); });
  if (LATCHKEY_CANARY("range-delete-waits-for-no-writer")) entered.awaited.clear();
  if (!entered.awaited.empty() || entered.tree.has_unlisted_writers()) return false;
  entered.closed = true;
  return true;
}

void RangeDeletes::Leave(const RangeDelete& entered) {
  MutexLock lock(mutex_);
  std::erase_if(entered_, [&](const auto& other) { return other.get() == &entered; });
  count_.fetch_sub(1, std::memory_order_seq_cst);
}

std::shared_ptr<RangeDelete> RangeDeletes::Oldest() const {
  std::shared_ptr<RangeDelete> oldest;
  MutexLock lock(mutex_);
  for (const auto& entered : entered_) {
    const CommitTs ts = entered->commit_ts.load(std::memory_order_seq_cst);
    if (ts != 0 && (oldest == nullptr || ts < oldest->commit_ts.load())) oldest = entered;
  }
  return oldest;
}

}  // namespace latchkey
