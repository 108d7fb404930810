// Reading a log's groups from its device: forward scans that check every group, the look-ahead that
// distinguishes a torn tail from damage, and the search for the group of a record.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/device/aligned_buffer.h"
#include "storage/device/block_device.h"
#include "storage/wal/log_format.h"
#include "storage/wal/log_medium.h"

namespace latchkey {

/// Scans the groups from one position on, as long as each is a sound continuation of the previous
/// one. Not thread-safe; several scanners may read one medium.
class GroupScanner {
 public:
  enum class Found {
    kGroup,    ///< a sound group: header(), group()
    kNothing,  ///< no group of the expected epoch begins here
    kTorn,     ///< a sound header, but an incomplete group
    kGap,      ///< a group of a later epoch whose mark is missing; or a group that goes on in a
               ///< segment without a slot, although slots are durable before groups are written
  };

  /// `limit`: the scan ends there (UINT64_MAX: as far as there are segments).
  GroupScanner(LogMedium& medium, uint64_t from, uint64_t limit)
      : medium_(medium), position_(from), limit_(limit) {}

  /// Examines position(); after kGroup, position() is one past the group. DataLoss for a sound
  /// group whose records make no sense; and the device's errors.
  absl::StatusOr<Found> Next();

  uint64_t position() const { return position_; }
  /// The epoch of the last group found; nullopt before the first.
  std::optional<uint64_t> epoch() const { return epoch_; }
  const GroupHeader& header() const { return header_; }
  const std::byte* group() const { return group_; }

 private:
  // The bytes [lsn, lsn + bytes) of the stream, read in large pieces. REQUIRES: they are there.
  absl::StatusOr<const std::byte*> Window(uint64_t lsn, uint64_t bytes, uint64_t readable_end);
  absl::Status ReadDeep(uint64_t lsn, std::span<std::byte> out);
  absl::Status CheckRecords() const;

  LogMedium& medium_;
  uint64_t position_;
  const uint64_t limit_;
  std::optional<uint64_t> epoch_;
  GroupHeader header_;
  const std::byte* group_ = nullptr;
  AlignedBuffer window_;
  uint64_t window_begin_ = 0, window_end_ = 0;
  std::unique_ptr<IoQueue> queue_;  // nullptr until large windows are read
};

/// The position of any group of `epoch` or later that lies behind `end`, anywhere on the device: it
/// proves that the log went on. Examines headers only. That suffices, because a group is written
/// only after all groups before it are durable.
absl::StatusOr<std::optional<uint64_t>> FindLaterGroup(LogMedium& medium, uint64_t end,
                                                       uint64_t epoch);

/// The last group that begins at or below `lsn`, at most the length of the largest group before it;
/// nullopt when there is none. Checks its header only.
absl::StatusOr<std::optional<GroupHeader>> FindGroupBefore(LogMedium& medium, uint64_t lsn);

/// One group in memory, for reading single records. Not thread-safe.
class LoadedGroup {
 public:
  bool Holds(uint64_t lsn) const {
    return bytes_.size() > 0 && lsn >= header_.lsn && lsn - header_.lsn < header_.bytes;
  }
  /// Loads the group that holds `lsn`. DataLoss when there is none.
  absl::Status Load(LogMedium& medium, uint64_t lsn);
  /// The record at `lsn`; empty when no record begins there. REQUIRES: Holds(lsn).
  std::span<const std::byte> Record(uint64_t lsn) const;

 private:
  GroupHeader header_;
  AlignedBuffer bytes_;
  std::vector<uint32_t> offsets_;  // of the records, ascending
};

}  // namespace latchkey
