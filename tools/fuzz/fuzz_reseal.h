// Recomputes checksums after an edit, as an attacker would, so that mutations pass them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/device/faulty/disk_image.h"

namespace latchkey {

/// Reseals the superblock or page that contains bytes [offset, offset + size) of a data file. A
/// page keeps the id and write sequence in its header.
void ResealDataFile(uint64_t database_id, uint32_t page_size, uint64_t offset, uint64_t size,
                    DiskImage& file);
/// Reseals the header, segment header or group of a log that contains them.
void ResealLog(uint64_t database_id, uint64_t offset, uint64_t size, DiskImage& file);
/// Reseals every group that begins in one of `blocks`, of `block_bytes` each.
void ResealGroups(uint64_t database_id, uint32_t block_bytes, std::span<std::byte> blocks);

}  // namespace latchkey
