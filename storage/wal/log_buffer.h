// LogBuffer: the records that are not written yet, in two halves. Each half holds one group.
//
// Records go into the open half. Sealing closes the open half and opens the other one. A sealed
// half is being written, or waits to be written; there is at most one.
//
// Invariants
//  1. The open group begins where the sealed or the last written group ends, so the stream has no
//     gaps.
//  2. The open half always has room for a group header, and next() is one past its last record.
//
// Not thread-safe: the log's latch guards it. Exception: next() may be called without the latch.
#pragma once

#include <absl/functional/function_ref.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "storage/base/check.h"
#include "storage/base/ids.h"
#include "storage/device/aligned_buffer.h"
#include "storage/wal/log_format.h"
#include "storage/wal/space_account.h"

namespace latchkey {

inline constexpr size_t kLogCacheLine = 64;

/// One half. It fills one cache line, because every append moves it to another processor.
struct alignas(kLogCacheLine) GroupBuffer {
  AlignedBuffer memory;
  uint64_t start = 0;  ///< position of its group
  uint32_t used = kGroupHeaderBytes;
  uint32_t bytes = 0;     ///< with padding, once sealed; before, the least that it takes
  uint64_t taken = 0;     ///< bytes that its records took from reservations, not accounted for yet
  uint64_t charge = 0;    ///< of `taken`, the part that pays for the group
  uint64_t sequence = 0;  ///< of its group since open
  uint32_t records = 0;
  bool is_paid = false;  ///< one record has paid for a whole group
  bool begins_epoch = false;

  bool empty() const { return used == kGroupHeaderBytes; }
  uint64_t end() const { return start + bytes; }  ///< REQUIRES: sealed
  /// Bytes of the records without their lengths.
  uint64_t record_bytes() const {
    return used - kGroupHeaderBytes - records * uint64_t{kRecordHeaderBytes};
  }
};
static_assert(sizeof(GroupBuffer) == kLogCacheLine);

class LogBuffer {
 public:
  /// `half_bytes`: whole blocks.
  LogBuffer(uint32_t half_bytes, const LogGeometry& geometry, SpaceAccount& space)
      : half_bytes_(half_bytes), geometry_(geometry), space_(space) {}

  /// Throws when memory runs out.
  void Allocate();
  /// The stream continues at `end`. REQUIRES: no group was begun yet.
  void SetEnd(uint64_t end) { next_ = end; }
  /// Opens the first group. It is the mark of a new epoch, and one block of reserved bytes pays for
  /// it.
  void BeginWithMark();

  uint32_t half_bytes() const { return half_bytes_; }
  static size_t MaxRecordBytes(uint32_t half_bytes) {
    return half_bytes - kGroupHeaderBytes - kRecordHeaderBytes;
  }
  /// One past the last record. Wait-free; a lower bound for callers without the latch.
  uint64_t next() const { return next_.load(std::memory_order_acquire); }
  const GroupBuffer& open() const { return halves_[open_]; }
  /// The half that is not open. It holds a group if is_sealed().
  GroupBuffer& sealed() { return halves_[open_ ^ 1]; }
  bool is_sealed() const { return is_sealed_; }

  /// As Log::PaidGroupSpace.
  uint64_t paid_group_space() const { return space_.price().PaidGroupSpace(); }
  bool HasRoom(size_t size) const { return open().used + kRecordHeaderBytes + size <= half_bytes_; }
  /// Appends a record that `fill` writes. `paid`: bytes that it reserved for a group of its own.
  /// REQUIRES: HasRoom(size).
  Lsn Append(size_t size, uint64_t paid, absl::FunctionRef<void(Lsn, std::byte*)> fill) {
    LATCHKEY_CHECK(size > 0);
    GroupBuffer& half = halves_[open_];
    std::byte* const at = half.memory.data() + half.used;
    const Lsn lsn{half.start + half.used};
    EncodeRecordHeader(static_cast<uint32_t>(size), at);
    fill(lsn, at + kRecordHeaderBytes);
    half.used += static_cast<uint32_t>(kRecordHeaderBytes + size);
    ++half.records;
    const GroupPrice& price = space_.price();
    const uint64_t own = price.OwnSpace(size);
    half.taken += own;
    half.charge += own;
    if (const uint64_t whole = price.WholeGroup(paid); whole != 0) PayGroup(half, whole);
    next_.store(half.start + half.used, std::memory_order_release);
    return lsn;
  }
  /// Bytes that the open group takes when it is sealed, less those that its records have paid. May
  /// be negative.
  int64_t UnpaidBytes() const {
    return static_cast<int64_t>(geometry_.RoundUp(open().used)) -
           static_cast<int64_t>(open().charge);
  }
  /// The open group will take at least `bytes`. REQUIRES: at most half_bytes(), whole blocks.
  void PadOpen(uint32_t bytes) { halves_[open_].bytes = bytes; }
  /// Closes the open half; the next record goes into the other. REQUIRES: !is_sealed().
  void Seal();
  /// The sealed group is durable, or will never be written.
  void ForgetSealed() { is_sealed_ = false; }
  /// Drops the records of the open half, which will never be written. LSNs go on.
  void DropOpen();

  /// Appended since open, with the open group's.
  uint64_t records() const { return records_ + open().records; }
  uint64_t record_bytes() const { return record_bytes_ + open().record_bytes(); }

 private:
  void BeginGroup(GroupBuffer& half, uint64_t start, uint64_t sequence);
  void CountRecords(const GroupBuffer& half);
  void PayGroup(GroupBuffer& half, uint64_t whole_group);

  std::array<GroupBuffer, 2> halves_;
  alignas(kLogCacheLine) std::atomic<uint64_t> next_{0};
  uint32_t open_ = 0;
  bool is_sealed_ = false;
  const uint32_t half_bytes_;
  const LogGeometry geometry_;
  SpaceAccount& space_;
  uint64_t records_ = 0, record_bytes_ = 0;  // of earlier groups
};

}  // namespace latchkey
