// The page directory: where every page is, and who owns every slot. It joins page map, segment
// table, copy frames and map journal, so that they change together:
//
//   accept   the newest copy of a page is in a copy frame; its slot keeps the durable copy
//   install  the copy is in its slot: the map names that slot, and the one before is superseded
//   round    the changes of the map become durable, and superseded slots are released
//
// Everything that ends the ownership of a slot goes through here, so no slot is reused while the
// durable map may name it. Parts that only read use map(), segments() and frames().
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "layout/map/copy_frames.h"
#include "layout/map/map_journal.h"
#include "layout/map/page_map.h"
#include "layout/map/segment_table.h"
#include "layout/store_core.h"
#include "storage/page_store.h"

namespace latchkey {

/// Thread-safe, except SetJournal and what only a restore calls.
class PageDirectory final : private EmptySegments {
 public:
  explicit PageDirectory(StoreCore& core)
      : core_(core),
        map_(core.runtime),
        segments_(core.runtime, core.geometry),
        frames_(core.runtime, core.geometry),
        is_flash_(core.device.geometry().erase_unit_bytes > 0),
        round_mutex_(core.runtime) {
    if (is_flash_ && !discards_slots()) segments_.set_empties(this);
  }

  StoreCore& core() { return core_; }
  const StoreCore& core() const { return core_; }
  PageMap& map() { return map_; }
  const PageMap& map() const { return map_; }
  StoreSegmentTable& segments() { return segments_; }
  const StoreSegmentTable& segments() const { return segments_; }
  FrameTable& frames() { return frames_; }
  /// nullptr: the store is not crash-safe, and there are no rounds.
  MapJournal* journal() { return journal_.get(); }
  const MapJournal* journal() const { return journal_.get(); }
  /// REQUIRES: called before the first change.
  void SetJournal(std::unique_ptr<MapJournal> journal);
  /// `listener` hears of free segments and due rounds. REQUIRES: called before the first change.
  void SetListener(SpaceListener* listener);
  bool journal_is_full() const { return journal_ != nullptr && journal_->full(); }

  /// InvalidArgument if `id` is not allocated.
  absl::Status CheckAllocated(PageId id) const {
    return map_.IsAllocated(id) ? absl::OkStatus() : NotAllocated(id);
  }
  /// The word of the page's newest copy on the device, as a checkpoint records it.
  LocationWord DurableWord(PageId id) const;
  /// Checks that `read` is `page` with the write sequence of `word`. After a crash the page may be
  /// a later write, because the journal entry of an in-place write was lost: then corrects the word
  /// and returns Aborted, and the caller loads the word again. Otherwise DataLoss.
  absl::Status Prove(PageId page, LocationWord word, std::span<const std::byte> read);
  /// As Prove, of the bytes in the page's slots, which may be an image.
  absl::Status ProveSlots(PageId page, LocationWord word, std::span<const std::byte> slots);
  /// As ProveSlots, of the blocks in which the page lies. Then the page is in `out`, unpacked;
  /// `blocks` may begin at `out`.
  absl::Status ProveBlocks(PageId page, LocationWord word, std::span<const std::byte> blocks,
                           std::byte* out);

  /// Copies `data` into `frame`, seals it and makes the map name it as the page's newest copy. With
  /// `only_from`, does so only if that is still the page's word: a page written in place must not
  /// have moved. Returns whether it did.
  /// REQUIRES: only the caller uses the frame, whose `target` is set.
  bool Accept(FrameIndex frame, PageId page, const std::byte* data,
              std::optional<LocationWord> only_from = std::nullopt);
  /// As Accept, of an image of the page `data` that takes `slots` slots.
  void AcceptImage(FrameIndex frame, PageId page, const std::byte* data,
                   std::span<const std::byte> image, uint32_t slots);
  /// Installs a copy that is now on the device at the frame's target: the map names that slot, and
  /// the superseded slot is released. If the write was overtaken, releases the target instead.
  /// False: memory ran out; the store is read-only, and the frame serves the page until the store
  /// is closed.
  bool InstallWritten(FrameIndex index);
  /// Drops the copy in `frame`, which was overtaken. Its ticket does not hold back durable_ticket
  /// any more.
  void Forget(CopyFrame& frame);
  /// Number of overtaken writes: a newer copy was accepted before the write was done.
  uint64_t overtaken() const { return overtaken_.load(std::memory_order_seq_cst); }
  /// Ends the life of the page's newest copy, named by `word`, and releases the slot of its durable
  /// one. Its word is then kUnwritten. False: the word was not `word`, which is then the present one.
  bool DropCopies(PageId page, LocationWord& word);

  /// Ends the ownership of a slot that no word has named since it got its owner.
  void ReleaseUnnamed(SlotId slot) { Release(slot); }
  /// Makes a kMeta segment free. Its content is dead.
  void ReleaseMeta(SegmentId segment);
  /// Slots that the pages in use take. A page that was never written counts as a whole one.
  uint64_t live_slots() const {
    const uint64_t saved = saved_slots_.load(std::memory_order_acquire);
    const uint64_t whole = map_.allocated() * core_.geometry.slots_per_page;
    return whole - std::min(whole, saved);
  }
  /// Only while a store is opened: makes `page` the owner of the slots that its word names.
  bool RestoreOwner(PageId page, LocationWord word);
  /// Notes that `segment` now takes pages of `kind`. REQUIRES: called before a page in it is noted.
  void NoteSegment(SegmentId segment, SegmentKind kind) {
    if (journal_ != nullptr) journal_->NoteSegment(segment, kind, clock());
  }

  /// Runs a round: every write that was on the device before the call is recoverable afterwards.
  /// Waits for I/O only. On IsJournalFull, or when memory runs out, nothing has changed; any other
  /// error poisons the store. REQUIRES: a journal.
  absl::Status RunRound();
  /// Runs a round whose changes `capture` makes durable instead of the journal. `capture` must
  /// cover all changes made before it is called; the journal is not written. No other round runs
  /// meanwhile, so slots superseded meanwhile stay owned until it returns. An error of `capture`
  /// poisons the store.
  absl::Status RunRoundWith(absl::FunctionRef<absl::Status()> capture);
  /// As MapJournal::GiveUpAll, while no round runs.
  void GiveUpJournal();

  /// Takes the next ticket for the write in `frame`, and counts the write in `*unwritten` until
  /// CopyFrame::EndTicket.
  void TakeTicket(CopyFrame& frame, std::atomic<size_t>* unwritten);
  /// The newest ticket, and the newest such that it and all before it are durable.
  WriteTicket accepted_ticket() const { return accepted_.load(std::memory_order_acquire); }
  WriteTicket durable_ticket() const { return durable_.load(std::memory_order_acquire); }
  void AdvanceDurableTicket(WriteTicket ticket);
  /// The clock that the age of segments is measured by: the number of accepted pages.
  uint64_t clock() const { return accepted_.load(std::memory_order_relaxed); }

  /// Only while a store is opened: raises the clock; from now on a page on the device may be newer
  /// than the map (Prove).
  void RestoreClock(uint64_t clock);
  void set_recovered() { recovered_ = true; }

  size_t memory_bytes() const {
    return map_.memory_bytes() + segments_.memory_bytes() + frames_.memory_bytes();
  }

 private:
  absl::Status NotAllocated(PageId id) const;
  bool ChangeWord(PageId page, LocationWord& expected, LocationWord desired, LocationWord durable,
                  SlotId superseded);
  void Install(FrameIndex index);
  bool discards_slots() const { return is_flash_ && !core_.geometry.compresses(); }
  void Release(SlotId slot);
  void Discard(SlotId slot);
  void OnSegmentEmptied(SegmentId segment) override { ReleaseMeta(segment); }
  bool AcceptSealed(FrameIndex index, PageId page, std::optional<LocationWord> only_from,
                    absl::FunctionRef<void(uint32_t sequence)> seal);
  void CountSaved(LocationWord before, LocationWord after);
  void PaceRounds();
  WriteTicket NewestInMap(WriteTicket accepted) const;
  absl::Status EndRound(WriteTicket done, const absl::Status& status)
      LATCHKEY_REQUIRES(round_mutex_);

  StoreCore& core_;
  PageMap map_;
  StoreSegmentTable segments_;
  FrameTable frames_;
  // Flash moves what it does not know to be dead. It is told slot by slot. With page compression a
  // slot is a part of a block, and flash is told of whole segments.
  const bool is_flash_;
  std::unique_ptr<MapJournal> journal_;
  bool recovered_ = false;  // the map was restored after a crash
  SpaceListener* listener_ = nullptr;
  std::atomic<uint64_t> overtaken_{0};
  // By how many slots the copies on the device are smaller than whole pages.
  std::atomic<uint64_t> saved_slots_{0};
  std::atomic<WriteTicket> accepted_{0};
  std::atomic<WriteTicket> durable_{0};
  Mutex round_mutex_;  // held across the I/O of a round
  MapJournal::Batch round_batch_ LATCHKEY_GUARDED_BY(round_mutex_);
  bool asked_for_checkpoint_ LATCHKEY_GUARDED_BY(round_mutex_) = false;
};

/// Whether a round failed because the journal has no room. Nothing has changed then, and a
/// checkpoint of the map has to take the round's place.
bool IsJournalFull(const absl::Status& round);

}  // namespace latchkey
