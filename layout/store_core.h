// The state that the parts of a segment store share: map, segments, copy frames, counters, the
// fatal error.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "layout/geometry.h"
#include "layout/map/copy_frames.h"
#include "layout/map/map_journal.h"
#include "layout/map/page_map.h"
#include "layout/map/segment_table.h"
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
  std::atomic<uint64_t> writes_again{0};  ///< retries of failed page writes
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

  /// Makes the store read-only until it is reopened. The first error stays.
  void Poison(const absl::Status& error);
  bool poisoned() const { return is_poisoned.load(std::memory_order_acquire); }
  /// OK, or the error that every write now returns.
  absl::Status WriteStatus() const;

  /// Installs a copy that is now on the device at the frame's target: the map names that slot, and
  /// the superseded slot is released. If the write was overtaken, releases the target instead.
  /// False: memory ran out; the store is read-only, and the frame serves the page until the store
  /// is closed.
  bool InstallWritten(FrameIndex index);
  /// Drops the copy in `frame`, which was overtaken. Its ticket does not hold back durable_ticket
  /// any more.
  void Forget(CopyFrame& frame);
  /// Exchanges the word of a page that has a durable copy, or now gets one. `durable` is the page's
  /// durable word from now on. Releases the slot `superseded` (kNoSlot: none): without a journal at
  /// once, with a journal after the round that makes the change durable. False: the word was not
  /// `expected`.
  bool ChangeWord(PageId page, LocationWord& expected, LocationWord desired, LocationWord durable,
                  SlotId superseded);

  /// Runs one round of the journal (map_journal.h): every write that was on the device before the
  /// call is recoverable afterwards. Waits for I/O only. On IsJournalFull, or when memory runs out,
  /// nothing has changed; any other error poisons the store. REQUIRES: a journal.
  absl::Status CommitRound();
  /// Runs a round whose changes `commit` makes durable instead of the journal. `commit` must cover
  /// all changes made before it is called; the journal is not written. No other round runs
  /// meanwhile, so slots superseded meanwhile stay owned until it returns. An error of `commit`
  /// poisons the store.
  absl::Status CommitRoundBy(absl::FunctionRef<absl::Status()> commit);

  /// From now on the log reach is the value of `durable()`; nullptr: it keeps its last value.
  void SetLogPosition(std::function<Lsn()> durable);
  /// The log reach: LSN up to which the write-ahead log is durable, as far as is known now. Rounds,
  /// superblocks and doublewrite batches note it.
  Lsn LogReach() const;
  /// Raises the log reach to a noted value that an open has found.
  void NoteLogReach(Lsn reach);

  /// Takes the next ticket for the write in `frame`, and counts the write in `*unwritten` until
  /// CopyFrame::EndTicket.
  void TakeTicket(CopyFrame& frame, std::atomic<size_t>* unwritten);
  WriteTicket durable_ticket() const { return durable.load(std::memory_order_acquire); }
  void AdvanceDurableTicket(WriteTicket ticket);

  /// Checks that `read` is `page` with the write sequence of `word`. After a crash the page may be
  /// a later write, because the journal entry of an in-place write was lost: then corrects the word
  /// and returns Aborted, and the caller loads the word again. Otherwise DataLoss.
  absl::Status Prove(PageId page, LocationWord word, std::span<const std::byte> read);

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
  /// Generation of the newest superblock on the device.
  std::atomic<uint64_t> generation{0};
  /// Number of overtaken writes: a newer copy of the page was accepted before the write completed.
  std::atomic<uint64_t> overtaken{0};
  /// Newest WriteTicket; also the clock that the age of segments is measured by.
  std::atomic<uint64_t> accepted_ticket{0};

 private:
  void Install(FrameIndex index);
  // REQUIRE: round_mutex.
  void PaceRounds();
  WriteTicket NewestInMap(WriteTicket accepted) const;
  absl::Status EndRound(WriteTicket done, const absl::Status& status)
      LATCHKEY_REQUIRES(round_mutex);

  std::atomic<WriteTicket> durable{0};
  mutable Mutex fatal_mutex;
  absl::Status fatal LATCHKEY_GUARDED_BY(fatal_mutex);
  // Made before memory runs out.
  const absl::Status fatal_without_memory = absl::UnavailableError(
      "the store is read-only since memory ran out in the middle of a write; close and reopen it");
  std::atomic<bool> is_poisoned{false};
  mutable SpinLatch log_latch;  // a leaf
  std::function<Lsn()> log_position LATCHKEY_GUARDED_BY(log_latch);
  mutable Lsn known_log_reach LATCHKEY_GUARDED_BY(log_latch){0};
  Mutex round_mutex;  // held across the I/O of a round
  MapJournal::Batch round_batch LATCHKEY_GUARDED_BY(round_mutex);
};

/// Whether a round failed because the journal has no room. Nothing has changed then, and a
/// checkpoint of the map has to take the round's place.
bool IsJournalFull(const absl::Status& round);

/// Copies `data` into `frame`, seals it and makes the map name it as the page's newest copy. With
/// `only_from`, does so only if that is still the page's word: a page written in place must not
/// have moved. Returns whether it did.
/// REQUIRES: only the caller uses the frame, whose `target` is set.
bool AcceptIntoFrame(StoreCore& core, FrameIndex frame, PageId page, const std::byte* data,
                     std::optional<LocationWord> only_from = std::nullopt);

/// Waits until no in-place write of `page` is in flight, and returns the page's word. The store
/// accepts a page again only after that.
LocationWord AwaitInPlaceWrite(StoreCore& core, PageId page);

}  // namespace latchkey
