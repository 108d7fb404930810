#include "storage/wal/log_format.h"

#include <array>
#include <cstring>

#include "storage/base/hash.h"

namespace latchkey {
namespace {

constexpr std::array<char, 8> kFileMagic = {'L', 'a', 't', 'c', 'h', 'L', 'o', 'g'};
constexpr uint32_t kSegmentMagic = 0x47534b4c;  // "LKSG"
constexpr uint32_t kGroupMagic = 0x50474b4c;    // "LKGP"
constexpr uint32_t kBeginsEpoch = 1;            // the only flag of a group

template <typename T>
void Put(std::byte* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}
template <typename T>
T Get(const std::byte* in) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(in[i]) << (8 * i);
  return value;
}

// Every header has 64 bytes; the last 8 are the checksum of the first 56.
constexpr size_t kChecksumAt = 56;

void PutChecksum(std::byte* header, uint64_t seed) {
  Put<uint64_t>(header + kChecksumAt, Hash64(header, kChecksumAt, seed));
}
bool HasChecksum(const std::byte* header, uint64_t seed) {
  return Get<uint64_t>(header + kChecksumAt) == Hash64(header, kChecksumAt, seed);
}

uint64_t BodyChecksum(const std::byte* group, uint32_t bytes, uint64_t database_id) {
  return Hash64(group + kGroupHeaderBytes, bytes - kGroupHeaderBytes, database_id);
}

bool IsPossible(const GroupHeader& h, uint32_t block_bytes) {
  return h.bytes >= block_bytes && h.bytes <= kMaxGroupBytes && h.bytes % block_bytes == 0 &&
         h.lsn % block_bytes == 0 && h.record_bytes <= h.bytes - kGroupHeaderBytes &&
         h.lsn <= UINT64_MAX / 2;
}

}  // namespace

bool HasLogMagic(const std::byte* in) {
  return std::memcmp(in, kFileMagic.data(), kFileMagic.size()) == 0;
}

void EncodeLogFileHeader(const LogFileHeader& header, std::byte* out) {
  std::memset(out, 0, kLogFileHeaderBytes);
  std::memcpy(out, kFileMagic.data(), kFileMagic.size());
  Put(out + 8, header.version);
  Put(out + 12, header.incompatible);
  Put(out + 16, header.read_only_compatible);
  Put(out + 20, header.compatible);
  Put(out + 24, header.database_id);
  Put(out + 32, header.segment_bytes);
  Put(out + 36, header.block_bytes);
  Put(out + 40, header.slots);
  // Unseeded, so that a log of another database is recognised as a log.
  PutChecksum(out, 0);
}

std::optional<LogFileHeader> DecodeLogFileHeader(const std::byte* in) {
  if (!HasLogMagic(in) || !HasChecksum(in, 0)) return std::nullopt;
  return LogFileHeader{.version = Get<uint32_t>(in + 8),
                       .incompatible = Get<uint32_t>(in + 12),
                       .read_only_compatible = Get<uint32_t>(in + 16),
                       .compatible = Get<uint32_t>(in + 20),
                       .database_id = Get<uint64_t>(in + 24),
                       .segment_bytes = Get<uint32_t>(in + 32),
                       .block_bytes = Get<uint32_t>(in + 36),
                       .slots = Get<uint64_t>(in + 40)};
}

void EncodeSegmentHeader(const SegmentHeader& header, uint64_t database_id, std::byte* out) {
  std::memset(out, 0, kSegmentHeaderBytes);
  Put(out, kSegmentMagic);
  Put(out + 4, header.slot);
  Put(out + 8, header.index);
  Put(out + 16, header.epoch);
  PutChecksum(out, database_id);
}

std::optional<SegmentHeader> DecodeSegmentHeader(const std::byte* in, uint64_t database_id,
                                                 uint32_t slot) {
  if (Get<uint32_t>(in) != kSegmentMagic || !HasChecksum(in, database_id)) return std::nullopt;
  const SegmentHeader header{.slot = Get<uint32_t>(in + 4),
                             .index = Get<uint64_t>(in + 8),
                             .epoch = Get<uint64_t>(in + 16)};
  if (header.slot != slot) return std::nullopt;
  // Positions in such a segment would not fit 63 bits.
  if (header.index != kFreeSegment && header.index > UINT64_MAX / 2 / kMaxLogSegment) {
    return std::nullopt;
  }
  return header;
}

void SealGroup(GroupHeader header, uint64_t database_id, std::byte* group) {
  std::memset(group, 0, kGroupHeaderBytes);
  Put(group, kGroupMagic);
  Put(group + 4, header.begins_epoch ? kBeginsEpoch : 0u);
  Put(group + 8, header.lsn);
  Put(group + 16, header.epoch);
  Put(group + 24, header.bytes);
  Put(group + 28, header.record_bytes);
  Put(group + 32, header.records);
  Put(group + 40, BodyChecksum(group, header.bytes, database_id));
  PutChecksum(group, database_id);
}

std::optional<GroupHeader> DecodeAnyGroupHeader(const std::byte* in, uint64_t database_id,
                                                uint32_t block_bytes) {
  if (Get<uint32_t>(in) != kGroupMagic || !HasChecksum(in, database_id)) return std::nullopt;
  const uint32_t flags = Get<uint32_t>(in + 4);
  const GroupHeader header{.lsn = Get<uint64_t>(in + 8),
                           .epoch = Get<uint64_t>(in + 16),
                           .begins_epoch = (flags & kBeginsEpoch) != 0,
                           .bytes = Get<uint32_t>(in + 24),
                           .record_bytes = Get<uint32_t>(in + 28),
                           .records = Get<uint32_t>(in + 32),
                           .body_checksum = Get<uint64_t>(in + 40)};
  if (!IsPossible(header, block_bytes)) return std::nullopt;
  return header;
}

std::optional<GroupHeader> DecodeGroupHeader(const std::byte* in, uint64_t database_id,
                                             uint64_t lsn, uint32_t block_bytes) {
  std::optional<GroupHeader> header = DecodeAnyGroupHeader(in, database_id, block_bytes);
  if (header && header->lsn != lsn) return std::nullopt;
  return header;
}

bool IsGroupBodySound(const GroupHeader& header, uint64_t database_id, const std::byte* group) {
  return header.body_checksum == BodyChecksum(group, header.bytes, database_id);
}

void EncodeRecordHeader(uint32_t size, std::byte* out) { Put(out, size); }

std::span<const std::byte> RecordAt(const GroupHeader& header, const std::byte* group,
                                    uint64_t offset) {
  const uint64_t end = kGroupHeaderBytes + header.record_bytes;
  if (offset < kGroupHeaderBytes || offset >= end || end - offset <= kRecordHeaderBytes) return {};
  const uint32_t size = Get<uint32_t>(group + offset);
  if (size > end - offset - kRecordHeaderBytes) return {};
  return {group + offset + kRecordHeaderBytes, size};
}

}  // namespace latchkey
