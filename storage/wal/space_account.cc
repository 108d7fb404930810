#include "storage/wal/space_account.h"

namespace latchkey {

void SpaceAccount::Begin(uint64_t slots, uint64_t used) {
  slots_ = slots;
  available_ = static_cast<int64_t>(slots * geometry_.payload()) - static_cast<int64_t>(used) -
               KeptBack(slots);
}

// The bytes that normal and urgent claims leave are for marks of later openings.
int64_t SpaceAccount::LowestAvailable(SpaceClaim claim) const {
  const int64_t kept = KeptBack();
  if (claim == SpaceClaim::kNormal) return 0;
  if (claim == SpaceClaim::kMark) return -kept;
  return price_.is_shared() ? -kept / 2 : -(kept - kept / 4);
}

bool SpaceAccount::TryTake(uint64_t bytes, SpaceClaim claim) {
  const int64_t lowest = LowestAvailable(claim);
  int64_t available = available_.load(std::memory_order_relaxed);
  do {
    if (available - static_cast<int64_t>(bytes) < lowest) return false;
  } while (!available_.compare_exchange_weak(available, available - static_cast<int64_t>(bytes),
                                             std::memory_order_relaxed));
  reserved_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return true;
}

void SpaceAccount::AddSlots(uint64_t count) {
  const uint64_t before = slots_.load();
  slots_.store(before + count, std::memory_order_relaxed);
  available_.fetch_add(static_cast<int64_t>(count * geometry_.payload()) + KeptBack(before) -
                           KeptBack(before + count),
                       std::memory_order_relaxed);
}

bool SpaceAccount::RemoveSlots(uint64_t count) {
  const uint64_t before = slots_.load(), after = before - count;
  const int64_t removed =
      static_cast<int64_t>(count * geometry_.payload()) + KeptBack(after) - KeptBack(before);
  const auto least = static_cast<int64_t>(after * geometry_.payload() / 4);
  int64_t available = available_.load(std::memory_order_relaxed);
  do {
    if (available - removed < least) return false;
  } while (
      !available_.compare_exchange_weak(available, available - removed, std::memory_order_relaxed));
  slots_.store(after, std::memory_order_relaxed);
  return true;
}

}  // namespace latchkey
