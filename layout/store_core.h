// What the parts of a segment store share: map, segments, copy frames, counters, the fatal error.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "layout/copy_frames.h"
#include "layout/geometry.h"
#include "layout/map_journal.h"
#include "layout/page_map.h"
#include "layout/segment_table.h"
#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/page_store.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct StoreCounters {
  std::atomic<uint64_t> page_reads{0};
  std::atomic<uint64_t> user_page_writes{0};
  std::atomic<uint64_t> in_place_page_writes{0};
  std::atomic<uint64_t> appended_page_writes{0};
  std::atomic<uint64_t> cleaner_page_writes{0};
  std::atomic<uint64_t> cleaner_page_reads{0};
  std::atomic<uint64_t> cleaner_pages_copied{0};  ///< got from the pool above instead of read
  std::atomic<uint64_t> cleaned_segments{0};
  std::atomic<uint64_t> plugged_segments{0};
  std::atomic<uint64_t> cleaned_live_pages{0};
  std::atomic<uint64_t> meta_bytes_written{0};
  std::atomic<uint64_t> writes_again{0};  ///< of single pages whose write had failed
};

/// Thread-safe.
struct StoreCore {
  StoreCore(Runtime& rt, BlockDevice& dev, StoreGeometry geo, uint64_t id, LogSink sink)
      : runtime(rt),
        device(dev),
        geometry(geo),
        database_id(id),
        log_sink(std::move(sink)),
        map(rt),
        segments(rt, geo),
        frames(rt, geo.page_size),
        fatal_mutex(rt),
        round_mutex(rt) {}

  /// Turns the store read-only for good; the first error stays.
  void Poison(const absl::Status& error);
  bool poisoned() const { return is_poisoned.load(std::memory_order_acquire); }
  /// OK, or what every write now fails with.
  absl::Status WriteStatus() const;

  /// The page's copy is on the device at `target`: the map points there, and what it supersedes is
  /// released. For a frame whose write was overtaken, the new slot is released instead.
  /// False: for want of memory it could not be noted; the store is read-only, and the frame serves
  /// the page until it is closed.
  bool InstallWritten(FrameIndex index);
  /// The copy in `frame`, which is not going to be written, is no newest one: whoever waits for its
  /// ticket waits no more.
  void Forget(CopyFrame& frame);
  /// Exchanges the word of a page that has a durable copy, or gets one; `durable` is the durable
  /// word from now on, and `superseded` (kNoSlot: none) is given back: at once, or with a journal
  /// once all of it is durable.
  bool ChangeWord(PageId page, PageWord& expected, PageWord desired, PageWord durable,
                  SlotId superseded);

  /// One round of the journal (map_journal.h). What was on the device before the call is
  /// recoverable afterwards. Waits for I/O only. IsJournalFull, or out of memory: nothing has
  /// changed; any other error poisons the store. REQUIRES: a journal.
  absl::Status CommitRound();
  /// A round that `commit` makes durable in place of the journal, which is left as it is: all
  /// changes made before `commit` is called. No other round is under way meanwhile, so no slot that
  /// a durable word named since is given back before it returns. Its error poisons the store.
  absl::Status CommitRoundBy(absl::FunctionRef<absl::Status()> commit);

  /// Asks `durable` from now on how far the log above has reached; nullptr: nobody.
  void SetLogPosition(std::function<Lsn()> durable);
  /// How far it has reached, as far as is known now. To be noted by whatever is written.
  Lsn LogReach() const;
  /// What an open has found noted.
  void NoteLogReach(Lsn reach);

  /// Takes the next ticket for the write in `frame`.
  void TakeTicket(CopyFrame& frame);
  WriteTicket durable_ticket() const { return durable.load(std::memory_order_acquire); }
  void AdvanceDurableTicket(WriteTicket ticket);

  /// What was read for `page`, which `word` says is on the device, must be that page at the word's
  /// write. After a crash it may be at a later one, whose change of the map was lost: then the word
  /// is corrected, and Aborted tells the caller to load it again. Otherwise DataLoss.
  absl::Status Prove(PageId page, PageWord word, std::span<const std::byte> read);

  Runtime& runtime;
  BlockDevice& device;
  const StoreGeometry geometry;
  const uint64_t database_id;
  const LogSink log_sink;
  PageMap map;
  StoreSegmentTable segments;
  FrameTable frames;
  StoreCounters counters;
  std::unique_ptr<MapJournal> journal;  ///< nullptr: not crash-safe; set before the first change
  bool recovered = false;               ///< the map was restored after a crash
  /// Of the newest superblock on the device.
  std::atomic<uint64_t> generation{0};
  /// Writes that completed when a newer copy of their page had been accepted already.
  std::atomic<uint64_t> overtaken{0};
  /// Newest WriteTicket; also the clock that the age of segments is measured by.
  std::atomic<uint64_t> accepted_ticket{0};

 private:
  void Install(FrameIndex index);
  // REQUIRE: round_mutex.
  void PaceRounds();
  WriteTicket NewestInMap(WriteTicket accepted) const;
  absl::Status EndRound(WriteTicket done, const absl::Status& status);

  std::atomic<WriteTicket> durable{0};
  mutable Mutex fatal_mutex;
  absl::Status fatal;
  // Made before memory runs out.
  const absl::Status fatal_without_memory = absl::UnavailableError(
      "the store is read-only since memory ran out in the middle of a write; close and reopen it");
  std::atomic<bool> is_poisoned{false};
  mutable SpinLatch log_latch;  // a leaf; guards the two below
  std::function<Lsn()> log_position;
  mutable Lsn known_log_reach{0};
  Mutex round_mutex;  // guards the batch; held across the I/O of a round
  MapJournal::Batch round_batch;
};

/// Whether a round failed for want of room in the journal, with nothing changed: then a checkpoint
/// of the map has to take its place.
bool IsJournalFull(const absl::Status& round);

/// Copies `data` into `frame`, seals it and makes the map name it as the page's newest copy. With
/// `only_from`, does so only if the page's word still is that one (it may not have moved when it is
/// written over its slot); returns whether it did.
/// REQUIRES: only the caller uses the frame, whose `target` is set.
bool AcceptIntoFrame(StoreCore& core, FrameIndex frame, PageId page, const std::byte* data,
                     std::optional<PageWord> only_from = std::nullopt);

/// Waits until no in-place write of `page` is in flight: a page is not accepted again before that.
PageWord AwaitInPlaceWrite(StoreCore& core, PageId page);

}  // namespace latchkey
