// GroupCommit: makes the records of the buffer durable, one group at a time.
//
// A thread that needs a flush becomes the leader if there is none: it seals the open half of the
// buffer, writes it, syncs, and wakes the threads whose records are now durable. It also wakes one
// of the threads that came meanwhile; that thread leads next.
//
// Invariants
//  1. At most one thread leads, and only the leader writes to the device.
//  2. A group is durable before the next one is written.
//  3. After the log has failed, no group is acknowledged, not even one in flight.
//
// Lock order: the grower's mutex, then the log's latch. The leader holds no latch while it waits
// for the device. A caller of Append may hold latches of its own (of pages), and may wait for the
// leader or become the leader. So a leader takes only the two locks above: another lock might
// belong to a thread that waits for the leader.
//
// Thread-safety: after Start, all actors may call every member at once. Functions that wait release
// the latch meanwhile.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/group_writer.h"
#include "storage/wal/growth_ahead.h"
#include "storage/wal/log.h"
#include "storage/wal/log_buffer.h"
#include "storage/wal/log_failure.h"
#include "storage/wal/log_grower.h"
#include "storage/wal/log_medium.h"
#include "storage/wal/needed_stream.h"
#include "storage/wal/space_watch.h"

namespace latchkey {

/// The parts of a log that a flush works on.
struct GroupCommitParts {
  LogMedium& medium;
  SpaceAccount& space;
  LogFailure& failure;
  LogGrower& grower;
  GrowthAhead& growth_ahead;
  SpaceWatch& watch;
  LogBuffer& buffer;     ///< guarded by medium.latch
  NeededStream& needed;  ///< guarded by medium.latch
};

class GroupCommit {
 public:
  explicit GroupCommit(const GroupCommitParts& parts);

  // ---- Before writing: one actor.

  /// The log is durable up to `end`. The newest epoch in it is `epoch`.
  void SetEnd(uint64_t end, uint64_t epoch);
  /// Allocates the buffers. ResourceExhausted: no memory.
  absl::Status Allocate();
  /// Begins a new epoch with a durable mark, for which one block is reserved. Once the mark is
  /// durable, no group of an earlier epoch can follow. So a torn group is not taken for a
  /// continuation, even if later writes happen to complete it.
  absl::Status WriteMark() LATCHKEY_EXCLUDES(medium_.latch);

  /// Fills the rest of the segment with groups without records, and begins the next segment with
  /// one. Does nothing if there is no room for that. REQUIRES: all records are durable, and no other
  /// call meanwhile.
  absl::Status EndSegment() LATCHKEY_EXCLUDES(medium_.latch);

  // ---- While writing.

  /// Writes groups without records up to `end`, the start of a block. Stops earlier if other threads
  /// append or flush, or if there is no room.
  absl::Status PadTo(uint64_t end) LATCHKEY_EXCLUDES(medium_.latch);

  /// The log's latch. It guards the buffer.
  SpinLatch& latch() LATCHKEY_RETURN_CAPABILITY(medium_.latch) { return medium_.latch; }
  /// As Log::Flush.
  absl::Status Flush(Lsn upto) LATCHKEY_EXCLUDES(medium_.latch);
  /// Every record below it is durable. Wait-free.
  Lsn durable() const { return Lsn{durable_.load(std::memory_order_acquire)}; }
  /// Makes room when the open half is too full for the next record. May wait for the device.
  void MakeRoom() LATCHKEY_REQUIRES(medium_.latch);
  /// As MakeRoom, without waiting. False, with nothing changed: both halves are full.
  bool MakeRoomAtOnce() LATCHKEY_REQUIRES(medium_.latch);
  /// Called when the log has failed. Wakes all threads that wait for a group; each checks its
  /// condition again. From now on no thread leads.
  void Disband() LATCHKEY_EXCLUDES(medium_.latch);
  LogStats stats() const LATCHKEY_EXCLUDES(medium_.latch);

 private:
  // The words on which threads wait for a group. Two are enough: threads wait for the sealed group
  // and for the open one.
  std::atomic<uint32_t>& WakeWord(uint64_t sequence) { return wake_words_[sequence & 1]; }
  // A lower bound of the next record's LSN. The buffer's next() needs no latch.
  uint64_t next() const LATCHKEY_NO_THREAD_SAFETY_ANALYSIS { return buffer_.next(); }

  void Seal() LATCHKEY_REQUIRES(medium_.latch);
  absl::Status WriteEmpty(uint32_t bytes) LATCHKEY_REQUIRES(medium_.latch);
  absl::Status PrepareSeal() LATCHKEY_REQUIRES(medium_.latch);
  absl::Status Lead(uint64_t target) LATCHKEY_REQUIRES(medium_.latch);
  uint32_t BeginWait(uint64_t sequence) LATCHKEY_REQUIRES(medium_.latch);
  bool Finish(const GroupBuffer& group, uint64_t target) LATCHKEY_REQUIRES(medium_.latch);
  void StopLeading() LATCHKEY_REQUIRES(medium_.latch);

  LogMedium& medium_;
  Runtime& runtime_;
  SpaceAccount& space_;
  LogFailure& failure_;
  LogGrower& grower_;
  GrowthAhead& growth_ahead_;
  SpaceWatch& watch_;
  LogBuffer& buffer_ LATCHKEY_GUARDED_BY(medium_.latch);
  NeededStream& needed_ LATCHKEY_GUARDED_BY(medium_.latch);
  GroupWriter writer_;  // used by the leader only

  std::atomic<uint64_t> durable_{0};
  bool leading_ LATCHKEY_GUARDED_BY(medium_.latch) = false;
  // Number of threads that wait for the group of each wake word.
  std::array<uint32_t, 2> waiting_ LATCHKEY_GUARDED_BY(medium_.latch){};
  std::array<std::atomic<uint32_t>, 2> wake_words_{};
  uint64_t groups_ LATCHKEY_GUARDED_BY(medium_.latch) = 0;
  uint64_t group_bytes_ LATCHKEY_GUARDED_BY(medium_.latch) = 0;
  uint64_t syncs_ LATCHKEY_GUARDED_BY(medium_.latch) = 0;
};

}  // namespace latchkey
