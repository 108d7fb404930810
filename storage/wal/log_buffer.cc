#include "storage/wal/log_buffer.h"

#include <algorithm>
#include <cstring>

namespace latchkey {

void LogBuffer::Allocate() {
  for (GroupBuffer& half : halves_) half.memory = AlignedBuffer(half_bytes_);
}

void LogBuffer::BeginWithMark() {
  GroupBuffer& half = halves_[open_];
  BeginGroup(half, next_.load(), 0);
  half.begins_epoch = true;
  half.charge = half.taken = geometry_.block_bytes;
}

void LogBuffer::BeginGroup(GroupBuffer& half, uint64_t start, uint64_t sequence) {
  half.start = start;
  half.used = kGroupHeaderBytes;
  half.bytes = 0;
  half.records = 0;
  half.taken = 0;
  half.charge = 0;
  half.is_paid = false;
  half.sequence = sequence;
  half.begins_epoch = false;
}

void LogBuffer::CountRecords(const GroupBuffer& half) {
  records_ += half.records;
  record_bytes_ += half.record_bytes();
}

// Only one record pays for the group. What further records of it reserved for that is released.
void LogBuffer::PayGroup(GroupBuffer& half, uint64_t whole_group) {
  if (half.is_paid) {
    space_.Release(whole_group);
    return;
  }
  half.is_paid = true;
  half.taken += whole_group;
  half.charge += whole_group;
}

void LogBuffer::Seal() {
  GroupBuffer& half = halves_[open_];
  CountRecords(half);
  half.bytes = std::max(half.bytes, static_cast<uint32_t>(geometry_.RoundUp(half.used)));
  std::memset(half.memory.data() + half.used, 0, half.bytes - half.used);
  space_.SettleGroup(half.taken, half.charge, half.bytes);
  is_sealed_ = true;
  open_ ^= 1;
  BeginGroup(halves_[open_], half.end(), half.sequence + 1);
  next_.store(halves_[open_].start, std::memory_order_release);
}

void LogBuffer::DropOpen() {
  GroupBuffer& half = halves_[open_];
  CountRecords(half);
  half.start += half.used - kGroupHeaderBytes;
  half.used = kGroupHeaderBytes;
  half.records = 0;
}

}  // namespace latchkey
