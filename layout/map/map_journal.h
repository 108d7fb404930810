// The map journal: every change of a durable map word, in the order in which the map changed. After
// a crash the map is restored from the last checkpoint and this journal (RELIABILITY.md 4.3).
//
// Changes gather in memory under a latch that is held across the exchange of the word, so journal
// order is map order. A *round* (PageDirectory::RunRound) is a group commit of the journal:
//   1. take the gathered changes;
//   2. sync the data device: every copy that the changes name is durable;
//   3. write the changes as records of the Log and sync it;
//   4. release the slots that the changes supersede.
// So a change is durable only after the copy it names, and a slot is reused only after the change
// that supersedes its content is durable.
//
// If the journal has no room for a round and cannot grow, it takes no change of that round. A
// checkpoint of the map then takes the round's place. After it the older journal is not needed.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "layout/geometry.h"
#include "layout/map/page_map.h"
#include "layout/map/segment_table.h"
#include "storage/wal/log.h"

namespace latchkey {

/// Exactly the bytes on the device; a record of the journal is a run of entries. See FORMAT.md.
struct JournalEntry {
  enum class Type : uint8_t { kPage = 1, kSegment = 2, kClock = 3 };

  uint64_t key = 0;  ///< type in bits 56-63; page id, segment or LSN below
  uint64_t value = 0;

  static JournalEntry Page(PageId page, LocationWord word) {
    return {Key(Type::kPage, Raw(page)), word.bits()};
  }
  static JournalEntry Segment(SegmentId segment, uint64_t table_entry) {
    return {Key(Type::kSegment, Raw(segment)), table_entry};
  }
  /// `reach`: the log reach when the round began; 0: not known.
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
  uint32_t segment_bytes = 64u << 10;  ///< of the log, at least
  /// Pages in the map when the journal is created: the segments of a large journal are larger.
  uint64_t page_ids = 0;
  /// The buffer of the log takes as much as four segments, at most this much.
  uint32_t most_buffer_bytes = 1u << 20;
  /// Gathered changes, and superseded slots, of which any number makes a round due. Changes without
  /// a superseded slot (pages written in place) count, too. That bounds the memory for gathered
  /// changes and the time of their replay.
  uint32_t most_entries = 8192, most_slots = 4096;
  LogSink log_sink;
};

/// Thread-safe except for Open, Replay and StartWriting. One actor at a time calls Write.
class MapJournal {
 public:
  /// The changes that one round makes durable, and the slots that it then releases.
  struct Batch {
    std::vector<JournalEntry> entries;
    std::vector<SlotId> superseded;
  };

  /// Drops the content of `device` and makes room for a new journal. ResourceExhausted: there is no
  /// room now; the caller may try again later.
  static absl::Status MakeRoom(BlockDevice& device, const MapJournalOptions& options);
  /// The journal of a store whose checkpoint is complete. REQUIRES: MakeRoom.
  static std::unique_ptr<MapJournal> New(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                         const MapJournalOptions& options);
  /// The journal of a store that was not closed cleanly; its replay begins at `start`. Changes
  /// nothing.
  /// FailedPrecondition, DataLoss: as OpenLog and Log::FindEnd.
  static absl::StatusOr<std::unique_ptr<MapJournal>> Open(Runtime& runtime,
                                                          std::unique_ptr<BlockDevice> device,
                                                          const MapJournalOptions& options,
                                                          Lsn start);
  ~MapJournal();

  /// Calls `visit` for every entry, in order. DataLoss: a record that is not of this format.
  absl::Status Replay(absl::FunctionRef<absl::Status(const JournalEntry&)> visit);
  /// Prepares the log for rounds. REQUIRES: called once, before the first round.
  absl::Status StartWriting();
  /// `listener` is told, without the latch held, when a round becomes due. Set before the first use.
  void set_listener(SpaceListener* listener) { listener_ = listener; }

  /// Exchanges the word of `page` in `map` from `expected` to `desired`. Notes that `durable` is
  /// the durable word from now on, and that it supersedes the copy in `superseded` (kNoSlot: none).
  /// False, with the present word in `expected`, when the word was not `expected`.
  bool Change(PageMap& map, PageId page, LocationWord& expected, LocationWord desired,
              LocationWord durable, SlotId superseded);
  /// Notes the word of a page. REQUIRES: no other thread changes it.
  void NoteWord(PageId page, LocationWord durable);
  /// Notes kind and birth of a segment. REQUIRES: called before any page in the segment is noted.
  void NoteSegment(SegmentId segment, SegmentKind kind, uint64_t birth);

  /// Number of superseded slots that wait for a round, and whether a round is due.
  size_t pending_slots() const { return pending_slots_.load(std::memory_order_relaxed); }
  bool due() const;
  /// How many waiting slots make a round due, at most MapJournalOptions::most_slots.
  void set_most_pending_slots(size_t slots) {
    most_pending_slots_.store(std::min<size_t>(slots, options_.most_slots),
                              std::memory_order_relaxed);
  }

  /// Moves the gathered changes into `batch`, whose old content is dropped.
  void Take(Batch& batch);
  /// As Take, and reserves room in the log for the batch. ResourceExhausted: there is no room, or
  /// no memory (IsOutOfMemory); nothing has been taken.
  absl::Status TakeWithRoom(Batch& batch);
  /// Whether the last round found no room, and none has been made since. Wait-free.
  bool full() const { return full_.load(std::memory_order_relaxed); }
  /// Makes the entries of `batch`, the clock and the log reach durable. REQUIRES: TakeWithRoom has
  /// filled the batch.
  absl::Status Write(const Batch& batch, uint64_t clock, Lsn log_reach);

  /// The position from which a replay sees everything that is written from now on.
  Lsn Position() const;
  /// Gives up the journal before `start`. REQUIRES: a durable superblock names `start` or later.
  void Truncate(Lsn start);
  /// Gives back the room of the log that the last map checkpoints did not need.
  void ShrinkToUse() { log_->ShrinkToUse().IgnoreError(); }  // the next round reports a failed log
  /// Gives up all of the journal, and shrinks its log to the least size. REQUIRES: the durable
  /// superblock is clean; no round runs.
  void GiveUpAll();
  /// Whether the map, of `page_ids` entries, should be checkpointed: because the journal has grown
  /// beyond its bound, or because little room is left.
  bool WantsCheckpoint(uint64_t page_ids) const;
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  /// Memory that the journal on `device` takes while it is written. Bytes.
  static size_t MemoryFor(const MapJournalOptions& options, const BlockDevice& device);

 private:
  MapJournal(Runtime& runtime, std::unique_ptr<BlockDevice> device, std::unique_ptr<Log> log,
             const MapJournalOptions& options, Lsn start);
  static LogOptions OptionsOfLog(const MapJournalOptions& options, const BlockDevice& device);
  void MakeRoom() LATCHKEY_REQUIRES(latch_);
  void Gather(const JournalEntry& entry, SlotId superseded) LATCHKEY_REQUIRES(latch_);
  bool TakeAtMost(size_t entries, Batch& batch);
  size_t MostInRecord() const;
  uint64_t SpaceFor(size_t entries) const;
  absl::Status Reserve(uint64_t bytes);
  void SignalIfDue();

  Runtime& runtime_;
  const MapJournalOptions options_;
  std::unique_ptr<BlockDevice> device_;  // the log takes it over when it is created
  std::unique_ptr<Log> log_;
  std::atomic<uint64_t> start_;
  SpaceListener* listener_ = nullptr;

  SpinLatch latch_;  // held across the exchange of a word
  Batch gathered_ LATCHKEY_GUARDED_BY(latch_);
  std::atomic<size_t> pending_slots_{0};
  std::atomic<size_t> pending_entries_{0};
  std::atomic<size_t> most_pending_slots_;
  std::atomic<bool> signalled_{false};
  std::atomic<bool> full_{false};
  std::atomic<bool> scarce_{false};  // the last round needed the room that the log keeps back
  std::atomic<uint64_t> bytes_written_{0};
};

}  // namespace latchkey
