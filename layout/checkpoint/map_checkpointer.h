// The map checkpointer: makes the page directory durable, and says on the device whether it is.
//
//   make durable   a round of the journal; if the journal is full, a checkpoint in its place; without
//                  a journal, a sync of the data
//   capture        page map and segment table are written to free segments, and synced
//   publish        a superblock that names the capture is made durable, if the gate is open
//   checkpoint     write out, make durable, capture, publish; then the segments of the checkpoint
//                  before and the older journal are free
//
// The unclean mark is a superblock that is durable before the first change after an open or a clean
// checkpoint. With a journal the engine does not wait for checkpoints of the map: they only bound
// the journal. A checkpoint is fuzzy: writers go on meanwhile.
//
// If the journal is full and cannot grow, a checkpoint takes the place of a round:
//
//   take the round's changes -> write the map, which contains them all, and the table -> sync ->
//   superblock -> sync -> free the superseded slots, the old journal and the old checkpoint
//
// No other round runs meanwhile. A change made meanwhile may be in the captured map or not, but it
// is in the next round; the slot that it supersedes stays owned until that round is done. So after
// a crash every word is the captured one, or one that a partly durable next round wrote. In either
// case it names a sound page, and no other page has got that slot.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layout/checkpoint/background_cleaner.h"
#include "layout/checkpoint/checkpoint.h"
#include "layout/checkpoint/superblock.h"
#include "layout/clean/durable_map.h"
#include "layout/map/page_directory.h"
#include "layout/separate/cost_meter.h"
#include "layout/space/space_manager.h"

namespace latchkey {

/// Thread-safe, except for Format, Restore and AttachCleaner.
class MapCheckpointer final : public DurableMap {
 public:
  struct Options {
    MapJournalOptions journal;
    double space_utilization = 0;  ///< these two are noted in superblocks
    std::string layout;
    uint32_t doublewrite_pages = 0;  ///< of each area, that a batch may take; 0: none
    /// Checkpoints note its costs; nullptr: those of the superblock stay. Outlives the checkpointer.
    const CostMeter* costs = nullptr;
  };

  /// `superblock` describes an existing file, or a new one (generation 0). `journal`: the device of
  /// the map journal; nullptr: the store is not crash-safe.
  MapCheckpointer(PageDirectory& directory, SpaceManager& space, const Superblock& superblock,
                  std::unique_ptr<BlockDevice> journal, Options options);

  /// Format writes the first superblock of an empty store. Restore fills the directory.
  absl::Status Format();
  absl::Status Restore() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  /// The cleaner is started behind the first unclean mark, and stopped for clean checkpoints.
  /// REQUIRES: called before the first change.
  void AttachCleaner(BackgroundCleaner* cleaner) { cleaner_ = cleaner; }

  bool is_unclean() const override { return is_unclean_.load(std::memory_order_acquire); }
  /// On OK the file is marked unclean. ResourceExhausted: there is no room for a journal now, and
  /// nothing has changed; any other error poisons the store.
  absl::Status EnsureUnclean() { return is_unclean() ? absl::OkStatus() : BecomeUnclean(); }

  /// Every page that is in its slot now is recoverable on return. ResourceExhausted: nothing has
  /// changed. Waits for a checkpoint of another thread if the journal is full.
  absl::Status MakeDurable();
  absl::Status TryMakeDurable() override;
  void CheckpointIfWanted() override;

  /// Whether the newest checkpoint is clean and has this client root, with no change since.
  bool HasClean(std::span<const std::byte> client_root);
  /// Writes a checkpoint with `client_root`. `write_out` brings all accepted pages to their slots.
  /// `clean`: the file is then closed cleanly, until the next change. REQUIRES: EnsureUnclean.
  absl::Status Checkpoint(std::span<const std::byte> client_root, bool clean,
                          absl::FunctionRef<absl::Status()> write_out);

  size_t journal_memory_bytes() const { return journal_memory_bytes_; }
  uint64_t journal_bytes_written() const;

 private:
  // The unclean mark.
  absl::Status BecomeUnclean();
  absl::Status OpenNewJournal();
  absl::Status StartWork() LATCHKEY_REQUIRES(mutex_);
  absl::Status MarkUnclean() LATCHKEY_REQUIRES(mutex_);

  // Checkpoints.
  absl::Status Sync();
  absl::Status WriteOutFirst(absl::FunctionRef<absl::Status()> write_out);
  absl::Status MakeDurableLocked() LATCHKEY_REQUIRES(mutex_);
  // Keeps the last client root. ResourceExhausted: no free segments, or no memory; nothing changed.
  absl::Status Renew() LATCHKEY_REQUIRES(mutex_);
  absl::StatusOr<std::vector<SegmentId>> TakeSegments(MetaClaim claim);
  absl::Status WriteInto(std::vector<SegmentId> segments, std::span<const std::byte> client_root,
                         bool clean) LATCHKEY_REQUIRES(mutex_);
  // A segment that takes no write is replaced in `segments`.
  absl::Status CaptureAndPublish(std::vector<SegmentId>& segments, Superblock& next, bool is_round)
      LATCHKEY_REQUIRES(mutex_);
  absl::Status WriteMapAndTable(std::vector<SegmentId>& segments, Superblock& next);
  absl::Status WriteMap(CheckpointWriter& out, const Superblock& next);
  // Map and table; notes their sizes in `next`.
  absl::Status WriteWords(CheckpointWriter& out, Superblock& next,
                          const std::vector<SegmentId>& segments);
  SegmentEntry EntryOf(SegmentId segment, const std::vector<SegmentId>& own) const;
  absl::Status SyncCaptured(bool is_round);
  absl::Status Publish(Superblock& next) LATCHKEY_REQUIRES(mutex_);

  PageDirectory& directory_;
  StoreCore& core_;
  SpaceManager& space_;
  const Options options_;
  std::unique_ptr<BlockDevice> journal_device_;  // the journal takes it over
  const size_t journal_memory_bytes_;            // from the first change on
  // Set once the journal is usable: for threads that read it while the first change creates it.
  std::atomic<const MapJournal*> usable_journal_{nullptr};
  BackgroundCleaner* cleaner_ = nullptr;

  Mutex mutex_;  // held across a checkpoint
  Superblock superblock_ LATCHKEY_GUARDED_BY(mutex_);
  std::vector<SegmentId> segments_ LATCHKEY_GUARDED_BY(mutex_);  // of the newest checkpoint
  bool started_ LATCHKEY_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_unclean_{false};
};

}  // namespace latchkey
