// The bytes of a log on its device (FORMAT.md describes them): file header, segment headers, group
// headers, records. Fixed width and little-endian on every machine.
//
// Decoding accepts any bytes: invalid ones give nullopt, never a crash.
// Thread-safety: pure functions and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace latchkey {

// ---- The file header: two copies, written at creation, and one after the other at each growth.

inline constexpr uint64_t kLogHeaderCopyBytes = 4096;  ///< distance between the copies
inline constexpr uint64_t kLogSegmentsBegin = 2 * kLogHeaderCopyBytes;
inline constexpr uint32_t kLogFormatVersion = 1;
inline constexpr size_t kLogFileHeaderBytes = 64;
/// Incompatible feature bits that this code knows: a file with others is refused.
inline constexpr uint32_t kLogKnownIncompatible = 0;

inline constexpr uint32_t kMinLogSegment = 8u << 10;
inline constexpr uint32_t kMaxLogSegment = 64u << 20;
inline constexpr uint32_t kMinLogBlock = 512;
inline constexpr uint32_t kMaxLogBlock = 4096;

struct LogFileHeader {
  uint32_t version = kLogFormatVersion;
  uint32_t incompatible = 0, read_only_compatible = 0, compatible = 0;  ///< feature bits
  uint64_t database_id = 0;
  uint32_t segment_bytes = 0;
  uint32_t block_bytes = 0;  ///< groups are padded to it
  uint64_t slots = 0;        ///< the device holds at least this many
};

void EncodeLogFileHeader(const LogFileHeader& header, std::byte* out);
/// nullopt: no log header, or a damaged one.
std::optional<LogFileHeader> DecodeLogFileHeader(const std::byte* in);
/// Whether the bytes begin as a log does, sound or not.
bool HasLogMagic(const std::byte* in);

// ---- Geometry.

/// Divides the stream into segments. `segment_bytes` and `block_bytes` are powers of two in range.
struct LogGeometry {
  uint32_t segment_bytes = 0;
  uint32_t block_bytes = 0;

  /// Stream bytes of one segment.
  uint64_t payload() const { return segment_bytes - block_bytes; }
  uint64_t IndexOf(uint64_t lsn) const { return lsn / payload(); }
  uint64_t StartOf(uint64_t index) const { return index * payload(); }
  uint64_t SlotOffset(uint64_t slot) const { return kLogSegmentsBegin + slot * segment_bytes; }
  uint64_t Offset(uint64_t slot, uint64_t lsn) const {
    return SlotOffset(slot) + block_bytes + lsn % payload();
  }
  uint64_t RoundUp(uint64_t bytes) const {
    return (bytes + block_bytes - 1) & ~uint64_t{block_bytes - 1};
  }
  uint64_t RoundDown(uint64_t bytes) const { return bytes & ~uint64_t{block_bytes - 1}; }
};

// ---- The segment header: first block of each slot, rewritten when the slot gets another segment.

inline constexpr size_t kSegmentHeaderBytes = 64;
inline constexpr uint64_t kFreeSegment = UINT64_MAX;

struct SegmentHeader {
  uint32_t slot = 0;              ///< the slot of this header
  uint64_t index = kFreeSegment;  ///< index of the stream's segment in this slot
  uint64_t epoch = 0;             ///< epoch in which the header was written
};

void EncodeSegmentHeader(const SegmentHeader& header, uint64_t database_id, std::byte* out);
/// nullopt unless sound and of `slot`.
std::optional<SegmentHeader> DecodeSegmentHeader(const std::byte* in, uint64_t database_id,
                                                 uint32_t slot);

// ---- Groups and records.

inline constexpr size_t kGroupHeaderBytes = 64;
inline constexpr size_t kRecordHeaderBytes = 4;  ///< the record's length
inline constexpr uint32_t kMaxGroupBytes = 64u << 20;

struct GroupHeader {
  uint64_t lsn = 0;           ///< its own position
  uint64_t epoch = 0;         ///< epoch in which the group was written
  bool begins_epoch = false;  ///< the mark of a start of writing
  uint32_t bytes = 0;         ///< header, records and padding: whole blocks
  uint32_t record_bytes = 0;  ///< records with their lengths
  uint32_t records = 0;
  uint64_t body_checksum = 0;  ///< of all bytes behind the header
};

/// Seals a group whose records and padding are in place: computes both checksums and writes the
/// header.
void SealGroup(GroupHeader header, uint64_t database_id, std::byte* group);
/// nullopt unless the 64 bytes are a sound header of position `lsn` with a possible length.
std::optional<GroupHeader> DecodeGroupHeader(const std::byte* in, uint64_t database_id,
                                             uint64_t lsn, uint32_t block_bytes);
/// As above, for the position that the header itself names.
std::optional<GroupHeader> DecodeAnyGroupHeader(const std::byte* in, uint64_t database_id,
                                                uint32_t block_bytes);
/// Whether the body matches the header's checksum. REQUIRES: header.bytes bytes at `group`.
bool IsGroupBodySound(const GroupHeader& header, uint64_t database_id, const std::byte* group);

void EncodeRecordHeader(uint32_t size, std::byte* out);
/// The bytes of the record that begins `offset` bytes into a sound group; an empty span when no
/// record can begin there.
std::span<const std::byte> RecordAt(const GroupHeader& header, const std::byte* group,
                                    uint64_t offset);

}  // namespace latchkey
