#include "layout/checkpoint/superblock.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "layout/geometry.h"
#include "layout/map/write_again.h"
#include "storage/base/canary.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr uint32_t kFlagClean = 1;
constexpr uint32_t kFlagCrashSafe = 2;

uint64_t ChecksumOf(SuperblockLayout block) {
  block.checksum = 0;
  return Hash64(&block, sizeof(block));
}

absl::Status CheckSense(const SuperblockLayout& b) {
  const bool sane = b.block_size == kSuperblockSize && IsValidPageSize(b.page_size) &&
                    b.segment_size % b.page_size == 0 && b.segment_size <= kMaxSegmentSize &&
                    (IsOldSegmentSize(b.segment_size) ||
                     (b.incompatible_features & kFeatureAlignedSegments) != 0) &&
                    b.segment_size / b.page_size >= kMinSlots &&
                    b.client_root_size <= kMaxClientRoot && b.segments < UINT32_MAX &&
                    b.page_id_limit <= kMaxPageIds &&
                    b.doublewrite_pages <= DoublewriteCapacity(b.page_size);
  if (sane) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the superblock of generation {} is damaged: its checksum holds, its values "
                    "make no sense (page size {}, segment size {}, {} segments)",
                    b.generation, b.page_size, b.segment_size, b.segments);
}

absl::Status CheckVersion(const SuperblockLayout& b) {
  if (b.format_version < kOldestFormatVersion || b.format_version > kFormatVersion) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the data file has format version {}, this build reads versions {}-{}: use "
                      "the build that wrote it, or a newer one",
                      b.format_version, kOldestFormatVersion, kFormatVersion);
  }
  constexpr uint64_t kKnown =
      kFeatureCompression | kFeatureAlignedSegments | kFeatureShortFreeWords;
  const uint64_t unknown = b.incompatible_features & ~kKnown;
  if ((unknown | b.read_compatible_features) != 0) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the data file uses features that this build does not know "
                      "(incompatible {:#x}, read-compatible {:#x}): use a newer build",
                      unknown, b.read_compatible_features);
  }
  return absl::OkStatus();
}

// A stored cost; 0 = not known, also for a number that no measurement gives.
double CostOf(double stored) { return stored > 0 && stored < 1e15 ? stored : 0; }

bool AllZero(const SuperblockLayout& block) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&block);
  return std::all_of(bytes, bytes + sizeof(block), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

SuperblockLayout EncodeSuperblock(const Superblock& s) {
  SuperblockLayout b;
  std::memset(&b, 0, sizeof(b));
  b.magic = kSuperblockMagic;
  b.format_version = kFormatVersion;
  b.block_size = kSuperblockSize;
  b.generation = s.generation;
  b.database_id = s.database_id;
  b.page_size = s.page_size;
  b.segment_size = s.segment_size;
  b.incompatible_features =
      (s.compresses_pages ? kFeatureCompression : 0) |
      (s.aligned_segments || !IsOldSegmentSize(s.segment_size) ? kFeatureAlignedSegments : 0) |
      (s.short_free_words ? kFeatureShortFreeWords : 0);
  b.segments = s.segments;
  b.page_id_limit = s.page_id_limit;
  b.checkpoint_segment = s.checkpoint_segment;
  b.checkpoint_bytes = s.checkpoint_bytes;
  b.utilization_ppm = static_cast<uint32_t>(std::lround(s.space_utilization * 1e6));
  b.flags = (s.clean ? kFlagClean : 0) | (s.crash_safe ? kFlagCrashSafe : 0);
  b.journal_start = s.journal_start;
  b.doublewrite_pages = s.doublewrite_pages;
  b.log_reach = s.log_reach;
  std::copy_n(s.layout.data(), std::min(s.layout.size(), b.layout.size()), b.layout.data());
  b.page_write_ns = s.costs.page_write_ns;
  b.segment_write_ns = s.costs.segment_write_ns;
  b.segment_read_ns = s.costs.segment_read_ns;
  b.page_read_ns = s.costs.page_read_ns;
  b.slot_read_ns = s.costs.slot_read_ns;
  b.protection_ns = s.costs.protection_ns;
  b.client_root_size = static_cast<uint32_t>(s.client_root.size());
  b.clock = s.clock;
  b.checkpoint_generation = s.checkpoint_generation;
  std::copy(s.client_root.begin(), s.client_root.end(), b.client_root.begin());
  b.checksum = ChecksumOf(b);
  return b;
}

SuperblockLayout BlankSuperblock() {
  SuperblockLayout block;
  std::memset(&block, 0xff, sizeof(block));
  return block;
}

absl::StatusOr<Superblock> DecodeSuperblock(const SuperblockLayout& b) {
  if (b.magic != kSuperblockMagic) {
    uint64_t found = 0;
    std::memcpy(&found, b.magic.data(), sizeof(found));
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "not a Latchkey data file: it begins with {:016x} instead of \"LATCHKEY\"; "
                      "nothing was changed",
                      __builtin_bswap64(found));
  }
  if (b.checksum != ChecksumOf(b)) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "superblock damaged: stored checksum {:016x}, computed {:016x}", b.checksum,
                      ChecksumOf(b));
  }
  LATCHKEY_RETURN_IF_ERROR(CheckVersion(b));
  LATCHKEY_RETURN_IF_ERROR(CheckSense(b));
  Superblock s;
  s.generation = b.generation;
  s.database_id = b.database_id;
  s.page_size = b.page_size;
  s.segment_size = b.segment_size;
  s.compresses_pages = (b.incompatible_features & kFeatureCompression) != 0;
  s.aligned_segments = (b.incompatible_features & kFeatureAlignedSegments) != 0;
  s.short_free_words = (b.incompatible_features & kFeatureShortFreeWords) != 0;
  s.segments = b.segments;
  s.page_id_limit = b.page_id_limit;
  s.checkpoint_segment = b.checkpoint_segment;
  s.checkpoint_bytes = b.checkpoint_bytes;
  s.space_utilization = b.utilization_ppm / 1e6;
  s.clean = (b.flags & kFlagClean) != 0;
  s.crash_safe = (b.flags & kFlagCrashSafe) != 0;
  s.journal_start = b.journal_start;
  s.doublewrite_pages = b.doublewrite_pages;
  s.log_reach = b.log_reach;
  s.layout.assign(b.layout.data(), strnlen(b.layout.data(), b.layout.size()));
  s.costs = {.page_write_ns = CostOf(b.page_write_ns),
             .segment_write_ns = CostOf(b.segment_write_ns),
             .segment_read_ns = CostOf(b.segment_read_ns),
             .page_read_ns = CostOf(b.page_read_ns),
             .slot_read_ns = CostOf(b.slot_read_ns),
             .protection_ns = CostOf(b.protection_ns)};
  s.clock = b.clock;
  s.checkpoint_generation = b.checkpoint_generation;
  s.client_root.assign(b.client_root.begin(), b.client_root.begin() + b.client_root_size);
  return s;
}

namespace {

// Writing a copy again is safe: it writes the same bytes.
absl::Status WriteCopy(BlockDevice& device, uint64_t offset,
                       absl::FunctionRef<absl::Status()> may_go_on, AlignedBuffer& buffer) {
  const auto write = [&]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(may_go_on());
    return device.Write(offset, buffer.span(), IoClass::kMeta);
  };
  LATCHKEY_RETURN_IF_ERROR(WriteRepeatedly(write));
  return device.Sync();
}

// Returns the copy of the generation to write first. That is the copy that a crash has torn, if
// there is one: as long as the other copy is untouched, an open after another crash can still tell
// that the torn generation was never completed. The torn copy is blanked before, because most
// sectors are equal in all superblocks: part of the next write could complete the torn copy and
// bring back a state that never was. A copy that cannot be read counts as torn.
absl::StatusOr<int> PrepareCopies(BlockDevice& device, uint64_t generation,
                                  absl::FunctionRef<absl::Status()> may_go_on,
                                  AlignedBuffer& buffer) {
  SuperblockLayout block;
  for (const int copy : {0, 1}) {
    const uint64_t offset = SuperblockOffset(generation, copy);
    const absl::Status read = device.Read(offset, buffer.span(), IoClass::kMeta);
    std::memcpy(&block, buffer.data(), sizeof(block));
    if (read.ok() && (AllZero(block) || DecodeSuperblock(block).ok())) continue;
    block = BlankSuperblock();
    std::memcpy(buffer.data(), &block, sizeof(block));
    LATCHKEY_RETURN_IF_ERROR(WriteCopy(device, offset, may_go_on, buffer));
    return copy;
  }
  return 0;
}

}  // namespace

absl::Status WriteSuperblock(BlockDevice& device, const Superblock& superblock,
                             absl::FunctionRef<absl::Status()> may_go_on) {
  AlignedBuffer buffer(kSuperblockSize);
  LATCHKEY_ASSIGN_OR_RETURN(const int first,
                            PrepareCopies(device, superblock.generation, may_go_on, buffer));
  const SuperblockLayout block = EncodeSuperblock(superblock);
  std::memcpy(buffer.data(), &block, sizeof(block));
  const bool single = LATCHKEY_CANARY("superblock-single-copy");
  const uint64_t place = single ? 0 : superblock.generation;
  for (const int copy : {first, 1 - first}) {
    if (single && copy == 1) continue;
    LATCHKEY_RETURN_IF_ERROR(WriteCopy(device, SuperblockOffset(place, copy), may_go_on, buffer));
  }
  return absl::OkStatus();
}

absl::StatusOr<Superblock> ReadNewestSuperblock(BlockDevice& device) {
  const uint64_t size = device.geometry().size_bytes;
  if (size < kHeaderAreaBytes) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "not a Latchkey data file, or truncated: {} has {} bytes, the header alone "
                      "takes {}; nothing was changed",
                      device.Describe(), size, kHeaderAreaBytes);
  }
  AlignedBuffer buffer(kSuperblockSize);
  SuperblockLayout block;
  std::optional<Superblock> newest;
  absl::Status damage, first_error;
  for (const uint64_t parity : {0, 1}) {
    bool valid = false;
    int written = 0;  // copies
    absl::Status error;
    for (const int copy : {0, 1}) {
      absl::Status status =
          device.Read(SuperblockOffset(parity, copy), buffer.span(), IoClass::kMeta);
      if (status.ok()) {
        std::memcpy(&block, buffer.data(), sizeof(block));
        if (AllZero(block)) continue;  // this generation was never written
        auto decoded = DecodeSuperblock(block);
        status = decoded.status();
        if (decoded.ok()) {
          valid = true;
          if (!newest || decoded->generation > newest->generation) newest = *std::move(decoded);
        }
      }
      ++written;
      // Unavailable outweighs DataLoss: a copy that could not be read may be sound.
      const bool tells_more = error.ok() || absl::IsUnavailable(status) ||
                              (absl::IsDataLoss(status) && !absl::IsUnavailable(error));
      if (!status.ok() && tells_more) error = status;
    }
    if (first_error.ok()) first_error = error;
    // One damaged copy beside one that was never written: the first write of a generation was torn,
    // and nothing can depend on that generation.
    if (written == 2 && !valid) damage = error;
  }
  if (newest && absl::IsDataLoss(damage)) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "both copies of one superblock generation are unreadable ({}); the newest "
                      "state may be lost: restore a backup",
                      std::string(damage.message()));
  }
  if (newest && !damage.ok()) return damage;  // the device failed; a later open may read it
  if (newest) return *std::move(newest);
  if (!first_error.ok()) return first_error;
  return MakeStatus(
      absl::StatusCode::kDataLoss,
      "not a Latchkey data file, or damaged: {} holds zeros where the superblock should "
      "be; nothing was changed; put the right file there, restore the database from a "
      "backup, or salvage it",
      device.Describe());
}

}  // namespace latchkey
