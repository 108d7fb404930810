// Checks the order in which a database makes its writes durable. The monitor watches the devices
// from outside and does not use the engine's own view (RELIABILITY.md 3.1, monitors).
//
//  1. A page is written, to its slot or to a doublewrite area, only after the log is durable up to
//     its LSN.
//  2. A page in a doublewrite area is written to its slot only after the area is durable.
//  3. A group of the map journal is written only after the pages that it names are durable.
//  4. A superblock is written only after these are durable: its checkpoint, the log up to the end
//     that its client root names, the journal up to the begin of its replay, and the superblock
//     copy written before it.
//
// The content of a disk at the begin of the watch counts as durable: a crash has left it.
//
// Thread-safety: as DiskMonitor, one call at a time.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "layout/geometry.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/page_format.h"
#include "storage/wal/log_format.h"

namespace latchkey {

struct JournalEntry;

/// Geometry of a database's files, and the disks on which they lie.
struct DatabaseOnDisks {
  static constexpr uint32_t kData = 0, kLog = 1, kJournal = 2;

  uint64_t database_id = 0;
  uint32_t page_size = 0;
  bool compresses = false;  ///< the data file has page compression
  LogGeometry log, journal;
};

/// Whether the bytes at `offset` are a header of the log's file or of one of its segments.
bool IsLogHeader(const LogGeometry& geometry, uint64_t offset);

/// The written and the durable end of one log, derived from the writes of its device. Groups follow
/// each other, one at a time.
class LogProgress {
 public:
  LogProgress(const LogGeometry& geometry, uint64_t database_id)
      : geometry_(geometry), database_id_(database_id) {}

  /// Header of the group that begins in this write; nullopt: none begins.
  std::optional<GroupHeader> GroupIn(uint64_t offset, std::span<const std::byte> bytes) const;
  void OnSubmitted(uint64_t offset, std::span<const std::byte> bytes);
  /// `write`: number of the completed write on this disk.
  void OnCompleted(uint64_t offset, std::span<const std::byte> bytes, uint64_t write);
  void OnDurable(uint64_t writes);

  /// Whether `durable_end` is known: after the first group.
  bool known() const { return known_; }
  /// Every log position below it is durable.
  uint64_t durable_end() const { return durable_end_; }

 private:
  const LogGeometry geometry_;
  const uint64_t database_id_;
  bool known_ = false;
  uint64_t durable_end_ = 0;
  uint64_t group_end_ = 0, group_missing_ = 0;           // of the group in flight
  std::deque<std::pair<uint64_t, uint64_t>> completed_;  // number of the last write, end
};

class WriteOrderMonitor final : public DiskMonitor {
 public:
  explicit WriteOrderMonitor(const DatabaseOnDisks& database);

  std::string OnWriteSubmitted(uint32_t disk, uint64_t offset,
                               std::span<const std::byte> bytes) override;
  void OnWriteCompleted(uint32_t disk, uint64_t offset, std::span<const std::byte> bytes,
                        uint64_t write) override;
  void OnDurable(uint32_t disk, uint64_t writes) override;

 private:
  static constexpr uint64_t kInFlight = UINT64_MAX;
  /// The newest write of one place, and its number on the data disk.
  struct LastWrite {
    uint64_t page = 0;
    uint32_t sequence = 0;
    uint64_t number = kInFlight;
  };

  bool IsDurable(uint64_t number) const { return number <= durable_; }
  uint32_t slot_size() const {
    return database_.page_size / (database_.compresses ? kSlotsOfCompressed : 1);
  }
  void ForEachPage(std::span<const std::byte> bytes,
                   absl::FunctionRef<void(uint64_t offset, PageHeader header)> visit) const;
  std::string OnDataSubmitted(uint64_t offset, std::span<const std::byte> bytes);
  std::string OnPage(uint64_t offset, const PageHeader& header);
  std::string OnSuperblock(std::span<const std::byte> block);
  std::string OnJournalGroup(const GroupHeader& group, std::span<const std::byte> bytes) const;
  std::string OnJournalEntry(const JournalEntry& entry) const;
  void Note(uint64_t offset, std::span<const std::byte> bytes, uint64_t number);

  const DatabaseOnDisks database_;
  LogProgress log_, journal_;
  uint64_t durable_ = 0;                                  // writes of the data disk
  absl::flat_hash_map<uint64_t, LastWrite> slots_;        // by offset
  absl::flat_hash_map<uint64_t, LastWrite> doublewrite_;  // by page id
  absl::flat_hash_map<uint64_t, LastWrite> checkpoint_;   // pages of `checkpoint_generation_`
  uint64_t checkpoint_generation_ = 0;
  uint64_t superblock_ = 0;  // number of the newest copy's write
};

}  // namespace latchkey
