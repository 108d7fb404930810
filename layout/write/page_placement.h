// Placement: accepts pages, decides where each one goes, and writes it there. The separator says
// hot or cold; what then happens depends on where the page is now and on the space there is:
//
//   hot                        appended to an open segment, one of several by its death time
//   cold, slot in a cold one   written in place, through the doublewriter if that protects it; where that is
//                              dear, HyLog writes it into a hole or into a spare cold segment
//   cold, slot in a hot one    into a hole of the cold partition (thesis 6.2.2)
//   cold, without a slot,      into a fresh cold segment while there are segments to spare, then
//   or compressed              into a hole
//
// Pages that are appended to the hot partition are compressed, if the file has page compression.
// Those of the cold partition have a block each, because they may be written in place. A page
// without a block to itself cannot be written in place.
//
// Until a page is in its slot, its copy is in a frame of a segment buffer, of a page writer's queue
// or of a doublewrite batch. The segment cleaner's moves go through the segment writer, too.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "layout/checkpoint/map_checkpointer.h"
#include "layout/clean/move_sink.h"
#include "layout/map/page_directory.h"
#include "layout/separate/separator.h"
#include "layout/space/space_manager.h"
#include "layout/write/doublewriter.h"
#include "layout/write/page_write_queue.h"
#include "layout/write/segment_writer.h"
#include "layout/write/store_buffers.h"
#include "layout/write/stream_choice.h"

namespace latchkey {

/// Thread-safe.
class PagePlacement final : public MoveSink, public FinishedWrites {
 public:
  struct Parts {
    PageDirectory& directory;
    SpaceManager& space;
    MapCheckpointer& checkpointer;
    Separator& separator;
    const StoreBuffers& buffers;
    uint32_t part_slots = 0;         ///< PartSlots
    uint32_t doublewrite_pages = 0;  ///< of a batch; 0: in-place writes are not protected
    /// Divides appended pages among streams; nullptr: one stream of users, one of the cleaner.
    DeathTimes* death_times = nullptr;
    /// Logs of further streams that have a buffer.
    uint32_t further_logs = 0;
    /// Of pages that are appended to the hot partition, in a file with page compression.
    PageCodecChoice codec = PageCodecs().Named("none");
    /// In-place writes need no doublewrite while the engine's log holds the images of pages.
    bool may_rely_on_images = false;
  };

  explicit PagePlacement(const Parts& parts);
  /// Waits for all writes in flight.
  ~PagePlacement() override;

  /// As PageStore::NewWriter.
  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t depth);
  /// Called before a change: on OK the file is marked unclean.
  absl::Status BeginChange() {
    return checkpointer_.is_unclean() ? absl::OkStatus() : BeginFirstChange();
  }
  /// As PageStore::FreePage.
  void FreePage(PageId id);
  /// On OK every page accepted before the call is in its slot, and the map names that slot.
  absl::Status WriteOut();
  /// As PageStore::wants_images and PageStore::RelyOnImages.
  bool wants_images() const { return may_rely_on_images_; }
  void RelyOnImages(bool rely) {
    relies_on_images_.store(rely && may_rely_on_images_, std::memory_order_release);
  }

  void CompleteFinished() override;

  std::optional<FrameIndex> BeginMove(SegmentKind kind, PageId page, LocationWord word) override;
  void FinishMove(FrameIndex frame, bool valid) override { writer_.FinishMove(frame, valid); }
  InPlaceProtection protection() const override {
    return doublewriter_ == nullptr ? InPlaceProtection::kNone
           : writes_twice()         ? InPlaceProtection::kDoublewrite
                                    : InPlaceProtection::kImages;
  }
  void CompleteWrites() override { CompleteFinished(); }
  void WriteOutMoves() override { writer_.WriteOutMoves(); }
  void StartUserWrites() override;
  void EndLogsFrom(SegmentId first) override { writer_.EndLogsFrom(first); }

  /// For the page writers of NewWriter.
  /// Accepts one page for the owner of `queue`.
  absl::Status Accept(PageWriteQueue& queue, const PageWrite& write);
  void ReturnQueue(PageWriteQueue* queue);
  /// As PageWriter::AwaitRoom.
  void AwaitRoom(PageWriteQueue& queue);
  /// The owner of `queue` has no more pages at hand.
  void EndTurn(PageWriteQueue& queue);
  /// Waits until at most `most` pages of the queue's owner are unwritten, besides those that gather, or
  /// the store is poisoned.
  void AwaitWritten(PageWriteQueue& queue, size_t most);
  absl::Status write_status() const { return core_.WriteStatus(); }

 private:
  absl::Status BeginFirstChange();
  void TryFreePage(PageId id);
  bool writes_twice() const {
    return doublewriter_ != nullptr && !relies_on_images_.load(std::memory_order_acquire);
  }
  LocationWord AwaitInPlaceWrite(PageId page);
  // Each returns false when it could not accept the page now; Accept tries again.
  bool Place(PageWriteQueue& queue, const PageWrite& write, Placement placement, LocationWord word);
  bool PlaceCold(PageWriteQueue& queue, const PageWrite& write, LocationWord word);
  bool PlaceAnywhere(PageWriteQueue& queue, const PageWrite& write, LocationWord word);
  bool HasBlock(LocationWord word) const {
    return word.on_device() && core_.geometry.IsBlock(word.slot(), word.slots());
  }
  bool WriteInPlace(PageWriteQueue& queue, const PageWrite& write, SlotId slot,
                    std::optional<LocationWord> only_from);
  bool Overtake(PageWriteQueue& queue, const PageWrite& write);
  bool AppendHot(PageWriteQueue& queue, uint32_t stream, const PageWrite& write);
  bool Append(PageWriteQueue& queue, LogId log, std::optional<Claim> claim, const PageWrite& write);
  bool WriteToHole(PageWriteQueue& queue, const PageWrite& write, SegmentKind kind);
  void PollQueues();
  std::vector<PageWriteQueue*> AllQueues() const;

  PageDirectory& directory_;
  StoreCore& core_;
  SpaceManager& space_;
  MapCheckpointer& checkpointer_;
  Separator& separator_;
  const StoreBuffers& buffers_;
  DeathTimes* const death_times_;
  const StreamChoice streams_;
  SegmentWriter writer_;
  std::unique_ptr<Doublewriter> doublewriter_;  // nullptr: nothing is protected
  const PageCodecChoice codec_;
  const bool may_rely_on_images_;
  std::atomic<bool> relies_on_images_{false};  // instead of doublewriter_

  mutable Mutex queues_mutex_;
  std::vector<std::unique_ptr<PageWriteQueue>> queues_ LATCHKEY_GUARDED_BY(queues_mutex_);
  uint64_t queue_bytes_ LATCHKEY_GUARDED_BY(queues_mutex_) = 0;  // of the frames of queues_
  std::vector<PageWriteQueue*> idle_queues_ LATCHKEY_GUARDED_BY(queues_mutex_);

  Mutex waiting_frees_mutex_;
  // Freed pages that wait until the file can be marked unclean.
  std::vector<PageId> waiting_frees_ LATCHKEY_GUARDED_BY(waiting_frees_mutex_);
};

}  // namespace latchkey
