// GroupFlusher: the actor that makes commits durable if their committers do not wait for that
// (Durability::kGroup). Acknowledged commits become durable within the stated delay.
//
// Half of the delay gathers commits, the other half is for the device. The delay begins with a
// request, not at the end of the previous flush.
//
// Invariant: no request is lost. Before a flush the flusher becomes idle, and then reads up to
// which LSN it must flush. So a request that comes meanwhile is part of this flush, or finds the
// flusher idle and wakes it.
//
// Thread-safety: every actor may call every member at once; Start is called before the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/log/deferred_frees.h"
#include "engine/log/log_health.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/log.h"

namespace latchkey {

class GroupFlusher {
 public:
  GroupFlusher(Runtime& runtime, LogHealth& health, DeferredFrees& frees, Nanos delay)
      : runtime_(runtime), health_(health), frees_(frees), delay_(delay) {}
  /// Stops the actor and flushes nothing.
  ~GroupFlusher();

  void Start();
  /// Starts the actor unless it runs. False: there is no memory, or no thread, for it.
  bool EnsureStarted();
  /// A commit record was appended at `lsn`. REQUIRES: inside Log::Append.
  void NoteCommit(Lsn lsn) { last_commit_.store(Raw(lsn), std::memory_order_seq_cst); }
  /// The commits noted so far become durable within the delay.
  void RequestFlush();
  /// The records below `next` become durable within the delay, if the log has room.
  void PromiseDurable(Lsn next);

 private:
  enum class Step : uint32_t { kIdle = 0, kWanted = 1, kStop = 2 };
  enum class End { kStopped, kNoMemory };

  static constexpr uint32_t Word(Step step) { return static_cast<uint32_t>(step); }

  Step step() const { return Step{step_.load(std::memory_order_acquire)}; }
  void Run();
  End RunWhileMemoryLasts();
  void FlushWhenWanted();
  bool GatherCommits();
  void BecomeIdle();
  absl::Status FlushPromised();

  Runtime& runtime_;
  LogHealth& health_;
  DeferredFrees& frees_;
  const Nanos delay_;
  std::atomic<uint64_t> last_commit_{0};
  std::atomic<uint64_t> promised_{0};   // records below it must become durable like commits
  std::atomic<uint32_t> step_{0};       // a Step
  std::atomic<Nanos> wanted_since_{0};  // of the oldest request; written before step_
  std::atomic<bool> started_{false};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
