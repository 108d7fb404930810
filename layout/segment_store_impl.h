// The segment store: the parts put together. Placement of accepted pages, reading, checkpoints,
// restoring, statistics.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layout/checkpoint/checkpoint.h"
#include "layout/checkpoint/superblock.h"
#include "layout/clean/segment_cleaner.h"
#include "layout/segment_store.h"
#include "layout/separate/cost_meter.h"
#include "layout/separate/separator.h"
#include "layout/space/space_manager.h"
#include "layout/store_core.h"
#include "layout/write/doublewriter.h"
#include "layout/write/page_write_queue.h"
#include "layout/write/segment_writer.h"
#include "layout/write/store_buffers.h"

namespace latchkey {

MapJournalOptions JournalOptions(const SegmentStoreOptions& options, const StoreBuffers& buffers,
                                 uint64_t database_id);

class SegmentStoreImpl final : public SegmentStore {
 public:
  /// `superblock` describes an existing file, or a new one (generation 0).
  SegmentStoreImpl(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                   std::unique_ptr<BlockDevice> journal, const SegmentStoreOptions& options,
                   const Superblock& superblock, std::unique_ptr<Separator> separator,
                   std::unique_ptr<CleaningPolicy> policy);
  ~SegmentStoreImpl() override;

  /// Format writes the first superblock of an empty store. Restore restores map and table: from the
  /// last checkpoint after a clean close, from checkpoint and journal after a crash.
  absl::Status Format() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  absl::Status Restore() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;

  uint32_t page_size() const override { return core_.geometry.page_size; }
  absl::StatusOr<PageId> AllocatePage() override;
  void FreePage(PageId id) override;
  absl::Status AdoptPage(PageId id) override;
  bool IsAllocated(PageId id) const override { return directory_.map().IsAllocated(id); }
  uint64_t page_id_limit() const override { return directory_.map().limit(); }
  absl::Status ReadPage(PageId id, std::byte* out) override;
  void ReadPages(std::span<PageRead> reads) override;
  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t depth) override;
  WriteTicket accepted_ticket() const override { return directory_.accepted_ticket(); }
  WriteTicket durable_ticket() const override { return directory_.durable_ticket(); }
  absl::Status Flush() override;
  absl::Status Checkpoint(std::span<const std::byte> client_root, bool clean) override;
  absl::Status WriteStatus() const override { return core_.WriteStatus(); }
  void SetCheckpointGate(std::function<absl::Status()> may_go_on) override;
  void SetLogPosition(std::function<Lsn()> durable) override {
    core_.SetLogPosition(std::move(durable));
  }
  Lsn log_reach() const override { return core_.LogReach(); }
  bool wants_images() const override {
    return doublewriter_ != nullptr && separator_->writes_in_place() &&
           options_.torn_write_protection == SegmentStoreOptions::TornWriteProtection::kImages;
  }
  void RelyOnImages(bool rely) override {
    relies_on_images_.store(rely && wants_images(), std::memory_order_release);
  }
  void SetCopySource(CopyIfCleanFunction copy_if_clean) override {
    cleaner_.SetCopySource(std::move(copy_if_clean));
  }
  PageStoreStats stats() const override;
  void ResetExtremes() override { space_.ResetExtremes(); }
  BlockDevice& device() override { return *device_; }

  size_t memory_bytes() const override;
  uint64_t MostBufferBytes(uint64_t writer_pages) const override {
    return buffers_.MostBytes(core_.geometry, doublewriter_ != nullptr, writer_pages);
  }
  uint64_t database_id() const override { return core_.database_id; }
  uint32_t segment_size() const override { return core_.geometry.segment_size; }
  PageCosts measured_costs() const override { return costs_.costs(); }

  /// Accepts one page for the owner of `queue`.
  absl::Status Accept(PageWriteQueue& queue, const PageWrite& write);
  void ReturnQueue(PageWriteQueue* queue);
  /// Writes the doublewrite batch if it is full. REQUIRES: the caller holds no page latch.
  void WriteFullBatch();
  /// Waits until at most `most` pages of the queue's owner are unwritten, or the store is poisoned.
  void AwaitWritten(PageWriteQueue& queue, size_t most);

 private:
  // Accepting (segment_store_write.cc).
  absl::Status EnsureMarkedUnclean();
  void TryFreePage(PageId id);
  absl::Status BecomeUnclean() LATCHKEY_REQUIRES(checkpoint_mutex_);
  absl::Status MarkUnclean() LATCHKEY_REQUIRES(checkpoint_mutex_);
  bool writes_twice() const {
    return doublewriter_ != nullptr && !relies_on_images_.load(std::memory_order_acquire);
  }
  // Each returns false when it could not accept the page now; Accept tries again.
  bool Place(PageWriteQueue& queue, const PageWrite& write, Placement placement, LocationWord word);
  bool PlaceCold(PageWriteQueue& queue, const PageWrite& write, LocationWord word);
  bool PlaceAnywhere(PageWriteQueue& queue, const PageWrite& write, LocationWord word);
  bool WriteInPlace(PageWriteQueue& queue, const PageWrite& write, SlotId slot,
                    std::optional<LocationWord> only_from);
  bool Overtake(PageWriteQueue& queue, const PageWrite& write);
  bool Append(PageWriteQueue& queue, LogId log, Claim claim, const PageWrite& write);
  bool WriteToHole(PageWriteQueue& queue, const PageWrite& write, SegmentKind kind);
  LocationWord AwaitInPlaceWrite(PageId page);
  void PollPageWrites();
  std::vector<PageWriteQueue*> AllQueues() const;

  // Reading (segment_store_read.cc).
  absl::Status ReadFromDevice(PageId id, LocationWord word, std::byte* out);
  absl::Status CheckReadable(PageId id) const;
  absl::Status NeverWritten(PageId id) const;
  std::unique_ptr<IoQueue> TakeReadQueue();
  void ReturnReadQueue(std::unique_ptr<IoQueue> queue);

  bool journal_is_full() const { return directory_.journal_is_full(); }

  // Flushing (segment_store_checkpoint.cc).
  absl::Status WriteOut();
  absl::Status SyncData();
  absl::Status FlushForCheckpoint();
  // Runs a round, or a checkpoint of the map if the journal is full. TryCommitRoundOrMap does not
  // wait for a checkpoint of another thread: it then returns the status of the full journal.
  // ResourceExhausted: nothing has changed.
  absl::Status CommitRoundOrMap();
  absl::Status TryCommitRoundOrMap();
  absl::Status CommitAgainOrMap() LATCHKEY_REQUIRES(checkpoint_mutex_);

  // Checkpoints (segment_store_checkpoint.cc). Most REQUIRE: checkpoint_mutex_.
  absl::Status WriteCheckpoint(std::span<const std::byte> client_root, bool clean);
  absl::StatusOr<std::vector<SegmentId>> TakeCheckpointSegments(MetaClaim claim);
  absl::Status CheckpointInto(std::vector<SegmentId> segments,
                              std::span<const std::byte> client_root, bool clean)
      LATCHKEY_REQUIRES(checkpoint_mutex_);
  // A segment that takes no write is replaced in `segments`.
  absl::Status CaptureAndCommit(std::vector<SegmentId>& segments, Superblock& next, bool is_round)
      LATCHKEY_REQUIRES(checkpoint_mutex_);
  absl::Status SyncCaptured(bool is_round);
  void CheckpointMapIfWanted();
  // Keeps the last client root. ResourceExhausted: no free segments, or no memory; nothing changed.
  absl::Status CheckpointMap() LATCHKEY_REQUIRES(checkpoint_mutex_);
  absl::Status CommitSuperblock(Superblock& next) LATCHKEY_REQUIRES(checkpoint_mutex_);
  absl::Status WriteMapAndTable(uint64_t generation, std::vector<SegmentId>& segments,
                                Superblock& next);
  absl::Status WriteWords(CheckpointWriter& out, uint64_t limit, uint32_t* total,
                          const std::vector<SegmentId>& segments);
  SegmentEntry EntryOf(SegmentId segment, const std::vector<SegmentId>& own) const;

  // Restoring (segment_store_restore.cc). These functions take no locks, and clang does not check
  // them: no other thread has the store yet.
  absl::Status RestoreCheckpoint(std::vector<SegmentEntry>& table)
      LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  absl::Status RestoreMap(CheckpointReader& reader) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  absl::Status RestoreTable(CheckpointReader& reader,
                            std::vector<SegmentEntry>& table) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  absl::Status OpenNewJournal();
  absl::Status OpenJournal() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  absl::Status ReplayJournal(std::vector<SegmentEntry>& table);
  absl::Status ReplayEntry(const JournalEntry& entry, std::vector<SegmentEntry>& table);
  absl::Status RestoreSegments(std::vector<SegmentEntry>& table) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  absl::Status RestoreOwners();
  uint64_t SegmentsOnDevice() const;

  const std::unique_ptr<BlockDevice> device_;
  const StoreBuffers buffers_;
  std::unique_ptr<BlockDevice> journal_device_;  // the journal takes it over
  const size_t journal_bytes_;                   // of memory, from the first change on
  // Set once the journal is usable: for threads that read it while the first change creates it.
  std::atomic<const MapJournal*> usable_journal_{nullptr};
  const SegmentStoreOptions options_;
  const std::unique_ptr<Separator> separator_;
  StoreCore core_;
  PageDirectory directory_;
  SpaceManager space_;
  SegmentWriter writer_;
  std::unique_ptr<Doublewriter> doublewriter_;  // nullptr: nothing is protected
  std::atomic<bool> relies_on_images_{false};   // instead of doublewriter_
  CostMeter costs_;
  SegmentCleaner cleaner_;

  mutable Mutex queues_mutex_;
  std::vector<std::unique_ptr<PageWriteQueue>> queues_ LATCHKEY_GUARDED_BY(queues_mutex_);
  uint64_t queue_bytes_ LATCHKEY_GUARDED_BY(queues_mutex_) = 0;  // of the frames of queues_
  std::vector<PageWriteQueue*> idle_queues_ LATCHKEY_GUARDED_BY(queues_mutex_);

  Mutex read_queues_mutex_;
  std::vector<std::unique_ptr<IoQueue>> read_queues_ LATCHKEY_GUARDED_BY(read_queues_mutex_);

  Mutex checkpoint_mutex_;
  Superblock superblock_ LATCHKEY_GUARDED_BY(checkpoint_mutex_);
  std::vector<SegmentId> checkpoint_segments_ LATCHKEY_GUARDED_BY(checkpoint_mutex_);
  // nullptr: checkpoints are always allowed.
  std::function<absl::Status()> checkpoint_gate_ LATCHKEY_GUARDED_BY(checkpoint_mutex_);
  // Freed pages that wait until the file can be marked unclean.
  std::vector<PageId> unmarked_frees_ LATCHKEY_GUARDED_BY(checkpoint_mutex_);
  std::atomic<bool> marked_unclean_{false};
  bool started_ = false;
};

}  // namespace latchkey
