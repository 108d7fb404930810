// The map journal: every change of a durable map word, in the order of the map, so that the map can
// be restored after a crash from the last checkpoint and what follows here (RELIABILITY.md 4.3).
//
// Changes gather in memory, under a latch that is held across the exchange of the word: journal
// order is map order. A *round* (StoreCore::CommitRound) takes what has gathered, syncs the data
// device, so that every copy the changes name is durable, writes and syncs them as records of the
// Log, and only then gives back the slots that the changes have superseded. A change is therefore
// never durable before the copy it names, and no slot is reused before what supersedes it is.
//
// A journal that has no room for a round, and cannot grow, takes nothing of it. A checkpoint of the
// map takes the round's place then, and the journal before it is needed no more.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "layout/geometry.h"
#include "layout/page_map.h"
#include "layout/segment_table.h"
#include "storage/wal/log.h"

namespace latchkey {

/// Exactly the bytes in a record of the journal, which is a sequence of them. See FORMAT.md.
struct JournalEntry {
  enum class Type : uint8_t { kPage = 1, kSegment = 2, kClock = 3 };

  uint64_t key = 0;  ///< type in bits 56-63; page id, segment or LSN below
  uint64_t value = 0;

  static JournalEntry Page(PageId page, PageWord word) {
    return {Key(Type::kPage, Raw(page)), word.bits()};
  }
  static JournalEntry Segment(SegmentId segment, uint64_t table_entry) {
    return {Key(Type::kSegment, Raw(segment)), table_entry};
  }
  /// `reach`: how far the log above reached when the round began; 0: not known.
  static JournalEntry Clock(uint64_t clock, Lsn reach) {
    return {Key(Type::kClock, std::min(Raw(reach), kMaxId)), clock};
  }
  Type type() const { return static_cast<Type>(key >> 56); }
  uint64_t id() const { return key & kMaxId; }

 private:
  static constexpr uint64_t kMaxId = (uint64_t{1} << 56) - 1;
  static constexpr uint64_t Key(Type type, uint64_t id) {
    return (static_cast<uint64_t>(type) << 56) | id;
  }
};
static_assert(sizeof(JournalEntry) == 16);

struct MapJournalOptions {
  uint64_t database_id = 0;
  /// Bytes in use above which the store checkpoints its map; 0: by the size of the map.
  uint64_t checkpoint_bytes = 0;
  uint32_t segment_bytes = 256u << 10;  ///< of the log
  LogSink log_sink;
};

/// Thread-safe, but for Open, Replay and StartWriting, and for Write, which is called by one actor
/// at a time.
class MapJournal {
 public:
  /// What one round makes durable.
  struct Batch {
    std::vector<JournalEntry> entries;
    std::vector<SlotId> superseded;
  };

  /// Drops what is on `device` and makes room for a new journal. ResourceExhausted: there is none
  /// now, another time there may be.
  static absl::Status MakeRoom(BlockDevice& device, const MapJournalOptions& options);
  /// The journal of a store whose checkpoint is complete. REQUIRES: MakeRoom.
  static std::unique_ptr<MapJournal> New(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                         const MapJournalOptions& options);
  /// The journal of a store that was not closed cleanly, needed from `start` on. Changes nothing.
  /// FailedPrecondition, DataLoss: as OpenLog and Log::FindEnd.
  static absl::StatusOr<std::unique_ptr<MapJournal>> Open(Runtime& runtime,
                                                          std::unique_ptr<BlockDevice> device,
                                                          const MapJournalOptions& options,
                                                          Lsn start);
  ~MapJournal();

  /// Calls `visit` for every entry, in order. DataLoss: a record that is none of ours.
  absl::Status Replay(absl::FunctionRef<absl::Status(const JournalEntry&)> visit);
  /// After it rounds may be written. REQUIRES: called once.
  absl::Status StartWriting();
  /// Called, without the latch held, when a round is due, or by Signal.
  void set_on_due(std::function<void()> on_due) { on_due_ = std::move(on_due); }

  /// Exchanges the word of `page` from `expected` to `desired` in `map` and notes that the durable
  /// word is `durable` from now on, which supersedes the copy in `superseded` (kNoSlot: none).
  /// False, with the word found in `expected`, when it was another one.
  bool Change(PageMap& map, PageId page, PageWord& expected, PageWord desired, PageWord durable,
              SlotId superseded);
  /// Notes the word of a page that nobody else changes.
  void NoteWord(PageId page, PageWord durable);
  /// Notes kind and birth of a segment; before any page in it is noted.
  void NoteSegment(SegmentId segment, SegmentKind kind, uint64_t birth);

  /// Slots that wait for a round, and whether one is due.
  size_t pending_slots() const { return pending_slots_.load(std::memory_order_relaxed); }
  bool due() const;
  /// How many waiting slots make a round due.
  void set_most_pending_slots(size_t slots) {
    most_pending_slots_.store(slots, std::memory_order_relaxed);
  }

  /// Tells whoever runs rounds and checkpoints that there is something to do.
  void Signal() {
    if (on_due_) on_due_();
  }

  /// Moves what has gathered into `batch`, whose content is dropped.
  void Take(Batch& batch);
  /// As Take, with room in the log for all of it. ResourceExhausted: there is none, or no memory
  /// (IsOutOfMemory), and nothing has been taken.
  absl::Status TakeWithRoom(Batch& batch);
  /// The last round found no room, and none has been made since. Wait-free.
  bool full() const { return full_.load(std::memory_order_relaxed); }
  /// Makes the entries of `batch`, the clock, and how far the log above has reached, durable.
  /// REQUIRES: the batch was taken with room.
  absl::Status Write(const Batch& batch, uint64_t clock, Lsn log_reach);

  /// Where a replay has to begin so that it sees everything that is written from now on.
  Lsn Position() const;
  /// Nothing before it is needed any more, durably.
  void Truncate(Lsn start);
  /// Whether so much is in use, or so little room is left, that the map should be checkpointed,
  /// with a map of `page_ids`.
  bool WantsCheckpoint(uint64_t page_ids) const;
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  /// What the journal on `device` takes while it is written. Bytes.
  static size_t MemoryFor(const MapJournalOptions& options, const BlockDevice& device);

 private:
  MapJournal(Runtime& runtime, std::unique_ptr<BlockDevice> device, std::unique_ptr<Log> log,
             const MapJournalOptions& options, Lsn start);
  static LogOptions OptionsOfLog(const MapJournalOptions& options, const BlockDevice& device);
  void MakeRoom();
  void Gather(const JournalEntry& entry, SlotId superseded);  // REQUIRES: latch_
  bool TakeAtMost(size_t entries, Batch& batch);
  size_t MostInRecord() const;
  uint64_t SpaceFor(size_t entries) const;
  absl::Status Reserve(uint64_t bytes);
  void SignalIfDue();

  Runtime& runtime_;
  const MapJournalOptions options_;
  std::unique_ptr<BlockDevice> device_;  // until a log is created on it
  std::unique_ptr<Log> log_;
  std::atomic<uint64_t> start_;
  std::function<void()> on_due_;

  SpinLatch latch_;  // guards gathered_; held across the exchange of a word
  Batch gathered_;
  std::atomic<size_t> pending_slots_{0};
  std::atomic<size_t> pending_entries_{0};
  std::atomic<size_t> most_pending_slots_{4096};
  std::atomic<bool> signalled_{false};
  std::atomic<bool> full_{false};
  std::atomic<bool> scarce_{false};  // the last round took, or lacked, what the log keeps back
  std::atomic<uint64_t> bytes_written_{0};
};

}  // namespace latchkey
