// Checkpoints: after one, recovery needs the log only from the checkpoint on (and from the oldest
// running transaction on, for its undo).
//
// A checkpoint is fuzzy: others go on while it notes the state of one instant in the log, writes
// the pages that changed before it, and has the layout keep the client root that names the
// instant. Then the log before it is given up. Close runs the same code, and so does recovery,
// behind the users' backs: the log that it has read is needed until then.
//
// Lock order: the checkpoint's mutex comes before everything else of the database. Who waits for
// room in the log (Log::Reserve) may hold mutexes that a checkpoint wants: the wait is bounded.
//
// Thread-safety: all members from every actor at once, except Start and Stop.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "bufferpool/buffer_pool.h"
#include "engine/log/client_root.h"
#include "engine/log/engine_log.h"
#include "storage/base/log_sink.h"
#include "storage/page_store.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

class Checkpointer {
 public:
  /// The log's usual size in checkpoint intervals: one since the last checkpoint, one that is
  /// written while the next is under way, and some for what running transactions have reserved.
  static constexpr uint64_t kUsualIntervals = 3;

  /// Tells what of the client root is not the checkpointer's: trees and ids.
  using DescribeRoot = std::function<ClientRoot()>;

  /// `log` nullptr: a database without a log, whose checkpoints write every dirty page. `last`: the
  /// root of the checkpoint that the database was opened from.
  Checkpointer(BufferPool& pool, EngineLog* log, DescribeRoot describe, const ClientRoot& last,
               LogSink log_sink);
  ~Checkpointer() { Stop(); }

  /// One checkpoint. `clean`: the last one, nobody changes anything any more.
  absl::Status Run(bool clean);

  /// Starts the actor that takes a checkpoint whenever the log since the last one reaches
  /// `log_bytes`, or runs out of room; it sleeps until one of them happens. `begins`: takes the
  /// first at once. One that failed is taken again, after 10 ms first and later and later up to 1
  /// s, unless the log or the store can never be written again. REQUIRES: a log; not started.
  void Start(uint64_t log_bytes, bool begins);
  /// Ends the actor, after the checkpoint that it may be taking.
  void Stop();

  /// Since construction.
  uint64_t checkpoints() const { return checkpoints_.load(std::memory_order_relaxed); }

 private:
  absl::Status RunLogged(bool clean);
  void Watch(uint64_t log_bytes);
  bool RunRound();
  bool MaySucceed() const;

  BufferPool& pool_;
  EngineLog* const log_;
  const DescribeRoot describe_;
  const LogSink log_sink_;
  Mutex mutex_;
  ClientRoot last_;  // guarded by mutex_
  std::atomic<uint64_t> redo_lsn_;
  std::atomic<uint64_t> checkpoints_{0};
  std::atomic<uint32_t> stop_{0};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
