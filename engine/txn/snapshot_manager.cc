#include "engine/txn/snapshot_manager.h"

#include <algorithm>
#include <new>

#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// One in this many readers with a lagging snapshot scans the slots. A long-running writer keeps the
// bound low whatever the scans do, and should not make every snapshot scan.
constexpr uint32_t kSnapshotsPerScan = 16;

}  // namespace

absl::Status SnapshotTooOld() {
  return absl::AbortedError(
      "snapshot too old: the version store was full, and this transaction's snapshot the oldest; "
      "roll back and run it again, or give old versions more room on disk "
      "(Options::snapshot_spill_bytes) or in memory (Options::version_store_bytes)");
}

SnapshotManager::SnapshotManager(Runtime& runtime, TxnId first_txn_id)
    : runtime_(runtime),
      slot_memory_(kMaxTransactions * sizeof(TxnSlot)),
      slots_(reinterpret_cast<TxnSlot*>(slot_memory_.data())) {
  LATCHKEY_CHECK(Raw(first_txn_id) >= 1);
  next_txn_.value.store(Raw(first_txn_id), std::memory_order_relaxed);
  bounds_.all_visible_below.store(Raw(first_txn_id), std::memory_order_release);
}

absl::Status SnapshotManager::Begin(Txn& txn, TransactionImpl* owner) {
  LATCHKEY_CHECK(!txn.active());
  const uint32_t actor = runtime_.ActorIndex();
  const uint32_t own = actor % kMaxTransactions;
  if (own >= high_water_.load(std::memory_order_acquire)) PrepareSlots(own + 1);
  TxnSlot* slot = &slots_[own];
  if (!TryTake(*slot)) slot = TakeSlot();
  if (slot == nullptr) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "{} transactions are running, the most that a database allows; commit or roll "
        "back some of them first",
        kMaxTransactions);
  }
  slot->owner = owner;
  slot->user.store(actor, std::memory_order_relaxed);
  txn.slot_ = slot;
  return absl::OkStatus();
}

void SnapshotManager::VisitOwners(absl::FunctionRef<void(TransactionImpl*)> visit) {
  const uint32_t slots = high_water_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < slots; ++i) {
    const bool is_free = slots_[i].read_ts.load(std::memory_order_acquire) == TxnSlot::kFree;
    if (!is_free && slots_[i].owner != nullptr) visit(slots_[i].owner);
  }
}

bool SnapshotManager::IsTreeListed(TreeId tree) const {
  const uint32_t slots = high_water_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < slots; ++i) {
    for (const std::atomic<uint32_t>& listed : slots_[i].trees) {
      const uint32_t id = listed.load(std::memory_order_seq_cst);
      if (id == Raw(tree)) return true;
      if (id == TxnSlot::kNoTree) break;
    }
  }
  return false;
}

bool SnapshotManager::IsTreeListed(uint32_t slot, TreeId tree) const {
  for (const std::atomic<uint32_t>& listed : slots_[slot].trees) {
    if (listed.load(std::memory_order_seq_cst) == Raw(tree)) return true;
  }
  return false;
}

std::vector<uint32_t> SnapshotManager::ListWriters(TreeId tree) const {
  std::vector<uint32_t> writers;
  const uint32_t slots = high_water_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < slots; ++i) {
    if (IsTreeListed(i, tree)) writers.push_back(i);
  }
  return writers;
}

bool SnapshotManager::HasSnapshotBelow(CommitTs ts, std::span<const uint32_t> actors) const {
  const uint32_t slots = high_water_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < slots; ++i) {
    if (TxnSlot::TimestampIn(slots_[i].read_ts.load(std::memory_order_acquire)) >= ts) continue;
    const auto began = [&](uint32_t actor) { return IsBegunBy(i, actor); };
    if (std::any_of(actors.begin(), actors.end(), began)) return true;
  }
  return false;
}

bool SnapshotManager::HasSnapshotBelow(CommitTs ts) const {
  const uint32_t slots = high_water_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < slots; ++i) {
    if (TxnSlot::TimestampIn(slots_[i].read_ts.load(std::memory_order_seq_cst)) < ts) return true;
  }
  return false;
}

TxnSlot* SnapshotManager::TakeSlot() {
  for (uint32_t i = 0; i < kMaxTransactions; ++i) {
    if (i >= high_water_.load(std::memory_order_acquire)) PrepareSlots(i + 1);
    if (TryTake(slots_[i])) return &slots_[i];
  }
  return nullptr;
}

void SnapshotManager::PrepareSlots(uint32_t slots) {
  SpinLatchGuard guard(prepare_latch_, runtime_);
  const uint32_t prepared = high_water_.load(std::memory_order_relaxed);
  for (uint32_t i = prepared; i < slots; ++i) new (&slots_[i]) TxnSlot;
  high_water_.store(std::max(prepared, slots), std::memory_order_seq_cst);
}

void SnapshotManager::TakeSnapshot(Txn& txn) {
  TxnSlot& slot = *txn.slot_;
  uint64_t below = bounds_.all_visible_below.load(std::memory_order_acquire);
  if (below < next_txn_.value.load(std::memory_order_relaxed) &&
      ++slot.lagging_snapshots % kSnapshotsPerScan == 0) {
    RefreshBounds();
    below = bounds_.all_visible_below.load(std::memory_order_acquire);
  }
  // The bound is loaded first: the commits below it are then within read_ts.
  const uint64_t marks = txn.tracks_reads_ ? TxnSlot::kTracksReads : 0;
  CommitTs read_ts;
  for (Backoff backoff(runtime_);; backoff.Pause()) {
    read_ts = clock_.value.load(std::memory_order_acquire);
    slot.read_ts.store(read_ts | marks, std::memory_order_seq_cst);
    // A scan that has missed the slot has published its clock before.
    if (read_ts >= bounds_.refreshed_at.load(std::memory_order_seq_cst)) break;
  }
  txn.snapshot_ = {.read_ts = read_ts, .all_visible_below = TxnId{below}};
  txn.has_snapshot_ = true;
}

void SnapshotManager::RenewSnapshot(Txn& txn, CommitTs at_least) {
  // The committer is between its two stores: a few instructions later it moves the clock.
  Backoff backoff(runtime_);
  while (clock() < at_least) backoff.Pause();
  TakeSnapshot(txn);
}

TxnId SnapshotManager::DrawTxnId(Txn& txn) {
  const uint64_t lower_bound = next_txn_.value.load(std::memory_order_relaxed);
  txn.slot_->writer.store(lower_bound, std::memory_order_seq_cst);
  const uint64_t id = next_txn_.value.fetch_add(1, std::memory_order_seq_cst);
  if (id != lower_bound) txn.slot_->writer.store(id, std::memory_order_release);
  txn.id_ = TxnId{id};
  return txn.id_;
}

bool SnapshotManager::Hold(Txn& txn) {
  uint64_t word = txn.slot_->read_ts.load(std::memory_order_relaxed);
  if (word == TxnSlot::kExpired) return false;
  LATCHKEY_CHECK(word < TxnSlot::kHeld);
  return txn.slot_->read_ts.compare_exchange_strong(word, word | TxnSlot::kHeld);
}

bool SnapshotManager::ExpireOldest(bool of_validated) {
  CommitTs oldest = clock();
  TxnSlot* victim = nullptr;
  uint64_t expected = 0;
  const uint32_t slots = high_water_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < slots; ++i) {
    const uint64_t word = slots_[i].read_ts.load();
    const CommitTs read_ts = TxnSlot::TimestampIn(word);
    const bool any = LATCHKEY_CANARY("expires-another-snapshot") && read_ts < clock();
    if (read_ts >= oldest && !any) continue;
    if (of_validated && (word & TxnSlot::kTracksReads) == 0) continue;
    oldest = read_ts;
    expected = word;
    victim = &slots_[i];
  }
  if (victim == nullptr || (expected & TxnSlot::kHeld) != 0) return false;
  return victim->read_ts.compare_exchange_strong(expected, TxnSlot::kExpired);
}

bool LiveSnapshots::AnyIn(CommitTs from, CommitTs to) const {
  if (to > as_of) return true;
  const auto first = std::lower_bound(read_ts.begin(), read_ts.end(), from);
  return first != read_ts.end() && *first < to;
}

CommitTs LiveSnapshots::NoneSince(CommitTs to) const {
  if (to > as_of) return to;
  const auto first = std::lower_bound(read_ts.begin(), read_ts.end(), to);
  return first == read_ts.begin() ? 0 : *std::prev(first) + 1;
}

void SnapshotManager::ListSnapshots(LiveSnapshots* live) {
  live->read_ts.clear();
  live->read_ts.reserve(high_water_.load(std::memory_order_acquire));  // not under the latch
  SpinLatchGuard guard(bounds_.latch, runtime_);
  ScanSlots(live);
}

void SnapshotManager::ScanSlots(LiveSnapshots* live) {
  // Counter and clock are read before the slots: see the head of snapshot_manager.h.
  uint64_t below = next_txn_.value.load(std::memory_order_seq_cst);
  const CommitTs clock = clock_.value.load(std::memory_order_seq_cst);
  bounds_.refreshed_at.store(clock, std::memory_order_seq_cst);
  CommitTs oldest = clock, validated = clock, long_below = 0, others_from = clock;
  const uint32_t slots = high_water_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < slots; ++i) {
    below = std::min(below, slots_[i].writer.load(std::memory_order_seq_cst));
    const uint64_t word = slots_[i].read_ts.load();
    const CommitTs read_ts = TxnSlot::TimestampIn(word);
    oldest = std::min(oldest, read_ts);
    const bool tracks_reads = (word & TxnSlot::kTracksReads) != 0;
    if (!tracks_reads && read_ts < clock && clock - read_ts >= kCommitsOfLong) {
      long_below = std::max(long_below, read_ts + 1);
    } else {
      others_from = std::min(others_from, read_ts);
    }
    if (live == nullptr || read_ts >= clock) continue;
    live->read_ts.push_back(read_ts);
    if (tracks_reads) validated = std::min(validated, read_ts);
  }
  // In this order: a snapshot that has become a long one is within the first bound before the second
  // passes it. A later scan may lower the first, but then the snapshot has ended.
  bounds_.long_below.store(long_below, std::memory_order_release);
  if (others_from > bounds_.others_from.load(std::memory_order_relaxed)) {
    bounds_.others_from.store(others_from, std::memory_order_release);
  }
  if (below > bounds_.all_visible_below.load(std::memory_order_relaxed)) {
    bounds_.all_visible_below.store(below, std::memory_order_release);
  }
  if (oldest > bounds_.oldest_snapshot.load(std::memory_order_relaxed)) {
    bounds_.oldest_snapshot.store(oldest, std::memory_order_release);
  }
  if (live == nullptr) return;
  std::sort(live->read_ts.begin(), live->read_ts.end());
  live->as_of = clock;
  live->oldest = oldest;
  live->validated_from = validated;
}

void SnapshotManager::MaybeRefreshBounds() {
  const uint64_t commits = clock_.value.load(std::memory_order_relaxed) -
                           bounds_.refreshed_at.load(std::memory_order_relaxed);
  // A scan reads one cache line per slot: with few users every commit can afford it.
  if (commits > high_water_.load(std::memory_order_relaxed) / 4) RefreshBounds();
}

}  // namespace latchkey
