// RaidMap: the single-disk I/O of a request on an array. Pure arithmetic, without state.
//
// RAID-0: unit i of the device lies on disk i mod n, as its unit i / n.
//
// RAID-5, left-symmetric: row r has one unit on each disk. The parity of row r is on disk
// (n - 1 - r mod n); its n - 1 data units are on the disks after it, cyclically.
//
//            disk 0  disk 1  disk 2  disk 3        (n = 4; numbers: units of the device)
//     row 0     0       1       2       P
//     row 1     4       5       P       3
//     row 2     8       P       6       7
//     row 3     P       9      10      11
//
// A write reads what it needs for the new parity first, and writes data and parity after all its
// reads. Per row:
//   - all data is overwritten: no reads, one write per disk (a full-stripe write);
//   - at most half of the data units: reads their old content and the old parity (a small write is 4
//     I/Os on 2 disks);
//   - more than half: reads the rest of the row instead.
// (Chen et al., "RAID: High-Performance, Reliable Secondary Storage", ACM Computing Surveys 1994.)
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/device/simulated/medium.h"

namespace latchkey {

enum class RaidLevel : uint8_t { kRaid0, kRaid5 };
inline constexpr std::string_view kRaidLevels[] = {"raid0", "raid5"};  // in that order

/// The I/O of one request. Adjacent I/O of one disk is one.
struct RaidPlan {
  std::vector<DiskIo> first;   ///< reads; writes that need no reads
  std::vector<DiskIo> second;  ///< writes that wait for all of `first`
};

/// Immutable.
class RaidMap {
 public:
  static constexpr uint32_t kMinRaid5Disks = 3;

  /// REQUIRES: disks >= 1 (kRaid5: >= kMinRaid5Disks); unit_bytes > 0.
  RaidMap(RaidLevel level, uint32_t disks, uint64_t unit_bytes);

  RaidPlan Plan(const MediumIo& io) const;
  RaidLevel level() const { return level_; }
  uint32_t disks() const { return disks_; }
  uint64_t unit_bytes() const { return unit_bytes_; }
  uint32_t data_disks() const { return level_ == RaidLevel::kRaid0 ? disks_ : disks_ - 1; }

 private:
  // A part of a row: the bytes [begin, end) of the data unit `index` (0..data_disks) of row `row`.
  struct Piece {
    uint64_t row;
    uint32_t index;
    uint64_t begin, end;
  };
  std::vector<Piece> PiecesOf(const MediumIo& io) const;
  uint32_t ParityDisk(uint64_t row) const;
  uint32_t DataDisk(uint64_t row, uint32_t index) const;
  DiskIo OnDisk(const MediumIo& io, IoRequest::Op op, uint32_t disk, const Piece& piece) const;
  // Adds the I/O of a write to one row, whose pieces are [first, last).
  void PlanRowWrite(const MediumIo& io, const Piece* first, const Piece* last,
                    RaidPlan& plan) const;

  const RaidLevel level_;
  const uint32_t disks_;
  const uint64_t unit_bytes_;
};

}  // namespace latchkey
