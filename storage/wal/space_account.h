// SpaceAccount: how many bytes of a log's stream may still be reserved, and how many are reserved.
//
// Space is counted in stream bytes. Available = bytes in all slots, less the stream from its oldest
// needed segment on, less the reserved and the kept-back bytes. Segments follow each other without
// gaps, so a thread that has reserved bytes has slots for them.
//
// Normal claims never use the kept-back bytes. The last quarter of these bytes is for the marks of
// later openings.
//
// GroupSpace::kShared: the kept-back bytes pay for groups that their records have not paid for.
// When a quarter of the bytes is used, the device grows. If it cannot grow, scarce() asks callers
// to flush less. Urgent claims may use half of the bytes, unpaid groups all but the last quarter.
//
// GroupSpace::kOfRecords: every group is paid for. Urgent claims may use all but the last quarter.
//
// Thread-safety: all actors may call every member at once, except Begin. No call waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "storage/base/check.h"
#include "storage/wal/group_price.h"
#include "storage/wal/log_format.h"

namespace latchkey {

/// How much of the kept-back bytes a reservation may use. kNormal: none. kUrgent: a part. kMark:
/// all of them, for the mark of an opening: without a mark, a full log could not be recovered.
enum class SpaceClaim : uint8_t { kNormal, kUrgent, kMark };

class SpaceAccount {
 public:
  /// `least_kept_back`: as LogOptions.
  SpaceAccount(const LogGeometry& geometry, GroupSpace space, uint64_t least_kept_back = 0)
      : geometry_(geometry), price_(space, geometry), least_kept_back_(least_kept_back) {}

  const GroupPrice& price() const { return price_; }

  /// Opens the account of a log of `slots` slots, of which `used` stream bytes are needed.
  void Begin(uint64_t slots, uint64_t used);
  /// Reserves `bytes`. False, with nothing changed: not available to `claim`.
  bool TryTake(uint64_t bytes, SpaceClaim claim);
  /// Gives back reserved bytes.
  void Release(uint64_t bytes) {
    TakeFromReserved(bytes);
    available_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  /// A group of `group_bytes` was sealed. Its records took `taken` bytes from reservations; of
  /// these `charge` bytes pay for the group.
  void SettleGroup(uint64_t taken, uint64_t charge, uint64_t group_bytes) {
    TakeFromReserved(taken);
    available_.fetch_add(static_cast<int64_t>(charge) - static_cast<int64_t>(group_bytes),
                         std::memory_order_relaxed);
  }
  /// The device has `count` slots more; a part of their bytes is kept back.
  void AddSlots(uint64_t count);
  /// Takes `count` slots out of the account. False, with nothing changed: then less than a quarter of
  /// the log would be available. REQUIRES: one thread at a time calls this and AddSlots.
  bool RemoveSlots(uint64_t count);
  /// `bytes` of the stream are not needed any more.
  void AddUnneeded(uint64_t bytes) {
    available_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }

  uint64_t slots() const { return slots_.load(); }
  /// Stream bytes in use or reserved.
  uint64_t taken() const {
    const int64_t all = static_cast<int64_t>(slots_.load() * geometry_.payload()) - KeptBack();
    return static_cast<uint64_t>(std::max<int64_t>(all - available_.load(), 0));
  }
  uint64_t reserved() const {
    return static_cast<uint64_t>(reserved_.load(std::memory_order_relaxed));
  }
  /// Bytes that must become available before TryTake can succeed; 0 or negative: none.
  int64_t Lacking(uint64_t bytes, SpaceClaim claim) const {
    return static_cast<int64_t>(bytes) - available_.load() + LowestAvailable(claim);
  }
  /// Whether the available bytes are less than one `share`-th of the log's.
  bool IsBelowShare(uint64_t share) const {
    return available_.load(std::memory_order_relaxed) <
           static_cast<int64_t>(slots_.load(std::memory_order_relaxed) * geometry_.payload() /
                                share);
  }
  /// As Log::scarce.
  bool scarce() const {
    return price_.is_shared() && available_.load(std::memory_order_relaxed) < LowestBeforeGrowth();
  }
  /// Whether the device need not grow before a group that takes `unpaid` bytes more than its
  /// records have paid.
  bool CanPayWithoutGrowth(int64_t unpaid) const { return CanPay(unpaid, LowestBeforeGrowth()); }
  /// Whether such a group may be written although the device cannot grow. It must leave the last
  /// quarter of the kept-back bytes.
  bool CanPayAtLeast(int64_t unpaid) const {
    const int64_t kept = KeptBack();
    return CanPay(unpaid, -(kept - kept / 4));
  }

 private:
  void TakeFromReserved(uint64_t bytes) {
    const int64_t before =
        reserved_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    LATCHKEY_CHECK(before >= static_cast<int64_t>(bytes));  // never more than was reserved
  }
  int64_t KeptBack(uint64_t slots) const {
    const uint64_t all = slots * geometry_.payload();
    return static_cast<int64_t>(std::max<uint64_t>(
        {all / 16, uint64_t{16} * geometry_.block_bytes, std::min(least_kept_back_, all / 2)}));
  }
  int64_t KeptBack() const { return KeptBack(slots_.load(std::memory_order_relaxed)); }
  int64_t LowestBeforeGrowth() const { return -KeptBack() / 4; }
  int64_t LowestAvailable(SpaceClaim claim) const;
  bool CanPay(int64_t unpaid, int64_t lowest) const {
    return unpaid <= 0 || available_.load(std::memory_order_relaxed) - unpaid >= lowest;
  }

  const LogGeometry geometry_;
  const GroupPrice price_;
  const uint64_t least_kept_back_;
  // Stream bytes that may still be reserved; negative: some of the kept-back bytes are used.
  std::atomic<int64_t> available_{0};
  std::atomic<int64_t> reserved_{0};
  std::atomic<uint64_t> slots_{0};
};

}  // namespace latchkey
