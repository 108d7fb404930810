#include "layout/segment_store_impl.h"

#include <algorithm>
#include <string>
#include <utility>

#include "layout/separate/device_probe.h"
#include "layout/store_stats.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using Protection = SegmentStoreOptions::TornWriteProtection;

MapJournalOptions JournalOptions(const SegmentStoreOptions& options, const StoreBuffers& buffers,
                                 uint64_t database_id) {
  return {.database_id = database_id,
          .checkpoint_bytes = options.journal_checkpoint_bytes,
          .segment_bytes = options.journal_segment_bytes,
          .most_buffer_bytes = buffers.journal_buffer_bytes,
          .most_entries = buffers.journal_entries,
          .most_slots = buffers.journal_slots,
          .log_sink = options.log_sink};
}

// Pages of a doublewrite batch; 0: in-place writes are not protected.
uint32_t DoublewritePages(const SegmentStoreOptions& options, const StoreBuffers& buffers,
                          uint32_t page_size, bool has_journal) {
  if (!has_journal || options.torn_write_protection == Protection::kNone) return 0;
  const uint32_t most = std::min(DoublewriteCapacity(page_size), buffers.doublewrite_pages) - 1;
  return options.doublewrite_pages == 0 ? most : std::min(options.doublewrite_pages, most);
}

StoreGeometry GeometryOf(const Superblock& superblock) {
  return StoreGeometry::Of(superblock.page_size, superblock.segment_size,
                           superblock.compresses_pages ? kSlotsOfCompressed : 1,
                           superblock.aligned_segments);
}

// The costs of a new store have just been measured.
bool MeasuresAtStart(const Superblock& superblock) {
  return superblock.generation > 0 &&
         superblock.segments * superblock.segment_size >= CostExplorer::kLeastFileBytes;
}

}  // namespace

SegmentStoreImpl::SegmentStoreImpl(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                   std::unique_ptr<BlockDevice> journal,
                                   const SegmentStoreOptions& options, const Superblock& superblock,
                                   std::unique_ptr<Separator> separator,
                                   std::unique_ptr<CleaningPolicy> policy)
    : device_(std::move(device)),
      separator_(std::move(separator)),
      death_times_(options.segment_cleaning.entry().by_death_time && separator_->appends()
                       ? std::make_unique<DeathTimes>(runtime)
                       : nullptr),
      buffers_(StoreBuffers::For(options.cache_bytes, GeometryOf(superblock),
                                 separator_->most_logs(),
                                 death_times_ != nullptr ? StreamChoice::kFurtherLogs : 0)),
      doublewrite_pages_(
          DoublewritePages(options, buffers_, superblock.page_size, journal != nullptr)),
      core_(runtime, *device_, GeometryOf(superblock), superblock.database_id, options.log_sink),
      directory_(core_),
      reader_(directory_),
      space_(directory_, SpaceSizing::Make(core_.geometry, options.space_utilization,
                                           separator_->appends() ? options.reserve_bytes : 0)),
      costs_(runtime, *device_, core_.geometry, superblock.costs),
      checkpointer_(directory_, space_, superblock, std::move(journal),
                    {.journal = JournalOptions(options, buffers_, superblock.database_id),
                     .space_utilization = options.space_utilization,
                     .layout = std::string(options.layout.name()),
                     .doublewrite_pages = doublewrite_pages_ == 0 ? 0 : doublewrite_pages_ + 1,
                     .costs = &costs_}),
      placement_({.directory = directory_,
                  .space = space_,
                  .checkpointer = checkpointer_,
                  .separator = *separator_,
                  .buffers = buffers_,
                  .part_slots = PartSlots(superblock.costs, core_.geometry),
                  .doublewrite_pages = doublewrite_pages_,
                  .death_times = death_times_.get(),
                  .further_logs = buffers_.LogsBeyond(separator_->most_logs()),
                  .codec = options.page_compression,
                  .may_rely_on_images = doublewrite_pages_ > 0 && separator_->writes_in_place() &&
                                        options.torn_write_protection == Protection::kImages}),
      explorer_(directory_, costs_, doublewrite_pages_ > 0),
      cleaner_({.directory = directory_,
                .space = space_,
                .sink = placement_,
                .durable_map = checkpointer_,
                .separator = *separator_,
                .costs = costs_,
                .requests_at_once = buffers_.cleaner_requests,
                .victims_at_once = buffers_.victims,
                .explorer = options.assumed_costs ? nullptr : &explorer_,
                .measure_at_start = MeasuresAtStart(superblock),
                .by_death_time = death_times_ != nullptr},
               std::move(policy)) {
  device_->SetRequestTimes(
      RequestTimesOf(superblock.costs, superblock.page_size, core_.geometry.pages_per_segment()));
  checkpointer_.AttachCleaner(&cleaner_);
}

absl::StatusOr<PageId> SegmentStoreImpl::AllocatePage() {
  LATCHKEY_RETURN_IF_ERROR(placement_.BeginChange());
  return space_.AllocatePage();
}

absl::Status SegmentStoreImpl::AdoptPage(PageId id) {
  if (directory_.map().IsAllocated(id)) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(placement_.BeginChange());
  return space_.AdoptPage(id);
}

uint32_t SegmentStoreImpl::WriteSequence(PageId id) const {
  if (!directory_.map().IsAllocated(id)) return 0;
  const LocationWord word = directory_.map().Load(id);
  return word.on_device() || word.in_memory() ? word.sequence() : 0;
}

absl::Status SegmentStoreImpl::Flush() {
  // Nothing has changed since the store was opened, or closed cleanly.
  if (!checkpointer_.is_unclean()) return core_.WriteStatus();
  const WriteTicket accepted = accepted_ticket();
  LATCHKEY_RETURN_IF_ERROR(placement_.WriteOut());
  LATCHKEY_RETURN_IF_ERROR(checkpointer_.MakeDurable());
  directory_.AdvanceDurableTicket(accepted);
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::Checkpoint(std::span<const std::byte> client_root, bool clean) {
  if (client_root.size() > kMaxClientRoot) {
    return InvalidArgument("client root of {} bytes exceeds {}", client_root.size(),
                           kMaxClientRoot);
  }
  if (checkpointer_.HasClean(client_root)) return core_.WriteStatus();
  LATCHKEY_RETURN_IF_ERROR(placement_.BeginChange());
  return checkpointer_.Checkpoint(client_root, clean, [this] { return placement_.WriteOut(); });
}

PageStoreStats SegmentStoreImpl::stats() const {
  cleaner_.SampleCosts();
  return CollectStats(directory_, space_, checkpointer_, *separator_, cleaner_, costs_.costs());
}

}  // namespace latchkey
