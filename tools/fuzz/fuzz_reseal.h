// Puts checksums right behind an edit: an attacker's work, so that mutations get past them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/device/faulty/disk_image.h"

namespace latchkey {

/// The superblock or page that bytes [offset, offset + size) of a data file lie in. A page keeps
/// the id and write sequence that its header says.
void ResealDataFile(uint64_t database_id, uint32_t page_size, uint64_t offset, uint64_t size,
                    DiskImage& file);
/// The header, segment header or group of a log that they lie in.
void ResealLog(uint64_t database_id, uint64_t offset, uint64_t size, DiskImage& file);
/// Every group that begins in one of `blocks`, of `block_bytes` each.
void ResealGroups(uint64_t database_id, uint32_t block_bytes, std::span<std::byte> blocks);

}  // namespace latchkey
