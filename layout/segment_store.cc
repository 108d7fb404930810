#include "layout/segment_store.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "layout/segment_store_impl.h"
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
      !(std::has_single_bit(o.segment_size) && o.segment_size >= kMinSegmentSize &&
        o.segment_size <= kMaxSegmentSize)) {
    return InvalidArgument("segment size {} is not a power of two in {}-{} (0 = measured)",
                           o.segment_size, kMinSegmentSize, kMaxSegmentSize);
  }
  if (!(std::has_single_bit(o.journal_segment_bytes) && o.journal_segment_bytes >= 8192 &&
        o.journal_segment_bytes <= 64u << 20)) {
    return InvalidArgument("journal segment size {} is not a power of two in 8192-67108864",
                           o.journal_segment_bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckFit(uint32_t page_size, uint32_t segment_size) {
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
  return absl::OkStatus();
}

absl::StatusOr<Superblock> NewSuperblock(Runtime& runtime, BlockDevice& device,
                                         const SegmentStoreOptions& o) {
  Superblock s;
  s.page_size = o.page_size != 0 ? o.page_size : kDefaultPageSize;
  s.segment_size = o.segment_size;
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
  LATCHKEY_ASSIGN_OR_RETURN(const DeviceProbe probe,
                            ProbeDevice(runtime, device, s.page_size, o.seed));
  s.costs = o.assumed_costs ? *o.assumed_costs : probe.costs;
  if (s.segment_size == 0) {
    const uint32_t most = StoreBuffers::LargestDefaultSegment(o.cache_bytes);
    s.segment_size =
        std::max(std::min(probe.preferred_segment_bytes, most), kMinSlots * s.page_size);
  }
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

SegmentStoreImpl::SegmentStoreImpl(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                   std::unique_ptr<BlockDevice> journal,
                                   const SegmentStoreOptions& options, const Superblock& superblock,
                                   std::unique_ptr<Separator> separator,
                                   std::unique_ptr<CleaningPolicy> policy)
    : device_(std::move(device)),
      buffers_(StoreBuffers::For(options.cache_bytes,
                                 StoreGeometry::Of(superblock.page_size, superblock.segment_size),
                                 separator->most_logs())),
      journal_device_(std::move(journal)),
      journal_bytes_(
          journal_device_ == nullptr
              ? 0
              : MapJournal::MemoryFor(JournalOptions(options, buffers_, superblock.database_id),
                                      *journal_device_)),
      options_(options),
      separator_(std::move(separator)),
      core_(runtime, *device_, StoreGeometry::Of(superblock.page_size, superblock.segment_size),
            superblock.database_id, options.log_sink),
      directory_(core_),
      space_(directory_,
             SpaceSizing::Make(core_.geometry, options.space_utilization, options.reserve_bytes)),
      writer_(directory_, space_, buffers_.segment_buffers),
      costs_(runtime, *device_, superblock.page_size, superblock.costs),
      cleaner_({.directory = directory_,
                .space = space_,
                .writer = writer_,
                .separator = *separator_,
                .costs = costs_,
                .pages_at_once = buffers_.cleaner_pages,
                .has_few_buffers = buffers_.segment_buffers < SegmentWriter::kMostBuffers,
                .poll_page_writes = [this] { PollPageWrites(); },
                .commit_round = [this] { return TryCommitRoundOrMap(); },
                .after_pass = [this] { CheckpointMapIfWanted(); }},
               std::move(policy)),
      queues_mutex_(runtime),
      read_queues_mutex_(runtime),
      checkpoint_mutex_(runtime),
      superblock_(superblock) {
  device_->SetPositioningBytes(PositioningBytes(superblock.costs, superblock.page_size));
  if (journal_device_ != nullptr &&
      options.torn_write_protection != SegmentStoreOptions::TornWriteProtection::kNone) {
    const uint32_t most =
        std::min(DoublewriteCapacity(superblock.page_size), buffers_.doublewrite_pages) - 1;
    const uint32_t wanted = options.doublewrite_pages;
    doublewriter_ =
        std::make_unique<Doublewriter>(directory_, wanted == 0 ? most : std::min(wanted, most));
  }
  space_.set_reap([this] {
    writer_.Reap();
    PollPageWrites();
  });
}

SegmentStoreImpl::~SegmentStoreImpl() {
  cleaner_.Stop();
  for (const auto& queue : queues_) queue->WaitUntil(0);
  if (doublewriter_ != nullptr) doublewriter_->Flush();
}

size_t SegmentStoreImpl::memory_bytes() const {
  return directory_.memory_bytes() + separator_->memory_bytes() + journal_bytes_;
}

PageStoreStats SegmentStoreImpl::stats() const {
  const auto load = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const StoreCounters& c = core_.counters;
  PageStoreStats s;
  s.page_reads = load(c.page_reads);
  s.user_page_writes = load(c.user_page_writes);
  s.in_place_page_writes = load(c.in_place_page_writes);
  s.appended_page_writes = load(c.appended_page_writes);
  s.cleaner_page_writes = load(c.cleaner_page_writes);
  s.cleaner_page_reads = load(c.cleaner_page_reads);
  s.cleaned_segments = load(c.cleaned_segments);
  s.plugged_segments = load(c.plugged_segments);
  s.meta_bytes_written = load(c.meta_bytes_written);
  s.writes_again = load(c.writes_again);
  if (const MapJournal* const journal = usable_journal_.load(std::memory_order_acquire)) {
    s.meta_bytes_written += journal->bytes_written();
  }
  s.live_pages = directory_.map().allocated();
  s.capacity_pages = space_.capacity_pages();
  s.file_bytes = device_->geometry().size_bytes;
  s.space_utilization = space_.space_utilization();
  s.min_space_utilization = space_.min_utilization();
  s.max_space_utilization = space_.max_utilization();
  s.hot_page_proportion = separator_->hot_page_proportion();
  s.cleaning_utilization = cleaner_.cleaning_utilization();
  cleaner_.SampleCosts();
  const PageCosts costs = costs_.costs();
  if (costs.eta() > 0) s.segment_io_efficiency = costs.eta();

  const DeviceStats device = device_->stats();
  const IoClassStats& page_writes = device.of(IoClass::kPageWrite);
  const IoClassStats& segment_writes = device.of(IoClass::kSegmentWrite);
  const uint64_t data_bytes = page_writes.bytes + segment_writes.bytes;
  s.capacities_written =
      s.capacity_pages == 0 ? 0 : data_bytes / (s.capacity_pages * core_.geometry.page_size);
  if (s.user_page_writes > 0) {
    const double user_bytes = static_cast<double>(s.user_page_writes) * core_.geometry.page_size;
    s.write_amplification = static_cast<double>(data_bytes + s.meta_bytes_written) / user_bytes;
    const double write_time = static_cast<double>(page_writes.busy + segment_writes.busy +
                                                  device.of(IoClass::kSegmentRead).busy);
    if (costs.page_write_ns > 0) {
      s.write_cost = write_time / static_cast<double>(s.user_page_writes) / costs.page_write_ns;
    }
  }
  return s;
}

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
  if (options.page_size != 0 && options.segment_size != 0) {
    LATCHKEY_RETURN_IF_ERROR(CheckFit(options.page_size, options.segment_size));
  }
  const bool empty = device->geometry().size_bytes == 0;
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
