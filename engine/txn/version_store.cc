#include "engine/txn/version_store.h"

#include <algorithm>
#include <new>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Entries are counted, and the table is asked to grow, in batches of this size.
constexpr uint64_t kEntriesPerReport = 64;

// A key for an error message: printable bytes as they are, the first few of them.
std::string Printable(std::string_view key) {
  constexpr size_t kShown = 40;
  std::string shown;
  for (const char c : key.substr(0, kShown)) {
    const bool plain = c >= 0x20 && c < 0x7f;
    shown += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return key.size() > kShown ? shown + "..." : shown;
}

absl::Status ConflictError(std::string_view key) {
  return MakeStatus(
      absl::StatusCode::kAborted,
      "conflict on key \"{}\": another transaction committed a change of it after this "
      "one's snapshot; roll back and run it again",
      Printable(key));
}

absl::Status UndoFailedError(std::string_view key) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      "key \"{}\" cannot be written: its last writer could not be rolled back because "
      "a page could not be read; close and reopen the database once the device works",
      Printable(key));
}

absl::Status Deadlock() {
  return absl::AbortedError(
      "deadlock: this transaction and others wait for each other's keys; roll back and run it "
      "again");
}

absl::Status WaitsForItself() {
  return absl::AbortedError(
      "this thread would wait for itself: the key is locked by a transaction that this thread has "
      "used last, or that waits for one; commit or roll back that transaction first, or make the "
      "change through it");
}

absl::Status LockWaitTooLong(Nanos lock_wait) {
  return MakeStatus(absl::StatusCode::kAborted,
                    "another transaction has kept the key locked for {} ms: roll back and run it "
                    "again, end the other transaction, or raise Options::lock_wait_ms",
                    lock_wait / kNanosPerMilli);
}

bool IsVisible(uint64_t outcome, CommitTs read_ts) {
  if (LATCHKEY_CANARY("snapshot-sees-the-next-commit")) read_ts += 1;
  return WriteRecord::IsCommitted(outcome) && outcome <= read_ts;
}

}  // namespace

VersionStore::VersionStore(Runtime& runtime, SnapshotManager& snapshots, GcClient& gc_client)
    : runtime_(runtime),
      snapshots_(snapshots),
      gc_client_(gc_client),
      table_(runtime),
      pool_(runtime),
      finished_(runtime),
      settled_(runtime),
      wait_graph_(runtime) {}

VersionStore::~VersionStore() = default;

Visible VersionStore::Lookup(const Txn& txn, TreeId tree, std::string_view key, std::string* old) {
  const auto sees = [&txn](const WriteRecord& writer) {
    return &writer == txn.record_ ||
           IsVisible(writer.outcome.load(std::memory_order_acquire), txn.snapshot_.read_ts);
  };
  const uint64_t hash = VersionTable::HashOf(tree, key);
  VersionTable::Unseen walk;
  std::optional<RecordState> state = table_.CopyUnseen(hash, tree, key, sees, old, &walk);
  const CommitTs read_ts = txn.snapshot_.read_ts;
  // Settled versions are older than every entry. Spilled undo is not: older entries of its keys may
  // still be in the table.
  const bool may_find_older =
      walk.met_seen ? HasSpilledUndo() : HasSettledAfter(read_ts) || HasSpilledAfter(read_ts);
  if (may_find_older && !LookupSettled(txn, walk, hash, tree, key, old, &state)) {
    return Visible::kTooOld;
  }
  // Checked after the walk: a version dropped because the snapshot had expired was unlinked later
  // than that.
  if (SnapshotManager::Expired(txn)) return Visible::kTooOld;
  if (!state) return Visible::kPage;
  switch (*state) {
    case RecordState::kValue:
      return Visible::kOld;
    case RecordState::kOverflow:
      return Visible::kOldOverflow;
    default:
      return Visible::kAbsent;
  }
}

WriteCheck VersionStore::CheckWrite(Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                                    TxnId page_last_writer) {
  LATCHKEY_CHECK(txn.active());
  WaitGraph::Returned(txn);
  // If this transaction has an entry, the mark is at or above its id, which is above its bound.
  WriteCheck check;
  if (!snapshots_.ForWriting(txn).SeesAllOf(page_last_writer)) {
    check = Judge(txn, hash, tree, key);
  }
  check.hash = hash;
  return check;
}

WriteCheck VersionStore::Judge(Txn& txn, uint64_t hash, TreeId tree, std::string_view key) {
  const VersionTable::Newest newest = table_.FindNewest(hash, tree, key);
  WriteCheck check;
  if (SnapshotManager::Expired(txn)) {  // conflicting entries may be gone
    if (txn.has_read_) return Refuse(SnapshotTooOld());
    snapshots_.RenewSnapshot(txn, 0);
  }
  if (newest.entry == nullptr) return JudgeSettled(txn, /*newest=*/0, hash, tree, key);
  if (newest.writer.record == txn.record_) {
    check.own_entry = newest.entry;
  } else if (newest.outcome == WriteRecord::kRunning) {
    check.verdict = WriteCheck::Verdict::kWait;
    check.owner = newest.writer;
  } else if (newest.outcome == WriteRecord::kUndoFailed) {
    return Refuse(UndoFailedError(key));
  } else {
    return JudgeSettled(txn, newest.outcome, hash, tree, key);
  }
  return check;
}

// `newest`: the newest commit of the key known so far; 0 = none.
WriteCheck VersionStore::JudgeSettled(Txn& txn, CommitTs newest, uint64_t hash, TreeId tree,
                                      std::string_view key) {
  const CommitTs read_ts = txn.snapshot_.read_ts;
  if (newest == 0 && HasSettledAfter(read_ts)) {
    newest = settled_.NewestOf(hash, tree, key);
  }
  if (HasSpilledAfter(read_ts)) {
    const VersionSpill::Newest spilled = spill_->NewestOf(txn.record_, hash, read_ts);
    if (spilled.undo_failed) return Refuse(UndoFailedError(key));
    if (spilled.running.record != nullptr) {
      WriteCheck check;
      check.verdict = WriteCheck::Verdict::kWait;
      check.owner = spilled.running;
      return check;
    }
    newest = std::max(newest, spilled.ts);
  }
  return JudgeCommitted(txn, newest, key);
}

WriteCheck VersionStore::JudgeCommitted(Txn& txn, CommitTs ts, std::string_view key) {
  if (ts <= txn.snapshot_.read_ts || LATCHKEY_CANARY("write-conflict-unnoticed")) return {};
  if (txn.has_read_) return Refuse(ConflictError(key));
  snapshots_.RenewSnapshot(txn, ts);
  return {};
}

WriteCheck VersionStore::Refuse(absl::Status status) {
  counters().conflicts.fetch_add(1, std::memory_order_relaxed);
  WriteCheck check;
  check.verdict = WriteCheck::Verdict::kRefused;
  check.refusal = std::move(status);
  return check;
}

bool VersionStore::Install(Txn& txn, const WriteCheck& check, TreeId tree, std::string_view key,
                           const OldVersion& old, Change change) {
  LATCHKEY_DCHECK(check.verdict == WriteCheck::Verdict::kGo);
  if (check.own_entry != nullptr) return UpdateOwnEntry(txn, *check.own_entry, old, change);
  if (txn.record_ == nullptr) BecomeWriter(txn);
  if (txn.savepoints_ != nullptr) txn.savepoints_->Reserve();
  AddEntry(*txn.record_, check.hash, tree, key, old, change);
  if (txn.savepoints_ != nullptr && change != Change::kLock) {
    txn.savepoints_->Save(*txn.record_->newest, /*was_written=*/false, old.state, {});
  }
  return true;
}

void VersionStore::BecomeWriter(Txn& txn) {
  txn.record_ = pool_.Take();
  const TxnId id = snapshots_.DrawTxnId(txn);
  NoteUser(txn, runtime_.ActorIndex());
  txn.record_->id.store(Raw(id), std::memory_order_release);
}

void VersionStore::AddEntry(WriteRecord& record, uint64_t hash, TreeId tree, std::string_view key,
                            const OldVersion& old, Change change) {
  LATCHKEY_CHECK(key.size() <= UINT16_MAX && old.bytes.size() <= UINT32_MAX);
  const bool lock_only = change == Change::kLock;
  // A lock's old value is never read. If a write follows, UpdateOwnEntry copies the value.
  const size_t old_size = lock_only ? 0 : old.bytes.size();
  auto* entry =
      new (record.arena.Allocate(sizeof(VersionEntry) + key.size() + old_size)) VersionEntry;
  char* bytes = reinterpret_cast<char*>(entry + 1);
  std::copy_n(key.data(), key.size(), bytes);
  std::copy_n(old.bytes.data(), old_size, bytes + key.size());
  entry->old_bytes = bytes + key.size();
  entry->old_size = static_cast<uint32_t>(old_size);
  entry->old_state = old.state;
  entry->lock_only = lock_only;
  entry->leaves_ghost =
      change == Change::kDelete || (lock_only && old.state == RecordState::kGhost);
  entry->key_size = static_cast<uint16_t>(key.size());
  entry->tree = tree;
  entry->hash = hash;
  entry->writer = &record;
  entry->next_of_writer = record.newest;
  record.newest = entry;
  table_.Link(*entry);
  if (++record.entries % kEntriesPerReport == 0) {
    ReportEntries(record);
    table_.ResizeFor(CountVersions());
  }
}

bool VersionStore::UpdateOwnEntry(Txn& txn, VersionEntry& entry, const OldVersion& old,
                                  Change change) {
  if (change == Change::kLock) return false;
  const bool was_written = !entry.lock_only;
  const char* bytes = entry.old_bytes;
  if (!was_written && entry.old() != old.bytes) {  // equal if a savepoint made it a lock
    auto* copy = static_cast<char*>(entry.writer->arena.Allocate(old.bytes.size()));
    std::copy_n(old.bytes.data(), old.bytes.size(), copy);
    bytes = copy;
  }
  const bool saved =
      txn.savepoints_ != nullptr && txn.savepoints_->Save(entry, was_written, old.state, old.bytes);
  entry.leaves_ghost = change == Change::kDelete;
  if (was_written) return saved;
  table_.TurnIntoWrite(entry, old.state, bytes, static_cast<uint32_t>(old.bytes.size()));
  return true;
}

void VersionStore::ReportEntries(WriteRecord& record) {
  const auto fresh = static_cast<int64_t>(record.entries - record.reported_entries);
  record.reported_entries = record.entries;
  counters().versions.fetch_add(fresh, std::memory_order_relaxed);
}

uint64_t VersionStore::CountVersions() const {
  int64_t versions = 0;
  for (const Counters& c : counters_) versions += c.versions.load(std::memory_order_relaxed);
  return versions < 0 ? 0 : static_cast<uint64_t>(versions);
}

absl::Status VersionStore::WaitFor(Txn& txn, const WriterRef& owner, Nanos deadline) {
  counters().waits.fetch_add(1, std::memory_order_relaxed);
  const WaitResult result = wait_graph_.WaitFor(txn, owner, deadline);
  txn.is_vain_to_repeat_ = result == WaitResult::kOwnThread || result == WaitResult::kTooLong;
  if (result == WaitResult::kEnded) return absl::OkStatus();
  if (result == WaitResult::kTooLong) {
    counters().conflicts.fetch_add(1, std::memory_order_relaxed);
    return LockWaitTooLong(lock_wait_);
  }
  counters().deadlocks.fetch_add(1, std::memory_order_relaxed);
  return result == WaitResult::kDeadlock ? Deadlock() : WaitsForItself();
}

RollbackResult VersionStore::Rollback(Txn& txn,
                                      absl::FunctionRef<absl::Status(const Undo&)> restore,
                                      absl::FunctionRef<bool(bool)> end) {
  LATCHKEY_CHECK(txn.active());
  WaitGraph::Returned(txn);
  counters().rollbacks.fetch_add(1, std::memory_order_relaxed);
  WriteRecord* record = txn.record_;
  ReleaseReads(txn);
  if (record == nullptr) {
    snapshots_.End(txn);
    return {};
  }
  ReportEntries(*record);
  RollbackResult result;
  result.error = RestoreEntries(*record, restore);
  if (record->spilled) {
    const absl::Status spilled = RestoreSpilled(*record, restore);
    if (result.error.ok()) result.error = spilled;
  }
  const bool all_restored = result.error.ok();
  const bool may_unlock = end(all_restored);
  if (may_unlock) {
    FreeSavedChains(txn.savepoints_.get());
    ReleaseRestored(*record);
    if (record->spilled && all_restored) ReleaseSpilled(*record);
  }
  result.outcome = !all_restored ? RollbackOutcome::kUndoFailed
                   : !may_unlock ? RollbackOutcome::kKeptLocked
                                 : RollbackOutcome::kRolledBack;
  EndRolledBack(txn, *record, result.outcome == RollbackOutcome::kRolledBack);
  return result;
}

// `is_over`: no key of the transaction is locked any more.
void VersionStore::EndRolledBack(Txn& txn, WriteRecord& record, bool is_over) {
  record.outcome.store(is_over ? WriteRecord::kRolledBack : WriteRecord::kUndoFailed,
                       std::memory_order_release);
  const bool deadlocked = txn.deadlocked_;
  if (is_over) {
    snapshots_.End(txn);
  } else {
    snapshots_.Abandon(txn);
  }
  wait_graph_.WakeWaiters(record);
  if (deadlocked) wait_graph_.YieldToWaiters(record);
  if (is_over) pool_.Return(&record);
}

absl::Status VersionStore::RestoreEntries(WriteRecord& record,
                                          absl::FunctionRef<absl::Status(const Undo&)> restore) {
  absl::Status first_error;
  for (VersionEntry* entry = record.newest; entry != nullptr; entry = entry->next_of_writer) {
    if (entry->lock_only) continue;
    if (LATCHKEY_CANARY("rollback-forgets-a-record") && entry->next_of_writer == nullptr) break;
    const absl::Status status =
        restore({entry->tree, entry->key(), {entry->old_state, entry->old()}, Lsn{0}});
    entry->restore_failed = !status.ok();
    if (first_error.ok()) first_error = status;
  }
  return first_error;
}

// Unlocks the keys, after the end of the rollback is certain: until then no other transaction may
// write them.
void VersionStore::ReleaseRestored(WriteRecord& record) {
  int64_t unlinked = 0;
  for (VersionEntry* entry = record.newest; entry != nullptr; entry = entry->next_of_writer) {
    if (entry->restore_failed) continue;
    table_.Unlink(*entry);
    ++unlinked;
    // The collector of the delete that made the ghost may have come while the ghost was
    // overwritten.
    if (entry->old_state == RecordState::kGhost) gc_client_.PurgeGhost(entry->tree, entry->key());
  }
  counters().versions.fetch_sub(unlinked, std::memory_order_relaxed);
}

bool VersionStore::HasVersions(TreeId tree, std::string_view key) {
  // The newest entry decides. If it has been collected, older ones may still be linked, since each
  // actor collects its own queue. No snapshot needs them, and they leave nothing on the page.
  const uint64_t hash = VersionTable::HashOf(tree, key);
  const VersionTable::Newest newest = table_.FindNewest(hash, tree, key);
  const CommitTs oldest = snapshots_.oldest_snapshot();
  if (newest.entry != nullptr && !IsVisible(newest.outcome, oldest)) return true;
  if (newest.entry == nullptr && HasSettledAfter(oldest) &&
      settled_.NewestOf(hash, tree, key) > oldest) {
    return true;
  }
  if (!HasSpilledAfter(oldest)) return false;
  const VersionSpill::Newest spilled = spill_->NewestOf(/*own=*/nullptr, hash, oldest);
  if (spilled.running.record == nullptr && !spilled.undo_failed && spilled.ts == 0) return false;
  // A filter's "perhaps": the ghost stays for now and is looked at again when spilled versions are
  // dropped.
  spill_->PostponeGhost(tree, key);
  return true;
}

void VersionStore::CollectFrom(uint32_t queue, uint64_t budget) {
  uint64_t collected = 0, unlinked = 0;
  while (collected < budget && !finished_.empty(queue)) {
    const bool early = LATCHKEY_CANARY("versions-collected-too-early");
    WriteRecord* record =
        finished_.Pop(queue, early ? snapshots_.clock() : snapshots_.oldest_snapshot());
    if (record == nullptr) break;
    collected += CollectRecord(*record, budget - collected, &unlinked);
    if (record->newest == nullptr) {
      pool_.Return(record);
    } else {
      finished_.PushFront(queue, record);
    }
  }
  if (unlinked != 0) {
    counters().versions.fetch_sub(static_cast<int64_t>(unlinked), std::memory_order_relaxed);
  }
}

uint64_t VersionStore::CollectRecord(WriteRecord& record, uint64_t budget, uint64_t* unlinked) {
  uint64_t collected = 0;
  for (; record.newest != nullptr && collected < budget; ++collected) {
    VersionEntry* entry = record.newest;
    record.newest = entry->next_of_writer;
    if (record.newest != nullptr) table_.Prefetch(record.newest->hash);
    *unlinked += CollectEntry(*entry);
  }
  return collected;
}

// False: the entry has settled and is no longer this collector's.
bool VersionStore::CollectEntry(VersionEntry& entry) {
  if (!table_.Unlink(entry)) return false;
  if (entry.leaves_ghost) gc_client_.PurgeGhost(entry.tree, entry.key());
  if (entry.old_state == RecordState::kOverflow && !entry.lock_only) {
    gc_client_.FreeOverflow(entry.tree, entry.old());
  }
  return true;
}

void VersionStore::CollectAll() {
  snapshots_.RefreshBounds();
  for (uint32_t queue = 0; queue < kStripes; ++queue) CollectFrom(queue, UINT64_MAX);
  // Frozen entries belong to the actor that reclaims.
  const bool alone = !reclaiming_.exchange(true, std::memory_order_acquire);
  SettleAndSweepAll(/*thaw=*/alone);
  if (alone) reclaiming_.store(false, std::memory_order_release);
  DropSpilled();
}

VersionStoreStats VersionStore::stats() const {
  VersionStoreStats stats;
  for (const Counters& c : counters_) {
    stats.commits += c.commits.load(std::memory_order_relaxed);
    stats.rollbacks += c.rollbacks.load(std::memory_order_relaxed);
    stats.conflicts += c.conflicts.load(std::memory_order_relaxed);
    stats.deadlocks += c.deadlocks.load(std::memory_order_relaxed);
    stats.waits += c.waits.load(std::memory_order_relaxed);
    stats.snapshots_expired += c.expired.load(std::memory_order_relaxed);
    stats.serializable_refused += c.refused.load(std::memory_order_relaxed);
  }
  stats.versions = CountVersions() + settled_.count();
  if (spill_ != nullptr) {
    stats.versions += spill_->versions();
    stats.spilled_bytes = spill_->disk_bytes();
  }
  stats.version_bytes = BoundedBytes();
  stats.bound_bytes = bound_.load(std::memory_order_relaxed);
  stats.reserved_bytes = bytes();
  const CommitTs oldest = snapshots_.oldest_snapshot();
  const CommitTs clock = snapshots_.clock();
  stats.oldest_snapshot_age = clock < oldest ? 0 : clock - oldest;
  return stats;
}

}  // namespace latchkey
