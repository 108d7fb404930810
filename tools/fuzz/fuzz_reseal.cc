#include "tools/fuzz/fuzz_reseal.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "layout/checkpoint/superblock.h"
#include "layout/geometry.h"
#include "storage/base/hash.h"
#include "storage/page_format.h"
#include "storage/wal/log_format.h"

namespace latchkey {
namespace {

constexpr uint32_t kBlock = kMinLogBlock;

bool IsSuperblock(uint64_t offset) {
  return offset % kHeaderHalfBytes < kSuperblocksBytes && offset < kHeaderAreaBytes;
}

void ResealSuperblock(uint64_t offset, DiskImage& file) {
  SuperblockLayout block;
  const auto bytes = std::as_writable_bytes(std::span(&block, 1));
  file.Read(offset, bytes);
  block.checksum = 0;
  block.checksum = Hash64(&block, sizeof(block));
  file.Write(offset, bytes);
}

void ResealPage(uint64_t database_id, uint32_t page_size, uint64_t offset, DiskImage& file) {
  std::vector<std::byte> page(page_size);
  file.Read(offset, page);
  const PageHeader header = PageHeaderOf(page);
  SealPage(page, PageId{header.page_id}, header.write_sequence, database_id);
  file.Write(offset, page);
}

template <typename T>
T FieldAt(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

GroupHeader HeaderOfGroup(std::span<const std::byte> group) {
  GroupHeader header;
  header.begins_epoch = (FieldAt<uint32_t>(group, 4) & 1) != 0;
  header.lsn = FieldAt<uint64_t>(group, 8);
  header.epoch = FieldAt<uint64_t>(group, 16);
  header.bytes = FieldAt<uint32_t>(group, 24);
  header.record_bytes = FieldAt<uint32_t>(group, 28);
  header.records = FieldAt<uint32_t>(group, 32);
  return header;
}

/// For the header block of a slot.
void ResealSegmentHeader(uint64_t database_id, std::span<std::byte> block) {
  EncodeSegmentHeader({.slot = FieldAt<uint32_t>(block, 4),
                       .index = FieldAt<uint64_t>(block, 8),
                       .epoch = FieldAt<uint64_t>(block, 16)},
                      database_id, block.data());
}

void ResealFileHeader(std::span<std::byte> block) {
  EncodeLogFileHeader({.version = FieldAt<uint32_t>(block, 8),
                       .incompatible = FieldAt<uint32_t>(block, 12),
                       .read_only_compatible = FieldAt<uint32_t>(block, 16),
                       .compatible = FieldAt<uint32_t>(block, 20),
                       .database_id = FieldAt<uint64_t>(block, 24),
                       .segment_bytes = FieldAt<uint32_t>(block, 32),
                       .block_bytes = FieldAt<uint32_t>(block, 36),
                       .slots = FieldAt<uint64_t>(block, 40)},
                      block.data());
}

}  // namespace

void ResealDataFile(uint64_t database_id, uint32_t page_size, uint64_t offset, uint64_t size,
                    DiskImage& file) {
  const uint64_t end = std::min(offset + size, file.size());
  for (uint64_t at = offset / page_size * page_size; at < end; at += page_size) {
    if (at + page_size > file.size()) return;
    if (IsSuperblock(at)) {
      ResealSuperblock(at, file);
    } else {
      ResealPage(database_id, page_size, at, file);
    }
  }
}

void ResealGroups(uint64_t database_id, uint32_t block_bytes, std::span<std::byte> blocks) {
  for (size_t at = 0; at + block_bytes <= blocks.size(); at += block_bytes) {
    const std::span<std::byte> group = blocks.subspan(at);
    if (std::memcmp(group.data(), "LKGP", 4) != 0) continue;
    const GroupHeader header = HeaderOfGroup(group);
    if (header.bytes < kGroupHeaderBytes || header.bytes > group.size()) continue;
    SealGroup(header, database_id, group.data());
  }
}

void ResealLog(uint64_t database_id, uint64_t offset, uint64_t size, DiskImage& file) {
  std::vector<std::byte> bytes = file.Bytes();
  const uint64_t end = std::min<uint64_t>(offset + size, bytes.size());
  for (uint64_t at = offset / kBlock * kBlock; at < end; at += kBlock) {
    if (at + kBlock > bytes.size()) break;
    const std::span<std::byte> block = std::span(bytes).subspan(at, kBlock);
    if (at % kLogHeaderCopyBytes == 0 && at < kLogSegmentsBegin) ResealFileHeader(block);
    if (std::memcmp(block.data(), "LKSG", 4) == 0) ResealSegmentHeader(database_id, block);
  }
  ResealGroups(database_id, kBlock, bytes);
  file.Write(0, bytes);
}

}  // namespace latchkey
