// Log: an append-only sequence of records on one BlockDevice of its own, made durable in groups.
//
// Two things are written through it: the engine's write-ahead log, and the map journal of the
// layouts (ARCHITECTURE.md "Log and recovery", "Layout, crash-safe"; RELIABILITY.md 4.5-4.7).
//
// LSN = byte position in the stream of payload, 64 bits, never reused; records have LSNs > 0.
// The device is cut into log segments: a header block (which log segment of the stream is here,
// epoch, checksum), then `segment_bytes - header` bytes of the stream. Segments whose stream part
// nobody needs any more get a new header and are filled again; the device grows by whole segments,
// and its space is written ahead, so that a commit changes no file-system metadata.
//
// A *group* is what one flush writes: header (length, LSN, epoch, checksum over all of it seeded
// with the database id), records, padding to a logical block. No block that holds acknowledged
// bytes is ever written again. Records never span groups; groups may span segments.
//
// End of log: the first position where no valid group of the newest epoch follows. It is a torn
// tail only if no group of that epoch lies at any later block within the log; otherwise the log is
// damaged before its end and refused (DataLoss naming the position and the remedy). Each start of
// writing begins a new epoch with a synced mark, so that an old tail never continues a new log.
//
// Life: Create or Open -> FindEnd -> read as wanted (nothing has been written so far) ->
// StartWriting -> Append, Flush, Truncate; reading stays possible.
//
// Thread-safety: after StartWriting everything may be called from every actor at once; before, from
// one.
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
#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/space_watch.h"

namespace latchkey {

/// Who pays for what a group takes besides its records: its header, and the padding to a block.
enum class GroupSpace : uint8_t {
  /// Every record could pay for a group of its own: Flush never lacks space, whoever calls it how
  /// often. For logs of few records.
  kOfRecords,
  /// A record pays a 32nd of a group, and TryAppendPaid a whole one. Flushes that nobody has paid
  /// for take from the part that Reserve keeps back (a sixteenth); the device grows before that is
  /// short, and if it cannot, scarce() says so: then flush only what cannot wait. For logs of many
  /// small records, most of which share their groups.
  kShared,
};

struct LogOptions {
  uint64_t database_id = 0;                ///< a log of another database is refused
  std::string name = "log";                ///< for messages: "log", "map journal"
  uint32_t segment_bytes = 4u << 20;       ///< power of two in 8 KiB-64 MiB; fixed at creation
  uint64_t initial_bytes = 16u << 20;      ///< allocated and written ahead; at least 3 segments
  uint64_t max_bytes = uint64_t{1} << 40;  ///< the device does not grow beyond
  /// Memory for records not yet written, in two halves: 64 KiB-128 MiB, at least 128 blocks of the
  /// device. Taken by StartWriting.
  uint32_t buffer_bytes = 8u << 20;
  GroupSpace group_space = GroupSpace::kOfRecords;
  LogSink log_sink = nullptr;
};

/// One record as read back; `bytes` is valid until the reader moves on.
struct LogRecordView {
  Lsn lsn{0};
  std::span<const std::byte> bytes;
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

  /// Scans from `from` to the end, proving every group. `from` is what group_start() told for the
  /// oldest LSN that is still wanted, for redo or undo (Lsn{0}: the beginning of a log that was
  /// never truncated): what lies before it is overwritten once writing starts. `end_at_least`: what
  /// must be there (the end recorded by a clean close, the newest page LSN seen): a log that ends
  /// before it is DataLoss.
  virtual absl::Status FindEnd(Lsn from, Lsn end_at_least) = 0;
  /// One past the last record, padding included. REQUIRES: FindEnd succeeded, or writing (then: as
  /// next()).
  virtual Lsn end() const = 0;
  /// Calls `visit` for every record from `from` on, in order. Stops at its first error.
  virtual absl::Status ForEach(Lsn from,
                               absl::FunctionRef<absl::Status(const LogRecordView&)> visit) = 0;
  /// Reads the record at `lsn` into *bytes; flushes it first if need be. DataLoss when there is
  /// none. Neighbours of the last record read cost no I/O.
  virtual absl::Status Read(Lsn lsn, std::vector<std::byte>* bytes) = 0;

  // ---- Writing.

  /// Begins a new epoch behind end(). REQUIRES: FindEnd succeeded (not needed for a created log).
  virtual absl::Status StartWriting() = 0;

  /// Promises room for `bytes` more of records (with their overheads: use RecordSpace). Grows the
  /// device when needed; ResourceExhausted when that cannot be, Unavailable when the log is
  /// poisoned, with nothing changed. Append needs space that was reserved.
  /// A log with a keeper (space_watch()) that has grown to its usual size asks it for room before
  /// it grows, and again before it fails: may wait. REQUIRES: no latches held.
  virtual absl::Status Reserve(uint64_t bytes) = 0;
  /// As Reserve, of what is there: false instead of growing or waiting.
  virtual bool TryReserve(uint64_t bytes) = 0;
  /// As Reserve, when there is no other way from the part of the log that Reserve keeps back (a
  /// sixteenth, at least 16 blocks), and without asking the keeper: for rollbacks, recovery,
  /// checkpoints, and what else makes room.
  virtual absl::Status ReserveUrgent(uint64_t bytes) = 0;
  virtual void Release(uint64_t bytes) = 0;
  /// What a record of `size` bytes takes of a reservation. Constant while the log is open.
  virtual uint64_t RecordSpace(size_t size) const = 0;
  /// What TryAppendPaid takes of a reservation besides RecordSpace. Constant while the log is open.
  virtual uint64_t PaidGroupSpace() const = 0;
  /// Little is left for groups that nobody has paid for, and the device cannot grow. Wait-free.
  virtual bool scarce() const = 0;
  /// Where the log tells that it has grown or lacks room.
  virtual SpaceWatch& space_watch() = 0;
  /// From now on an actor of the log's own makes it larger before room is short, up to the usual
  /// size that space_watch() was told: so that nobody waits for new space to be written ahead.
  /// Where that fails Reserve grows the log, as without. Both from one actor, before and after all
  /// others.
  virtual void StartGrowingAhead() = 0;
  virtual void StopGrowingAhead() = 0;  ///< idempotent
  /// The least LogOptions::buffer_bytes on a device of this logical block.
  static constexpr uint32_t LeastBufferBytes(uint32_t logical_block) {
    constexpr uint32_t kLeast = 64u << 10, kBlocks = 128;
    return kBlocks * logical_block < kLeast ? kLeast : kBlocks * logical_block;
  }
  /// The largest record.
  virtual size_t max_record_bytes() const = 0;

  /// Appends a record of `size` bytes: `fill(lsn, bytes)` writes it in place, with the log's latch
  /// held: a few instructions, no waiting, and whatever must change in the same instant (a
  /// transaction's last LSN, a page's LSN). Waits for I/O only when both halves of the buffer are
  /// full. The reservation shrinks by RecordSpace(size). After a failed flush: records are dropped
  /// (the log is poisoned, nothing will be acknowledged).
  virtual Lsn Append(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill) = 0;
  /// What Append takes, as one value.
  struct NewRecord {
    size_t size = 0;
    absl::FunctionRef<void(Lsn, std::byte*)> fill;
  };
  /// As Append of `record`, and of `prelude` directly before it if `wants_prelude()`, which is
  /// asked with the latch held as well: all of it is one instant. Returns the LSN of `record`.
  /// REQUIRES: both reserved; together at most max_record_bytes() less the 4 bytes of a record's
  /// length.
  virtual Lsn AppendBehind(absl::FunctionRef<bool()> wants_prelude, const NewRecord& prelude,
                           const NewRecord& record) = 0;
  /// As Append, for a record that will be flushed at once, with its group paid for: the reservation
  /// shrinks by RecordSpace(size) + PaidGroupSpace(). Never waits for I/O: nullopt, with nothing
  /// changed, when both halves of the buffer are full; call AwaitBuffer, then try again.
  virtual std::optional<Lsn> TryAppendPaid(size_t size,
                                           absl::FunctionRef<void(Lsn, std::byte*)> fill) = 0;
  /// Returns when the buffer had room for a record of `size` bytes. REQUIRES: no latches held.
  virtual void AwaitBuffer(size_t size) = 0;
  /// Runs `body(next_lsn)` while nobody appends: for a snapshot that fits an LSN (checkpoints).
  virtual void Frozen(absl::FunctionRef<void(Lsn)> body) = 0;

  /// Returns once every record below `upto` is durable. Callers that come while a flush is under
  /// way wait for it; one of them leads the next group (no log actor). Unavailable for ever after
  /// the first failed write or sync: the log is poisoned. ResourceExhausted, with nothing lost: a
  /// log of GroupSpace::kShared has no room left for a group that nobody has paid for.
  virtual absl::Status Flush(Lsn upto) = 0;
  /// Everything below is durable. Wait-free.
  virtual Lsn durable() const = 0;
  /// The LSN that the next record gets or exceeds; Flush(next()) flushes all that was appended
  /// before.
  virtual Lsn next() const = 0;
  /// The start of a group at or little below `lsn` (of the open group, for what is not appended
  /// yet): what FindEnd wants as `from`. Flush(lsn) before noting it anywhere durable.
  virtual Lsn group_start(Lsn lsn) const = 0;
  virtual bool poisoned() const = 0;
  /// As if a write had failed with `cause`: for failures beside the log after which nothing may be
  /// acknowledged any more. Groups that are on their way are not acknowledged either.
  virtual void Fail(const absl::Status& cause) = 0;

  /// Nothing below `oldest_needed` will be read again: its segments may be overwritten from now on.
  /// The caller has made that fact durable before.
  virtual void Truncate(Lsn oldest_needed) = 0;

  virtual LogStats stats() const = 0;
  virtual BlockDevice& device() = 0;
};

/// A new log on an empty device (or one that holds no log: its size is kept if it is larger than
/// initial_bytes); durable on return, ready for StartWriting. InvalidArgument: options;
/// AlreadyExists: the device holds a log; ResourceExhausted: no room.
absl::StatusOr<std::unique_ptr<Log>> CreateLog(Runtime& runtime,
                                               std::unique_ptr<BlockDevice> device,
                                               const LogOptions& options);
/// Opens an existing log, changing nothing. FailedPrecondition: not a log, of another database, a
/// newer format. DataLoss: its segment headers are damaged.
absl::StatusOr<std::unique_ptr<Log>> OpenLog(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                             const LogOptions& options);

/// What the buffer pool asks before it writes a page (log before page).
class WriteAheadLog {
 public:
  virtual ~WriteAheadLog() = default;
  /// Everything below is durable. Wait-free.
  virtual Lsn durable() const = 0;
  /// Makes records up to and including `lsn` durable.
  virtual absl::Status EnsureDurable(Lsn lsn) = 0;
  /// The log has little room left for flushes: as few as possible, only what cannot wait.
  /// Wait-free.
  virtual bool scarce() const { return false; }
};

}  // namespace latchkey
