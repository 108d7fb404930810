// Log: an append-only sequence of records on one BlockDevice of its own, made durable in groups.
//
// It has two users: the engine's write-ahead log, and the map journal of the layouts
// (ARCHITECTURE.md "Log and recovery", "Layout, crash-safe"; RELIABILITY.md 4.5-4.7).
//
// LSN = byte position in the stream of payload, 64 bits, never reused; records have LSNs > 0.
// The device is divided into log segments: a header block (index of the stream's segment, epoch,
// checksum), then `segment_bytes - header` bytes of the stream. A segment whose part of the stream
// is not needed any more gets a new header and is filled again. The device grows by whole segments,
// and new space is written ahead, so that a commit changes no file-system metadata.
//
// A *group* is the unit of a flush: header (length, LSN, epoch, checksums over the whole group
// seeded with the database id), records, padding to a block. A block that holds acknowledged bytes
// is not written again while the log needs it. Records never span groups; groups may span segments.
//
// End of log: the first position where no valid group of the newest epoch follows. If a group of
// that epoch or a later one lies anywhere behind it, the log is damaged before its end and refused:
// DataLoss, with the position and the remedy. Otherwise the bytes behind the end are a torn tail.
// Each start of writing begins a new epoch with a synced mark, so an old tail never continues a new
// log.
//
// Order of calls: Create or Open -> FindEnd -> reads (the device is still unchanged) ->
// StartWriting -> Append, Flush, Truncate; reading stays possible.
//
// Thread-safety: after StartWriting all actors may call every function at once; before, one actor.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/ids.h"
#include "storage/base/latency_recorder.h"
#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/wait_ledger.h"
#include "storage/wal/space_watch.h"

namespace latchkey {

/// Which reservations pay for the overhead of a group: its header, and the padding to a block.
enum class GroupSpace : uint8_t {
  /// Every record reserves space for a group of its own, so Flush never lacks space, however often
  /// it is called. For logs of few records.
  kOfRecords,
  /// A record pays for a 32nd of a group, and TryAppendPaid for a whole one. A flush that is not
  /// paid for takes from the part of the log that Reserve keeps back (a sixteenth). The device
  /// grows before that part is short. If it cannot grow, scarce() is true: then flush only what
  /// cannot wait. For logs of many small records, most of which share their groups.
  kShared,
};

struct LogOptions {
  uint64_t database_id = 0;                ///< a log of another database is refused
  std::string name = "log";                ///< for messages: "log", "map journal"
  uint32_t segment_bytes = 128u << 10;     ///< power of two in 8 KiB-64 MiB; fixed at creation
  uint64_t initial_bytes = 0;              ///< allocated and written ahead; at least 3 segments
  uint64_t max_bytes = uint64_t{1} << 40;  ///< the device does not grow beyond
  /// Memory for unwritten records, in two halves: 64 KiB-128 MiB, at least 128 blocks of the
  /// device. Allocated by StartWriting.
  uint32_t buffer_bytes = 8u << 20;
  GroupSpace group_space = GroupSpace::kOfRecords;
  /// Normal reservations leave this many bytes for urgent ones. With GroupSpace::kShared urgent ones
  /// may use half of them. A log of less than twice as many bytes keeps half of its bytes back.
  uint64_t least_kept_back = 0;
  LogSink log_sink = nullptr;
  WaitWatch waits = {};                       ///< for room
  LatencyRecorder* sync_latencies = nullptr;  ///< receives the time of each group's sync, if there is one
};

/// One record as read back; `bytes` is valid until the reader moves on.
struct LogRecordView {
  Lsn lsn{0};
  std::span<const std::byte> bytes;
};

/// How the stream lies on the device, for copies of it (log_piece.h). Bytes.
struct LogShape {
  uint32_t segment_bytes = 0;
  uint32_t block_bytes = 0;  ///< groups begin and end at multiples of it
};

struct LogStats {
  uint64_t records = 0, record_bytes = 0;  ///< appended since open
  uint64_t groups = 0, group_bytes = 0;    ///< written, with headers and padding
  uint64_t syncs = 0;
  uint64_t allocated_bytes = 0;  ///< of the device now
  uint64_t used_bytes = 0;       ///< from the oldest needed LSN to the end, now
  uint64_t reserved_bytes = 0;   ///< now
};

class Log {
 public:
  virtual ~Log() = default;

  // ---- Before writing. None of these changes the device.

  /// Scans from `from` to the end and checks every group. `from` is the result of group_start() for
  /// the oldest LSN still needed, for redo or undo (Lsn{0}: the beginning of a log that was never
  /// truncated). Once writing starts, the log before `from` is overwritten. DataLoss: the log is
  /// damaged, or ends before `end_at_least` (the end recorded by a clean close, the newest page LSN
  /// seen).
  virtual absl::Status FindEnd(Lsn from, Lsn end_at_least) = 0;
  /// One past the last record, padding included; while writing the same as next(). REQUIRES:
  /// FindEnd succeeded, or writing has started.
  virtual Lsn end() const = 0;
  /// Calls `visit` for every record from `from` on, in order. Stops at the first error of `visit`.
  virtual absl::Status ForEach(Lsn from,
                               absl::FunctionRef<absl::Status(const LogRecordView&)> visit) = 0;
  /// Reads the record at `lsn` into *bytes; flushes it first if necessary. DataLoss when there is
  /// no record. Records in the same group as the last one read cost no I/O.
  virtual absl::Status Read(Lsn lsn, std::vector<std::byte>* bytes) = 0;
  /// Fills `out` with the bytes of the stream from `from` on, groups as they are on the device.
  /// REQUIRES: whole blocks below durable() that Truncate has not given up, also during the call;
  /// `out` is aligned to 4096.
  virtual absl::Status ReadStream(Lsn from, std::span<std::byte> out) = 0;
  virtual LogShape shape() const = 0;

  // ---- Writing.

  /// Begins a new epoch behind end(). REQUIRES: FindEnd succeeded, or the log was just created.
  virtual absl::Status StartWriting() = 0;

  /// Reserves room for `bytes` of records with their overheads (see RecordSpace). Append takes from
  /// such a reservation. Grows the device when needed. ResourceExhausted when it cannot grow,
  /// Unavailable when the log is poisoned; then nothing has changed.
  /// If the log has a keeper (space_watch()) and has reached its usual size, it asks the keeper for
  /// room before it grows, and waits for the keeper before it fails. REQUIRES: no latches held.
  virtual absl::Status Reserve(uint64_t bytes) = 0;
  /// As Reserve, but returns false instead of growing or waiting.
  virtual bool TryReserve(uint64_t bytes) = 0;
  /// As Reserve, but does not ask the keeper. If there is no other room, it takes from the part of
  /// the log that Reserve keeps back (a sixteenth, at least 16 blocks). For rollbacks, recovery,
  /// checkpoints, and all other work that makes room.
  virtual absl::Status ReserveUrgent(uint64_t bytes) = 0;
  virtual void Release(uint64_t bytes) = 0;
  /// Bytes that a record of `size` bytes takes from a reservation. Constant while the log is open.
  virtual uint64_t RecordSpace(size_t size) const = 0;
  /// Bytes that TryAppendPaid takes from a reservation besides RecordSpace. Constant while the log
  /// is open.
  virtual uint64_t PaidGroupSpace() const = 0;
  /// Whether more than a quarter of the kept-back part is used: then little is left for flushes
  /// that are not paid for. It stays true only if the device cannot grow. Always false for
  /// GroupSpace::kOfRecords. Wait-free.
  virtual bool scarce() const = 0;
  /// Through it the log tells its keeper that it has grown or lacks room.
  virtual SpaceWatch& space_watch() = 0;
  /// Starts an actor that grows the log before room is short, up to the usual size given to
  /// space_watch(). Then no caller waits while new space is written ahead. If that actor fails,
  /// Reserve grows the log as it does without it. One actor calls Start and Stop, before and after
  /// all other calls.
  virtual void StartGrowingAhead() = 0;
  virtual void StopGrowingAhead() = 0;  ///< idempotent
  /// The least LogOptions::buffer_bytes on a device of this logical block.
  static constexpr uint32_t LeastBufferBytes(uint32_t logical_block) {
    constexpr uint32_t kLeast = 64u << 10, kBlocks = 128;
    return kBlocks * logical_block < kLeast ? kLeast : kBlocks * logical_block;
  }
  /// The largest record.
  virtual size_t max_record_bytes() const = 0;

  /// Appends a record of `size` bytes. `fill(lsn, bytes)` writes it in place with the log's latch
  /// held: it must take a few instructions only and not wait. It also changes all state that must
  /// change at the same instant (a transaction's last LSN, a page's LSN). Waits for I/O only when
  /// both halves of the buffer are full. Takes RecordSpace(size) from the reservation. After a
  /// failed flush the log is poisoned, and appended records are dropped.
  virtual Lsn Append(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill) = 0;
  /// The arguments of Append as one value.
  struct NewRecord {
    size_t size = 0;
    absl::FunctionRef<void(Lsn, std::byte*)> fill;
  };
  /// As Append of `record`, and of `prelude` directly before it if `wants_prelude()` returns true.
  /// Holds the latch throughout, so the question and both records are one instant. Returns the LSN
  /// of `record`. REQUIRES: both reserved; together at most max_record_bytes() less the 4 bytes of
  /// a record's length.
  virtual Lsn AppendBehind(absl::FunctionRef<bool()> wants_prelude, const NewRecord& prelude,
                           const NewRecord& record) = 0;
  /// As Append, for a record that will be flushed at once and pays for its group: takes
  /// RecordSpace(size) + PaidGroupSpace() from the reservation. Never waits for I/O. nullopt, with
  /// nothing changed, when both halves of the buffer are full: call AwaitBuffer, then try again.
  virtual std::optional<Lsn> TryAppendPaid(size_t size,
                                           absl::FunctionRef<void(Lsn, std::byte*)> fill) = 0;
  /// Waits until the buffer has room for a record of `size` bytes; other appends may take the room
  /// before the caller does. REQUIRES: no latches held.
  virtual void AwaitBuffer(size_t size) = 0;
  /// Runs `body(next_lsn)` while no thread appends: for a snapshot at an exact LSN (checkpoints).
  virtual void Frozen(absl::FunctionRef<void(Lsn)> body) = 0;

  /// Returns once every record below `upto` is durable. Group commit: callers that come during a
  /// flush wait for it, and one of them leads the next group. Unavailable after the first failed
  /// write or sync: the log is poisoned for good. ResourceExhausted, with nothing lost: a log of
  /// GroupSpace::kShared has no room left for a group that is not paid for.
  virtual absl::Status Flush(Lsn upto) = 0;
  /// Every record below it is durable. Wait-free.
  virtual Lsn durable() const = 0;
  /// A lower bound of the next record's LSN. Flush(next()) flushes all records appended before.
  virtual Lsn next() const = 0;
  /// The start of a group at or shortly below `lsn` (of the open group, if `lsn` is not appended
  /// yet): the `from` of a later FindEnd. Call Flush(lsn) before storing the result durably.
  virtual Lsn group_start(Lsn lsn) const = 0;
  virtual bool poisoned() const = 0;
  /// Poisons the log as if a write had failed with `cause`: for failures elsewhere after which no
  /// commit may be acknowledged. Groups in flight are not acknowledged either.
  virtual void Fail(const absl::Status& cause) = 0;

  /// Gives up the log below `oldest_needed`: its segments may be overwritten from now on. REQUIRES:
  /// the caller has made it durable that nothing below is needed.
  virtual void Truncate(Lsn oldest_needed) = 0;
  /// Gives back to the device the room that the log has not needed since the call before the last
  /// one, if that is more than half of it. For the keeper, after each checkpoint. OK also if nothing
  /// can be given back now. Unavailable: the log is poisoned, now or by this.
  virtual absl::Status ShrinkToUse() = 0;
  /// Ends the segment that holds the log's end, and goes on in the free slot nearest to the front of
  /// the device. Writes less than a segment. After a Truncate behind it, Shrink can cut the rest.
  /// Does nothing if the log has its least size, or lacks room for that. REQUIRES: everything is
  /// flushed, nothing is reserved, and no other call meanwhile.
  virtual absl::Status MoveToFront() = 0;
  /// As MoveToFront, while the log is used: writes groups without records until the log's end is
  /// behind the segments that have got slots already. What is appended later goes to the free slots
  /// nearest to the front, and ShrinkToUse can cut the rest after two more calls of Truncate. Best
  /// effort. Errors as ShrinkToUse.
  virtual absl::Status PassSlots() = 0;
  /// Shrinks the device to three segments, or as far as the needed ones allow. Errors as
  /// ShrinkToUse.
  virtual absl::Status Shrink() = 0;

  virtual LogStats stats() const = 0;
  virtual BlockDevice& device() = 0;
};

/// Creates a log on a device without one. A device larger than initial_bytes keeps its size. The
/// log is durable on return and ready for StartWriting. InvalidArgument: options; AlreadyExists:
/// the device holds a log; ResourceExhausted: no room.
absl::StatusOr<std::unique_ptr<Log>> CreateLog(Runtime& runtime,
                                               std::unique_ptr<BlockDevice> device,
                                               const LogOptions& options);
/// Opens an existing log and changes nothing. FailedPrecondition: a log of another database, or a
/// newer format. DataLoss: not a log, or its headers are damaged.
absl::StatusOr<std::unique_ptr<Log>> OpenLog(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                             const LogOptions& options);

/// The buffer pool's view of the log: it asks before it writes a page (log before page).
class WriteAheadLog {
 public:
  virtual ~WriteAheadLog() = default;
  /// Every record below it is durable. Wait-free.
  virtual Lsn durable() const = 0;
  /// Makes records up to and including `lsn` durable.
  virtual absl::Status EnsureDurable(Lsn lsn) = 0;
  /// Whether little room is left for flushes: then flush only what cannot wait. Wait-free.
  virtual bool scarce() const { return false; }
};

}  // namespace latchkey
