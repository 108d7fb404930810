// The segment store: a facade over its parts. Each part uses only those declared before it.
#pragma once

#include <memory>
#include <span>

#include "layout/checkpoint/map_checkpointer.h"
#include "layout/clean/segment_cleaner.h"
#include "layout/map/page_directory.h"
#include "layout/read/page_reader.h"
#include "layout/segment_store.h"
#include "layout/separate/cost_meter.h"
#include "layout/separate/death_times.h"
#include "layout/separate/separator.h"
#include "layout/space/space_manager.h"
#include "layout/store_core.h"
#include "layout/write/page_placement.h"
#include "layout/write/store_buffers.h"

namespace latchkey {

class SegmentStoreImpl final : public SegmentStore {
 public:
  /// `superblock` describes an existing file, or a new one (generation 0).
  SegmentStoreImpl(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                   std::unique_ptr<BlockDevice> journal, const SegmentStoreOptions& options,
                   const Superblock& superblock, std::unique_ptr<Separator> separator,
                   std::unique_ptr<CleaningPolicy> policy);

  /// Format writes the first superblock of an empty store. Restore restores map and table: from the
  /// last checkpoint after a clean close, from checkpoint and journal after a crash.
  absl::Status Format() { return checkpointer_.Format(); }
  absl::Status Restore() { return checkpointer_.Restore(); }

  uint32_t page_size() const override { return core_.geometry.page_size; }
  absl::StatusOr<PageId> AllocatePage() override;
  void FreePage(PageId id) override { placement_.FreePage(id); }
  absl::Status AdoptPage(PageId id) override;
  bool IsAllocated(PageId id) const override { return directory_.map().IsAllocated(id); }
  uint64_t page_id_limit() const override { return directory_.map().limit(); }
  uint32_t WriteSequence(PageId id) const override;
  absl::Status ReadPage(PageId id, std::byte* out) override { return reader_.Read(id, out); }
  void ReadPages(std::span<PageRead> reads) override { reader_.ReadAll(reads); }
  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t depth) override {
    return placement_.NewWriter(depth);
  }
  WriteTicket accepted_ticket() const override { return directory_.accepted_ticket(); }
  WriteTicket durable_ticket() const override { return directory_.durable_ticket(); }
  absl::Status Flush() override;
  absl::Status Checkpoint(std::span<const std::byte> client_root, bool clean) override;
  absl::Status WriteStatus() const override { return core_.WriteStatus(); }
  void Attach(PageStoreClient& client) override { core_.client.Attach(client); }
  void Detach() override { core_.DetachClient(); }
  Lsn log_reach() const override { return core_.LogReach(); }
  bool wants_images() const override { return placement_.wants_images(); }
  void RelyOnImages(bool rely) override { placement_.RelyOnImages(rely); }
  PageStoreStats stats() const override;
  void ResetExtremes() override { space_.ResetExtremes(); }
  BlockDevice& device() override { return *device_; }

  size_t memory_bytes() const override {
    return directory_.memory_bytes() + separator_->memory_bytes() +
           (death_times_ != nullptr ? death_times_->memory_bytes() : 0) +
           checkpointer_.journal_memory_bytes();
  }
  uint64_t MostBufferBytes(uint64_t writer_pages) const override {
    return buffers_.MostBytes(core_.geometry, doublewrite_pages_ > 0, writer_pages);
  }
  uint64_t database_id() const override { return core_.database_id; }
  uint32_t segment_size() const override { return core_.geometry.segment_size; }
  PageCosts measured_costs() const override { return costs_.costs(); }

 private:
  const std::unique_ptr<BlockDevice> device_;
  const std::unique_ptr<Separator> separator_;
  const std::unique_ptr<DeathTimes>
      death_times_;  // nullptr: appended pages are not divided by them
  const StoreBuffers buffers_;
  const uint32_t doublewrite_pages_;  // of a batch; 0: in-place writes are not protected
  StoreCore core_;
  PageDirectory directory_;
  PageReader reader_;
  SpaceManager space_;
  CostMeter costs_;
  MapCheckpointer checkpointer_;
  PagePlacement placement_;
  CostExplorer explorer_;
  SegmentCleaner cleaner_;
};

}  // namespace latchkey
