#include "engine/txn/snapshot_manager.h"

#include <algorithm>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Scans by readers whose snapshot lags: one in this many, so that a long-running writer, which
// keeps the bound low whatever one does, does not make every snapshot scan the slots.
constexpr uint32_t kSnapshotsPerScan = 16;

}  // namespace

SnapshotManager::SnapshotManager(Runtime& runtime, TxnId first_txn_id)
    : runtime_(runtime), slots_(std::make_unique<TxnSlot[]>(kMaxTransactions)) {
  LATCHKEY_CHECK(Raw(first_txn_id) >= 1);
  next_txn_.value.store(Raw(first_txn_id), std::memory_order_relaxed);
  bounds_.all_visible_below.store(Raw(first_txn_id), std::memory_order_release);
}

absl::Status SnapshotManager::Begin(Txn& txn) {
  LATCHKEY_CHECK(!txn.active());
  TxnSlot* slot = &slots_[runtime_.ActorIndex() % kMaxTransactions];
  if (!TryTake(*slot)) slot = TakeSlot();
  if (slot == nullptr) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "{} transactions are running, the most that a database allows; commit or roll "
        "back some of them first",
        kMaxTransactions);
  }
  const auto slots_needed = static_cast<uint32_t>(slot - slots_.get()) + 1;
  if (slots_needed > high_water_.load(std::memory_order_acquire)) RaiseHighWater(slots_needed);
  txn.slot_ = slot;
  return absl::OkStatus();
}

TxnSlot* SnapshotManager::TakeSlot() {
  for (uint32_t i = 0; i < kMaxTransactions; ++i) {
    if (TryTake(slots_[i])) return &slots_[i];
  }
  return nullptr;
}

void SnapshotManager::RaiseHighWater(uint32_t slots) {
  uint32_t seen = high_water_.load();
  while (seen < slots && !high_water_.compare_exchange_weak(seen, slots)) {
  }
}

void SnapshotManager::TakeSnapshot(Txn& txn) {
  TxnSlot& slot = *txn.slot_;
  uint64_t below = bounds_.all_visible_below.load(std::memory_order_acquire);
  if (below < next_txn_.value.load(std::memory_order_relaxed) &&
      ++slot.lagging_snapshots % kSnapshotsPerScan == 0) {
    RefreshBounds();
    below = bounds_.all_visible_below.load(std::memory_order_acquire);
  }
  // The bound comes first: what has finished below it is then within read_ts.
  const uint64_t published = clock_.value.load(std::memory_order_acquire);
  slot.read_ts.store(published, std::memory_order_seq_cst);
  const CommitTs read_ts = clock_.value.load(std::memory_order_seq_cst);
  // Fails when the snapshot has expired between the two: then Expired says so.
  uint64_t expected = published;
  if (read_ts != published) slot.read_ts.compare_exchange_strong(expected, read_ts);
  txn.snapshot_ = {.read_ts = read_ts, .all_visible_below = TxnId{below}};
  txn.has_snapshot_ = true;
}

void SnapshotManager::RenewSnapshot(Txn& txn, CommitTs at_least) {
  // The committer is between its two stores, a few instructions from the clock's.
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

bool SnapshotManager::ExpireOldest() {
  CommitTs oldest = clock();
  TxnSlot* victim = nullptr;
  const uint32_t slots = high_water_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < slots; ++i) {
    const uint64_t read_ts = TxnSlot::TimestampIn(slots_[i].read_ts.load());
    if (read_ts >= oldest) continue;
    oldest = read_ts;
    victim = &slots_[i];
  }
  // The word with kHeld differs: who is held stays.
  uint64_t expected = oldest;
  return victim != nullptr && victim->read_ts.compare_exchange_strong(expected, TxnSlot::kExpired);
}

void SnapshotManager::ScanSlots() {
  // Counter and clock before the slots: see the head of snapshot_manager.h.
  uint64_t below = next_txn_.value.load(std::memory_order_seq_cst);
  const CommitTs clock = clock_.value.load(std::memory_order_seq_cst);
  CommitTs oldest = clock;
  const uint32_t slots = high_water_.load(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < slots; ++i) {
    below = std::min(below, slots_[i].writer.load(std::memory_order_seq_cst));
    oldest = std::min(oldest, TxnSlot::TimestampIn(slots_[i].read_ts.load()));
  }
  if (below > bounds_.all_visible_below.load(std::memory_order_relaxed)) {
    bounds_.all_visible_below.store(below, std::memory_order_release);
  }
  if (oldest > bounds_.oldest_snapshot.load(std::memory_order_relaxed)) {
    bounds_.oldest_snapshot.store(oldest, std::memory_order_release);
  }
  bounds_.refreshed_at.store(clock, std::memory_order_relaxed);
}

void SnapshotManager::MaybeRefreshBounds() {
  const uint64_t commits = clock_.value.load(std::memory_order_relaxed) -
                           bounds_.refreshed_at.load(std::memory_order_relaxed);
  // A scan reads one line per slot: with few users every commit can afford it.
  if (commits > high_water_.load(std::memory_order_relaxed) / 4) RefreshBounds();
}

}  // namespace latchkey
