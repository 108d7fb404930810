// What the pages of a damaged data file are proved with: their size, and the database id that seeds
// their checksums. Both are in the superblocks. If no superblock can be read, every word that may
// be the id is tried on sample pages of the file.
//
// Thread-safety: values and functions of their arguments.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layout/checkpoint/superblock.h"
#include "storage/device/block_device.h"

namespace latchkey {

struct PageProof {
  uint32_t page_size = 0;
  uint64_t database_id = 0;
  bool by_checksum = true;  ///< false = pages are taken by their looks

  /// Whether `page` (page_size bytes) is a whole page, with any id.
  bool Holds(std::span<const std::byte> page) const;
};

/// Whether the header of `page` may be one of a tree or overflow page.
bool LooksLikePage(std::span<const std::byte> page);

/// The superblock of the highest generation that decodes, of all places; nullopt = none decodes.
std::optional<Superblock> FindAnySuperblock(BlockDevice& device);

/// `hints`: bytes that may hold the database id at any multiple of eight, such as the beginnings of
/// the other files. If no id proves any page: NotFound, or pages taken by their looks with
/// `without_proof`.
absl::StatusOr<PageProof> FindPageProof(BlockDevice& device,
                                        const std::optional<Superblock>& superblock,
                                        std::span<const std::byte> hints, bool without_proof);

}  // namespace latchkey
