#include "storage/device/simulated/raid_map.h"

#include <algorithm>
#include <tuple>

#include "storage/base/check.h"

namespace latchkey {
namespace {

using Op = IoRequest::Op;

// Joins the I/O of each disk that is adjacent on it. Disks come in ascending order.
void JoinAdjacent(std::vector<DiskIo>& ios) {
  std::sort(ios.begin(), ios.end(), [](const DiskIo& a, const DiskIo& b) {
    return std::tie(a.disk, a.offset, a.op) < std::tie(b.disk, b.offset, b.op);
  });
  size_t kept = 0;
  for (const DiskIo& io : ios) {
    DiskIo* last = kept == 0 ? nullptr : &ios[kept - 1];
    if (last != nullptr && last->disk == io.disk && last->op == io.op &&
        last->offset + last->length == io.offset) {
      last->length += io.length;
    } else {
      ios[kept++] = io;
    }
  }
  ios.resize(kept);
}

}  // namespace

RaidMap::RaidMap(RaidLevel level, uint32_t disks, uint64_t unit_bytes)
    : level_(level), disks_(disks), unit_bytes_(unit_bytes) {
  LATCHKEY_CHECK(disks >= (level == RaidLevel::kRaid5 ? kMinRaid5Disks : 1) && unit_bytes > 0);
}

uint32_t RaidMap::ParityDisk(uint64_t row) const {
  return disks_ - 1 - static_cast<uint32_t>(row % disks_);
}

uint32_t RaidMap::DataDisk(uint64_t row, uint32_t index) const {
  return level_ == RaidLevel::kRaid0 ? index : (ParityDisk(row) + 1 + index) % disks_;
}

std::vector<RaidMap::Piece> RaidMap::PiecesOf(const MediumIo& io) const {
  std::vector<Piece> pieces;
  const uint64_t end = io.offset + io.length;
  for (uint64_t at = io.offset; at < end;) {
    const uint64_t unit = at / unit_bytes_, begin = at % unit_bytes_;
    const uint64_t length = std::min(unit_bytes_ - begin, end - at);
    pieces.push_back({.row = unit / data_disks(),
                      .index = static_cast<uint32_t>(unit % data_disks()),
                      .begin = begin,
                      .end = begin + length});
    at += length;
  }
  return pieces;
}

DiskIo RaidMap::OnDisk(const MediumIo& io, Op op, uint32_t disk, const Piece& piece) const {
  return {.op = op,
          .io_class = io.io_class,
          .disk = disk,
          .offset = piece.row * unit_bytes_ + piece.begin,
          .length = piece.end - piece.begin};
}

RaidPlan RaidMap::Plan(const MediumIo& io) const {
  RaidPlan plan;
  const std::vector<Piece> pieces = PiecesOf(io);
  if (level_ == RaidLevel::kRaid0 || io.op == Op::kRead) {
    for (const Piece& piece : pieces) {
      plan.first.push_back(OnDisk(io, io.op, DataDisk(piece.row, piece.index), piece));
    }
  } else {
    const Piece* const end = pieces.data() + pieces.size();
    for (const Piece* row = pieces.data(); row != end;) {
      const Piece* next = row;
      while (next != end && next->row == row->row) ++next;
      PlanRowWrite(io, row, next, plan);
      row = next;
    }
  }
  JoinAdjacent(plan.first);
  JoinAdjacent(plan.second);
  return plan;
}

void RaidMap::PlanRowWrite(const MediumIo& io, const Piece* first, const Piece* last,
                           RaidPlan& plan) const {
  // The bytes of the parity unit that change.
  Piece parity{.row = first->row, .index = 0, .begin = unit_bytes_, .end = 0};
  bool all_equal = true;
  for (const Piece* piece = first; piece != last; ++piece) {
    parity.begin = std::min(parity.begin, piece->begin);
    parity.end = std::max(parity.end, piece->end);
  }
  for (const Piece* piece = first; piece != last; ++piece) {
    all_equal = all_equal && piece->begin == parity.begin && piece->end == parity.end;
  }
  const auto written = static_cast<uint32_t>(last - first);
  const bool full = written == data_disks() && all_equal;
  const bool reads_old = 2 * written <= data_disks();
  if (!full && reads_old) {
    for (const Piece* piece = first; piece != last; ++piece) {
      plan.first.push_back(OnDisk(io, Op::kRead, DataDisk(piece->row, piece->index), *piece));
    }
    plan.first.push_back(OnDisk(io, Op::kRead, ParityDisk(parity.row), parity));
  } else if (!full) {
    for (uint32_t index = 0; index < data_disks(); ++index) {
      const Piece* piece =
          std::find_if(first, last, [&](const Piece& p) { return p.index == index; });
      const bool covered =
          piece != last && piece->begin == parity.begin && piece->end == parity.end;
      if (!covered) {
        plan.first.push_back(OnDisk(io, Op::kRead, DataDisk(parity.row, index), parity));
      }
    }
  }
  std::vector<DiskIo>& writes = full ? plan.first : plan.second;
  for (const Piece* piece = first; piece != last; ++piece) {
    writes.push_back(OnDisk(io, Op::kWrite, DataDisk(piece->row, piece->index), *piece));
  }
  writes.push_back(OnDisk(io, Op::kWrite, ParityDisk(parity.row), parity));
}

}  // namespace latchkey
