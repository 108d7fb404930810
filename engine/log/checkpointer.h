// Checkpoints: after one, recovery needs the log only from the checkpoint on, and for undo from the
// oldest running transaction on.
//
// A checkpoint is fuzzy: other actors go on while it notes the state of one instant in the log,
// writes the pages that changed before that instant, and has the layout keep the client root that
// names the instant. Then it truncates the log (RECOVERY.md lists the steps). A close runs the same
// code. After recovery the checkpointer's first round does, too: until then the log that recovery
// has read is still needed.
//
// Lock order: the checkpoint's mutex comes before every other lock of the database. A thread that
// waits for room in the log (Log::Reserve) may hold mutexes that a checkpoint needs: the wait is
// bounded.
//
// Thread-safety: every actor may call every member at once, except Start and Stop.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "bufferpool/buffer_pool.h"
#include "engine/log/client_root.h"
#include "engine/log/engine_log.h"
#include "storage/base/log_sink.h"
#include "storage/page_store.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

class Checkpointer {
 public:
  /// The log's usual size in checkpoint intervals: one until the next checkpoint begins, one that
  /// is written while this checkpoint runs, and one for the reservations of running transactions.
  static constexpr uint64_t kUsualIntervals = 3;

  /// Returns the client root except the checkpointer's own fields: trees and ids.
  using DescribeRoot = std::function<ClientRoot()>;

  /// `log` nullptr = a database without a log, whose checkpoints write every dirty page. `last`:
  /// the root of the checkpoint that the database was opened from.
  Checkpointer(BufferPool& pool, EngineLog* log, DescribeRoot describe, const ClientRoot& last,
               LogSink log_sink);
  ~Checkpointer() { Stop(); }

  /// Takes one checkpoint. `clean`: it is the last one, and no actor changes anything any more.
  absl::Status Run(bool clean);
  /// Takes the last, clean checkpoint of a database that closes, and shrinks the log to its least
  /// size. If the log has grown, another checkpoint comes first, so that the log can go on at the
  /// front of its device. REQUIRES: as Run(true); Stop was called.
  absl::Status RunLast();
  /// Takes checkpoints after which the log has given back to its device what it does not need any
  /// more, while it is used.
  absl::Status ShrinkLog();

  // ---- For backups, of a database with a log.

  /// Takes a checkpoint and returns its root. From then on the log is kept from the root's
  /// `scan_from` on, until KeepLogFrom or ReleaseLog. One actor at a time holds the log.
  absl::StatusOr<ClientRoot> RunAndHoldLog();
  /// The log below `lsn`, the begin of a group, is not held any more. May wait for a checkpoint.
  void KeepLogFrom(Lsn lsn);
  void ReleaseLog() { KeepLogFrom(Lsn{UINT64_MAX}); }
  /// Makes every page write that the store has accepted durable, with `note` in the client root, in
  /// place of the one with its id. If there are too many, the oldest is forgotten. Writes no dirty
  /// page.
  absl::Status NoteBackup(const BackupNote& note);
  /// What the root says of the backup; nullopt: nothing.
  std::optional<BackupNote> FindBackup(uint64_t id);

  /// Starts the actor that takes a checkpoint whenever the log since the last one reaches
  /// `log_bytes`, or runs out of room; otherwise it sleeps. `begins`: it takes the first one at
  /// once. It retries a failed checkpoint with exponential back-off from 10 ms to 1 s, unless the
  /// log or the store can never be written again. REQUIRES: a log; not started.
  void Start(uint64_t log_bytes, bool begins);
  /// Ends the actor, after the checkpoint that it may be taking.
  void Stop();

  /// Checkpoints since construction.
  uint64_t checkpoints() const { return checkpoints_.load(std::memory_order_relaxed); }

 private:
  absl::Status RunLogged(bool clean, bool holds_log = false);
  /// Counts a checkpoint that began at `begin`, and tells of it.
  void NoteCompleted(Nanos begin) LATCHKEY_REQUIRES(mutex_);
  void TruncateLog();
  bool HasLogGrown() const;
  void Watch(uint64_t log_bytes);
  bool RunRound();
  bool MaySucceed() const;

  BufferPool& pool_;
  EngineLog* const log_;
  const DescribeRoot describe_;
  const LogSink log_sink_;
  Mutex mutex_;
  ClientRoot last_;  // guarded by mutex_
  std::atomic<uint64_t> hold_{UINT64_MAX};  // LSN from which a backup needs the log
  std::atomic<uint64_t> redo_lsn_;
  std::atomic<uint64_t> checkpoints_{0};
  std::atomic<uint32_t> stop_{0};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
