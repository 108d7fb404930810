// Reading a log's groups from its device: forward scans that prove every group, the look-ahead that
// tells a torn tail from damage, and the way back from a record to its group.
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

/// Goes through the groups from one position on, as long as each follows soundly on the one before.
/// Not thread-safe; several may scan one medium.
class GroupScanner {
 public:
  enum class Found {
    kGroup,    ///< a sound group, proved: header(), group()
    kNothing,  ///< no group of the expected epoch begins here
    kTorn,     ///< a header, but not all of its group
    kGap,      ///< a group of a later epoch, whose mark is missing; or one that goes on in a
               ///< segment that is nowhere, though its slot was known before the group was written
  };

  /// `limit`: no group beyond it is looked at (UINT64_MAX: as far as there are segments).
  GroupScanner(LogMedium& medium, uint64_t from, uint64_t limit)
      : medium_(medium), position_(from), limit_(limit) {}

  /// Looks at position(); after kGroup, position() is one past it. DataLoss for a proved group
  /// whose records make no sense, and the device's errors.
  absl::StatusOr<Found> Next();

  uint64_t position() const { return position_; }
  /// Of the last group found; nullopt before.
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

/// The position of some group of `epoch` or later that lies behind `end`, anywhere on the device:
/// proof that the log went on. Only headers are looked at: a group is written when all before it
/// are durable.
absl::StatusOr<std::optional<uint64_t>> FindLaterGroup(LogMedium& medium, uint64_t end,
                                                       uint64_t epoch);

/// The last group that begins at or below `lsn`, going back at most the length of the largest
/// group; nullopt when there is none. Only its header is proved.
absl::StatusOr<std::optional<GroupHeader>> FindGroupBefore(LogMedium& medium, uint64_t lsn);

/// One group in memory, for reading single records. Not thread-safe.
class LoadedGroup {
 public:
  bool Holds(uint64_t lsn) const {
    return bytes_.size() > 0 && lsn >= header_.lsn && lsn - header_.lsn < header_.bytes;
  }
  /// Loads the group that holds `lsn`. DataLoss when there is none.
  absl::Status Load(LogMedium& medium, uint64_t lsn);
  /// Empty when no record begins at `lsn`. REQUIRES: Holds(lsn).
  std::span<const std::byte> Record(uint64_t lsn) const;

 private:
  GroupHeader header_;
  AlignedBuffer bytes_;
  std::vector<uint32_t> offsets_;  // of the records, ascending
};

}  // namespace latchkey
