#include "layout/segment_store.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "layout/segment_store_impl.h"
#include "layout/separate/device_probe.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

absl::Status CheckOptions(const SegmentStoreOptions& o) {
  if (!(o.space_utilization >= kMinSpaceUtilization &&
        o.space_utilization <= kMaxSpaceUtilization)) {
    return InvalidArgument("space utilization {} is outside {}-{}", o.space_utilization,
                           kMinSpaceUtilization, kMaxSpaceUtilization);
  }
  if (o.page_size != 0 && !IsValidPageSize(o.page_size)) {
    return InvalidArgument("page size {} is not a power of two in {}-{}", o.page_size, kMinPageSize,
                           kMaxPageSize);
  }
  if (o.segment_size != 0 &&
      !(o.segment_size >= kMinSegmentSize && o.segment_size <= kMaxSegmentSize)) {
    return InvalidArgument("segment size {} is outside {}-{} (0 = measured)", o.segment_size,
                           kMinSegmentSize, kMaxSegmentSize);
  }
  if (!(std::has_single_bit(o.journal_segment_bytes) && o.journal_segment_bytes >= 8192 &&
        o.journal_segment_bytes <= 64u << 20)) {
    return InvalidArgument("journal segment size {} is not a power of two in 8192-67108864",
                           o.journal_segment_bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckFit(uint32_t page_size, uint32_t segment_size) {
  if (segment_size % page_size != 0) {
    const uint32_t below = std::max(segment_size / page_size, kMinSlots) * page_size;
    return InvalidArgument(
        "a segment of {} bytes is no multiple of the page of {}: give e.g. {} or {}", segment_size,
        page_size, below, below + page_size);
  }
  if (segment_size / page_size >= kMinSlots) return absl::OkStatus();
  return InvalidArgument(
      "a segment of {} bytes holds fewer than {} pages of {} bytes: use segments "
      "of at least {} bytes",
      segment_size, kMinSlots, page_size, page_size * kMinSlots);
}

absl::Status CheckMatches(const SegmentStoreOptions& o, const Superblock& s) {
  if (o.page_size != 0 && o.page_size != s.page_size) {
    return InvalidArgument(
        "the data file has pages of {} bytes, {} were asked for: open it with {} "
        "or 0",
        s.page_size, o.page_size, s.page_size);
  }
  if (o.segment_size != 0 && o.segment_size != s.segment_size) {
    return InvalidArgument(
        "the data file has segments of {} bytes, {} were asked for: open it with "
        "{} or 0",
        s.segment_size, o.segment_size, s.segment_size);
  }
  if (o.page_compression.entry().id != 0 && !s.compresses_pages) {
    return InvalidArgument(
        "page compression {} was asked for, and the data file was created without: open it with "
        "none, or restore a backup of it with page compression",
        o.page_compression.name());
  }
  return absl::OkStatus();
}

absl::StatusOr<Superblock> NewSuperblock(Runtime& runtime, BlockDevice& device,
                                         const SegmentStoreOptions& o) {
  Superblock s;
  s.page_size = o.page_size != 0 ? o.page_size : kDefaultPageSize;
  s.segment_size = o.segment_size;
  s.compresses_pages = o.page_compression.entry().id != 0;
  s.layout = o.layout.name();
  s.space_utilization = o.space_utilization;
  s.database_id = o.database_id;
  if (s.database_id == 0) {
    s.database_id = MixHash(runtime.Now() ^ MixHash(o.seed) ^
                            static_cast<uint64_t>(runtime.WallClockSeconds()) << 20) |
                    1;
  }
  if (o.assumed_costs && s.segment_size != 0) {
    s.costs = *o.assumed_costs;
    return s;
  }
  const ProbedSegment segment{
      .segment_bytes = s.segment_size,
      .least_segment_bytes = kMinSlots * s.page_size,
      .most_segment_bytes = StoreBuffers::LargestDefaultSegment(o.cache_bytes),
      .most_erased_bytes = StoreBuffers::LargestErasedSegment(o.cache_bytes)};
  LATCHKEY_ASSIGN_OR_RETURN(const DeviceProbe probe,
                            ProbeDevice(runtime, device, s.page_size, segment, o.seed));
  s.costs = o.assumed_costs ? *o.assumed_costs : probe.costs;
  s.segment_size = probe.segment_bytes;
  s.aligned_segments = probe.aligned;
  return s;
}

absl::StatusOr<Superblock> ReadSuperblock(BlockDevice& device, const SegmentStoreOptions& o,
                                          bool with_journal) {
  LATCHKEY_ASSIGN_OR_RETURN(Superblock s, ReadNewestSuperblock(device));
  LATCHKEY_RETURN_IF_ERROR(CheckMatches(o, s));
  if (!s.clean && s.crash_safe && !with_journal) {
    return MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        "the database was not closed cleanly (superblock generation {}) and needs its map journal: "
        "open it with the log, or close it cleanly first",
        s.generation);
  }
  if (!s.clean && !s.crash_safe) {
    return MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        "the database was not closed cleanly (superblock generation {}), and without a "
        "log its state cannot be recovered: restore a backup, or delete it and load it "
        "again",
        s.generation);
  }
  if (o.assumed_costs) s.costs = *o.assumed_costs;
  return s;
}

}  // namespace

absl::StatusOr<bool> CheckSegmentStore(BlockDevice& device, const SegmentStoreOptions& options) {
  LATCHKEY_RETURN_IF_ERROR(CheckOptions(options));
  if (device.geometry().size_bytes == 0) return false;
  LATCHKEY_ASSIGN_OR_RETURN(const Superblock superblock,
                            ReadSuperblock(device, options, /*with_journal=*/true));
  LATCHKEY_RETURN_IF_ERROR(CheckFit(superblock.page_size, superblock.segment_size));
  return !superblock.clean && superblock.crash_safe;
}

absl::StatusOr<OpenedSegmentStore> OpenSegmentStore(Runtime& runtime,
                                                    std::unique_ptr<BlockDevice> device,
                                                    const SegmentStoreOptions& options) {
  return OpenSegmentStore(runtime, std::move(device), nullptr, options);
}

absl::StatusOr<OpenedSegmentStore> OpenSegmentStore(Runtime& runtime,
                                                    std::unique_ptr<BlockDevice> device,
                                                    std::unique_ptr<BlockDevice> journal,
                                                    const SegmentStoreOptions& options) {
  using Mode = SegmentStoreOptions::Mode;
  LATCHKEY_RETURN_IF_ERROR(CheckOptions(options));
  const bool empty = device->geometry().size_bytes == 0;
  const uint32_t page_size = empty && options.page_size == 0 ? kDefaultPageSize : options.page_size;
  if (page_size != 0 && options.segment_size != 0) {
    LATCHKEY_RETURN_IF_ERROR(CheckFit(page_size, options.segment_size));
  }
  if (options.mode == Mode::kOpen && empty) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "{} is empty: there is no store in it",
                      device->Describe());
  }
  if (options.mode == Mode::kCreate && !empty) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{} already holds {} bytes: a store is created on an empty device only",
                      device->Describe(), device->geometry().size_bytes);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const Superblock superblock,
                            empty ? NewSuperblock(runtime, *device, options)
                                  : ReadSuperblock(*device, options,
                                                   /*with_journal=*/journal != nullptr));
  LATCHKEY_RETURN_IF_ERROR(CheckFit(superblock.page_size, superblock.segment_size));
  auto store = std::make_unique<SegmentStoreImpl>(runtime, std::move(device), std::move(journal),
                                                  options, superblock, options.layout.Make(runtime),
                                                  options.segment_cleaning.Make());
  LATCHKEY_RETURN_IF_ERROR(empty ? store->Format() : store->Restore());
  return OpenedSegmentStore{std::move(store), superblock.client_root, empty};
}

}  // namespace latchkey
