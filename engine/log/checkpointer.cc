#include "engine/log/checkpointer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Pauses between a failed checkpoint and the next try. Some causes pass quickly (lack of memory, a
// slot that is freed), others do not (a full disk).
constexpr Nanos kFirstPause = 10 * kNanosPerMilli, kLongestPause = kNanosPerSecond;

}  // namespace

Checkpointer::Checkpointer(BufferPool& pool, EngineLog* log, DescribeRoot describe,
                           const ClientRoot& last, LogSink log_sink)
    : pool_(pool),
      log_(log),
      describe_(std::move(describe)),
      log_sink_(std::move(log_sink)),
      mutex_(pool.runtime()),
      last_(last),
      redo_lsn_(Raw(last.redo)) {}

void Checkpointer::NoteCompleted(Nanos begin) {
  const uint64_t number = checkpoints_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!log_sink_.wants_events()) return;
  const Nanos took = pool_.runtime().Now() - begin;
  CatchOutOfMemory([&] {
    LogTo(log_sink_, LogEvent::kCheckpoint, LogLevel::kDebug,
          fmt::format("checkpoint {} since the open is complete after {} ms", number,
                      took / kNanosPerMilli),
          took);
    return absl::OkStatus();
  }).IgnoreError();
}

absl::Status Checkpointer::Run(bool clean) {
  MutexLock lock(mutex_);
  const Nanos begin = pool_.runtime().Now();
  if (log_ != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(RunLogged(clean));
  } else {
    LATCHKEY_RETURN_IF_ERROR(pool_.WriteAllDirty());
    ClientRoot root = describe_();
    // Keeps an existing log as it is: a later open with a log continues behind its end.
    root.has_log = last_.has_log;
    root.redo = last_.redo;
    root.first_needed = last_.first_needed;
    root.scan_from = last_.scan_from;
    root.end = last_.end;
    root.backups = last_.backups;
    root.clean = clean;
    LATCHKEY_RETURN_IF_ERROR(pool_.store().Checkpoint(EncodeClientRoot(root), clean));
  }
  NoteCompleted(begin);
  return absl::OkStatus();
}

absl::Status Checkpointer::RunLogged(bool clean, bool holds_log) {
  Log& log = log_->log();
  LATCHKEY_ASSIGN_OR_RETURN(const CheckpointSnapshot snapshot,
                            log_->LogCheckpoint([this] { return describe_().next_txn_id; }));
  if (!LATCHKEY_CANARY("page-before-its-log")) {
    LATCHKEY_RETURN_IF_ERROR(log_->FlushAll());  // one flush for all pages below
  }
  if (!LATCHKEY_CANARY("log-reclaimed-before-data-flush")) {
    LATCHKEY_RETURN_IF_ERROR(clean ? pool_.WriteAllDirty()
                                   : pool_.WriteDirtyBefore(snapshot.as_of, log_->logs_images()));
  }
  // Frees before the instant are queued for the store by now, because their pages were latched.
  LATCHKEY_RETURN_IF_ERROR(log_->FlushAll());
  ClientRoot root = describe_();
  root.has_log = true;
  root.clean = clean;
  root.redo = snapshot.redo_from;
  root.first_needed = snapshot.redo_from;
  for (const ActiveTransaction& txn : snapshot.transactions) {
    if (LATCHKEY_CANARY("checkpoint-forgets-running-transactions")) break;
    root.first_needed = std::min(root.first_needed, txn.first);
  }
  root.scan_from = log.group_start(root.first_needed);
  root.end = log.durable();
  root.backups = last_.backups;
  LATCHKEY_RETURN_IF_ERROR(pool_.store().Checkpoint(EncodeClientRoot(root), clean));
  last_ = root;
  if (holds_log) hold_.store(Raw(root.scan_from));
  TruncateLog();
  log_->EndCheckpoint(snapshot.as_of);
  redo_lsn_.store(Raw(root.redo), std::memory_order_relaxed);
  if (!clean) log.ShrinkToUse().IgnoreError();  // the next commit reports a log that has failed
  return absl::OkStatus();
}

bool Checkpointer::HasLogGrown() const {
  constexpr uint64_t kFewSegments = 6;
  return log_->log().stats().allocated_bytes > kFewSegments * log_->log().shape().segment_bytes;
}

absl::Status Checkpointer::RunLast() {
  if (log_ != nullptr && HasLogGrown()) {
    // It serves the log's size alone: if it fails, the checkpoint below says whether it matters.
    const absl::Status first = CatchOutOfMemory([this] { return Run(/*clean=*/false); });
    if (first.ok()) CatchOutOfMemory([this] { return log_->log().MoveToFront(); }).IgnoreError();
  }
  LATCHKEY_RETURN_IF_ERROR(Run(/*clean=*/true));
  // The checkpoint is durable, so the database is closed, also if the log cannot shrink.
  if (log_ != nullptr) CatchOutOfMemory([this] { return log_->log().Shrink(); }).IgnoreError();
  return absl::OkStatus();
}

absl::Status Checkpointer::ShrinkLog() {
  LATCHKEY_RETURN_IF_ERROR(Run(/*clean=*/false));
  if (log_ != nullptr && HasLogGrown()) LATCHKEY_RETURN_IF_ERROR(log_->log().PassSlots());
  // The log shrinks when two checkpoints in a row have found little of it in use.
  for (int i = 0; i < 2; ++i) LATCHKEY_RETURN_IF_ERROR(Run(/*clean=*/false));
  return absl::OkStatus();
}

void Checkpointer::TruncateLog() {
  log_->log().Truncate(Lsn{std::min(Raw(last_.first_needed), hold_.load())});
}

absl::StatusOr<ClientRoot> Checkpointer::RunAndHoldLog() {
  MutexLock lock(mutex_);
  const Nanos begin = pool_.runtime().Now();
  LATCHKEY_RETURN_IF_ERROR(RunLogged(/*clean=*/false, /*holds_log=*/true));
  NoteCompleted(begin);
  return last_;
}

void Checkpointer::KeepLogFrom(Lsn lsn) {
  // A checkpoint that is under way truncates with the new value.
  hold_.store(Raw(lsn));
  MutexLock lock(mutex_);
  TruncateLog();
}

absl::Status Checkpointer::NoteBackup(const BackupNote& note) {
  MutexLock lock(mutex_);
  ClientRoot root = last_;
  std::erase_if(root.backups, [&](const BackupNote& other) { return other.id == note.id; });
  if (root.backups.size() == ClientRoot::kMostBackups) root.backups.erase(root.backups.begin());
  root.backups.push_back(note);
  root.clean = false;
  if (!LATCHKEY_CANARY("backup-note-only-in-memory")) {
    LATCHKEY_RETURN_IF_ERROR(pool_.store().Checkpoint(EncodeClientRoot(root), /*clean=*/false));
  }
  last_ = std::move(root);
  return absl::OkStatus();
}

std::optional<BackupNote> Checkpointer::FindBackup(uint64_t id) {
  MutexLock lock(mutex_);
  for (const BackupNote& note : last_.backups) {
    if (note.id == id) return note;
  }
  return std::nullopt;
}

void Checkpointer::Start(uint64_t log_bytes, bool begins) {
  LATCHKEY_CHECK(log_ != nullptr && actor_ == nullptr);
  SpaceWatch& watch = log_->log().space_watch();
  watch.Begin(kUsualIntervals * log_bytes);
  if (begins) watch.Ask();
  log_->log().StartGrowingAhead();
  actor_ = pool_.runtime().Spawn("checkpointer", [this, log_bytes] { Watch(log_bytes); });
}

void Checkpointer::Stop() {
  if (actor_ == nullptr) return;
  SpaceWatch& watch = log_->log().space_watch();
  stop_.store(1, std::memory_order_release);
  pool_.runtime().Wake(stop_, UINT32_MAX);
  watch.Interrupt();
  actor_->Join();
  actor_.reset();
  log_->log().StopGrowingAhead();
  watch.End();
}

void Checkpointer::Watch(uint64_t log_bytes) {
  SpaceWatch& watch = log_->log().space_watch();
  Nanos pause = kFirstPause;
  uint64_t owed_behind = UINT64_MAX;  // value of checkpoints() at a failure that has no retry yet
  while (stop_.load(std::memory_order_acquire) == 0) {
    const uint64_t due = redo_lsn_.load(std::memory_order_relaxed) + log_bytes;
    // If another checkpoint was taken meanwhile, there is nothing to do yet.
    const bool is_owed = owed_behind == checkpoints();
    if (!is_owed && !watch.asked() && Raw(log_->log().durable()) < due) {
      watch.Await(Lsn{due});
      continue;
    }
    if (RunRound()) {
      pause = kFirstPause;
      continue;
    }
    const bool may_succeed = MaySucceed();
    owed_behind = may_succeed ? checkpoints() : UINT64_MAX;
    pool_.runtime().WaitOnWord(stop_, 0, may_succeed ? pause : kLongestPause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

// False: nothing can be written until the next open.
bool Checkpointer::MaySucceed() const {
  return log_->CheckWritable().ok() && pool_.store().WriteStatus().ok();
}

bool Checkpointer::RunRound() {
  SpaceWatch& watch = log_->log().space_watch();
  watch.StartRound();
  const absl::Status done = CatchOutOfMemory([this] { return Run(/*clean=*/false); });
  watch.EndRound();
  if (done.ok()) return true;
  CatchOutOfMemory([&] {
    LogTo(log_sink_, LogEvent::kWriteError, LogLevel::kError,
          "checkpoint: " + std::string(done.message()));
    return absl::OkStatus();
  }).IgnoreError();
  return false;
}

}  // namespace latchkey
