#include "storage/wal/needed_stream.h"

#include "storage/base/canary.h"

namespace latchkey {

void NeededStream::Set(uint64_t from, LogEnd end) {
  oldest_ = from;
  last_group_start_ = end.last_group_start;
  starts_ = std::move(end.starts);
}

uint64_t NeededStream::GiveUpBelow(uint64_t oldest_needed) {
  const uint64_t oldest = std::min(oldest_needed, last_group_start_);
  if (oldest <= oldest_) return 0;
  oldest_ = oldest;
  starts_.PruneBelow(oldest);
  const uint64_t overrun = LATCHKEY_CANARY("log-ring-overrun") ? 1 : 0;
  const uint64_t floor = geometry_.IndexOf(std::min(starts_.AtOrBelow(oldest), oldest)) + overrun;
  if (floor <= floor_) return 0;
  const uint64_t moved = geometry_.StartOf(floor) - geometry_.StartOf(floor_);
  floor_ = floor;
  return moved;
}

}  // namespace latchkey
