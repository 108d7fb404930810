// The superblock: identity and geometry of the data file, the place of its newest checkpoint, and
// whether it was closed cleanly. Two generations take turns; the two copies of each lie far apart.
// See FORMAT.md.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/separate/write_cost_model.h"
#include "storage/device/block_device.h"

namespace latchkey {

inline constexpr uint32_t kFormatVersion = 2;
/// The oldest version that is read; it had neither journal nor doublewrite areas.
inline constexpr uint32_t kOldestFormatVersion = 1;
inline constexpr size_t kSuperblockSize = 4096;
inline constexpr size_t kMaxClientRoot = 2048;
inline constexpr uint64_t kNoSegment = UINT64_MAX;

/// Exactly the bytes on the device.
struct SuperblockLayout {
  std::array<char, 8> magic;
  uint32_t format_version;
  uint32_t block_size;
  uint64_t checksum;
  uint64_t generation;
  uint64_t database_id;
  uint64_t compatible_features;
  uint64_t read_compatible_features;
  uint64_t incompatible_features;
  uint32_t page_size;
  uint32_t segment_size;
  uint64_t segments;
  uint64_t page_id_limit;
  uint64_t checkpoint_segment;
  uint64_t checkpoint_bytes;
  uint32_t utilization_ppm;
  uint32_t flags;
  std::array<char, 16> layout;
  double page_write_ns;
  double segment_write_ns;
  double segment_read_ns;
  uint32_t client_root_size;
  uint32_t doublewrite_pages;
  uint64_t journal_start;
  uint64_t log_reach;
  uint64_t clock;
  uint64_t checkpoint_generation;
  double page_read_ns;
  double slot_read_ns;
  double protection_ns;
  std::array<std::byte, 1832> reserved;
  std::array<std::byte, kMaxClientRoot> client_root;
};
static_assert(sizeof(SuperblockLayout) == kSuperblockSize);
static_assert(offsetof(SuperblockLayout, page_size) == 64);
static_assert(offsetof(SuperblockLayout, layout) == 112);
static_assert(offsetof(SuperblockLayout, client_root_size) == 152);
static_assert(offsetof(SuperblockLayout, doublewrite_pages) == 156);
static_assert(offsetof(SuperblockLayout, journal_start) == 160);
static_assert(offsetof(SuperblockLayout, log_reach) == 168);
static_assert(offsetof(SuperblockLayout, page_read_ns) == 192);
static_assert(offsetof(SuperblockLayout, client_root) == 2048);

inline constexpr std::array<char, 8> kSuperblockMagic = {'L', 'A', 'T', 'C', 'H', 'K', 'E', 'Y'};

/// The superblock in memory.
struct Superblock {
  uint64_t generation = 0;
  uint64_t database_id = 0;
  uint32_t page_size = 0;
  uint32_t segment_size = 0;
  bool compresses_pages = false;  ///< a slot is an eighth of a page (geometry.h)
  bool aligned_segments = false;  ///< they lie at multiples of their size
  uint64_t segments = 0;
  uint64_t page_id_limit = 0;
  uint64_t checkpoint_segment = kNoSegment;  ///< the first of the chain
  uint64_t checkpoint_bytes = 0;
  uint64_t checkpoint_generation = 0;  ///< under which the chain was written
  bool short_free_words = false;       ///< the words of free ids take 4 bytes in the checkpoint
  double space_utilization = 0.8;
  bool clean = false;
  bool crash_safe = false;         ///< changes since the checkpoint are in the map journal
  uint64_t journal_start = 0;      ///< where the replay of the journal begins
  uint32_t doublewrite_pages = 0;  ///< of each area that may hold a batch and its note
  uint64_t log_reach = 0;          ///< LSN up to which the log was durable; 0: not known
  std::string layout;
  PageCosts costs;  ///< as last measured; 0: not known
  uint64_t clock = 0;
  std::vector<std::byte> client_root;
};

/// Incompatible feature bit: page compression.
inline constexpr uint64_t kFeatureCompression = 1;
/// Incompatible feature bit: segments lie at multiples of their size. Files with a size that is no
/// IsOldSegmentSize have it, and so have some others.
inline constexpr uint64_t kFeatureAlignedSegments = 2;
/// Incompatible feature bit: the words of free ids take 4 bytes in the checkpoint. A checkpoint of a
/// map without free ids is written without it, as older builds write all.
inline constexpr uint64_t kFeatureShortFreeWords = 4;

/// Offset of copy 0 or 1 of a generation.
constexpr uint64_t SuperblockOffset(uint64_t generation, int copy) {
  return (generation % 2) * kSuperblockSize + static_cast<uint64_t>(copy) * (uint64_t{512} << 10);
}

SuperblockLayout EncodeSuperblock(const Superblock& superblock);

/// Decodes one 4 KiB block. FailedPrecondition: not a superblock, a newer format, or unknown
/// feature bits. DataLoss: a wrong checksum, or values that make no sense.
absl::StatusOr<Superblock> DecodeSuperblock(const SuperblockLayout& block);

/// The bytes that overwrite a torn copy before the copy is written again.
SuperblockLayout BlankSuperblock();

/// Writes both copies of the superblock's generation, one after the other, and syncs after each, so
/// a crash damages at most one. Blanks a torn copy first. Calls `may_go_on` before each write; its
/// error ends the writing. REQUIRES: everything that the superblock names is synced.
absl::Status WriteSuperblock(BlockDevice& device, const Superblock& superblock,
                             absl::FunctionRef<absl::Status()> may_go_on = absl::OkStatus);

/// The newest superblock. FailedPrecondition: the device holds something else. If neither copy of a
/// written generation is valid, the newest state may be in it: DataLoss when both are damaged,
/// Unavailable when the device could not read one of them. DataLoss, too: zeros in place of all.
absl::StatusOr<Superblock> ReadNewestSuperblock(BlockDevice& device);

}  // namespace latchkey
