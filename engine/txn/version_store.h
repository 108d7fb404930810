// The version store: write locks and old versions in memory, by (tree, key); versions beyond its
// bound are spilled (engine/txn/README.md). Pages hold only the newest values. Reading a page
// without recent changes needs no lookup here. Readers never wait for writers, nor writers for
// readers. This class is what trees call; each call is documented at the part that does it.
//
// How a tree uses it (S = shared latch or optimistic, X = exclusive latch on the key's leaf):
//
//   read    snapshot = snapshots.ForReading(txn); read the page; if !snapshot.SeesAllOf(mark):
//           Lookup(...), *then* validate the optimistic read (or hold S throughout)
//   write   under X: check = CheckWrite(...)
//             kGo       Install(...), then change the page and set mark = max(mark, txn.id())
//             kWait     release X, WaitFor(txn, check.owner), descend again
//             kRefused  release X, return check.refusal; the caller rolls back
//   lock    as write with Change::kLock: sets the mark (and so dirties the page), changes no record
//   delete  leaves a ghost record, which keeps the key findable until GcClient::PurgeGhost
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/txn/commit_order.h"
#include "engine/txn/committer.h"
#include "engine/txn/empty_gaps.h"
#include "engine/txn/gc_client.h"
#include "engine/txn/lock_waits.h"
#include "engine/txn/record_change.h"
#include "engine/txn/rollback.h"
#include "engine/txn/savepoints.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_budget.h"
#include "engine/txn/version_reader.h"
#include "engine/txn/version_reclaimer.h"
#include "engine/txn/version_spiller.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/version_table.h"
#include "engine/txn/version_writer.h"
#include "engine/txn/wait_graph.h"
#include "engine/txn/write_admission.h"
#include "engine/txn/write_checker.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class VersionStore {
 public:
  VersionStore(Runtime& runtime, SnapshotManager& snapshots, GcClient& gc_client);
  VersionStore(const VersionStore&) = delete;
  VersionStore& operator=(const VersionStore&) = delete;

  // ---- Reading

  /// See VersionReader.
  Visible Lookup(const Txn& txn, TreeId tree, std::string_view key, std::string* old) {
    return reader_.Lookup(txn, tree, key, old);
  }
  /// See VersionReader.
  bool HasVersions(TreeId tree, std::string_view key, CommitTs unneeded_until) {
    return reader_.HasVersions(tree, key, unneeded_until);
  }
  /// Notes for a serializable `txn` that it has read `key` or found it missing. Other transactions
  /// note nothing.
  void NoteRead(Txn& txn, TreeId tree, std::string_view key) {
    if (ReadSet* reads = txn.reads()) {
      reads->AddKey(tree, VersionTable::HashOf(tree, key));
      AccountReads(txn);
    }
  }
  /// See VersionBudget.
  void AccountReads(Txn& txn) { budget_.AccountReads(txn); }

  // ---- Writing

  /// See WriteAdmission::Admit. Call it before each write, with no latches held.
  absl::Status AdmitWrite(Txn& txn) { return admission_.Admit(txn); }
  /// Prefetches what the checks of a coming write will read, and returns the key's hash.
  uint64_t PrepareWrite(TreeId tree, std::string_view key) const {
    const uint64_t hash = VersionTable::HashOf(tree, key);
    table_.Prefetch(hash);
    return hash;
  }
  /// See WriteChecker::Check.
  WriteCheck CheckWrite(Txn& txn, TreeId tree, std::string_view key, TxnId page_last_writer,
                        bool has_record) {
    return CheckWrite(txn, PrepareWrite(tree, key), tree, key, page_last_writer, has_record);
  }
  /// As above, with the `hash` of PrepareWrite.
  WriteCheck CheckWrite(Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                        TxnId page_last_writer, bool has_record) {
    return checker_.Check(txn, hash, tree, key, page_last_writer, has_record);
  }
  /// The ranges without a record. A tree may note them at its inserts, see EmptyGaps.
  EmptyGaps& gaps() { return gaps_; }
  /// See VersionWriter.
  bool Install(Txn& txn, const WriteCheck& check, TreeId tree, std::string_view key,
               const OldVersion& old, Change change) {
    return writer_.Install(txn, check, tree, key, old, change);
  }
  /// See VersionWriter.
  void EnsureWriter(Txn& txn) { writer_.EnsureWriter(txn); }

  /// See VersionWriter.
  void EnsureRangeWriter(Txn& txn) { writer_.EnsureRangeWriter(txn); }

  // ---- Waiting

  /// See LockWaits.
  absl::Status WaitFor(Txn& txn, const WriterRef& owner, LockWait& wait) {
    return lock_waits_.WaitFor(txn, owner, wait);
  }
  std::vector<uint32_t> ActorsBehind(const Txn& txn) const { return lock_waits_.ActorsBehind(txn); }
  void NoteVictim(Txn& txn) { lock_waits_.NoteVictim(txn); }
  /// See LockWaits::SetMostWait. REQUIRES: no call has waited yet.
  void SetLockWait(Nanos lock_wait) { lock_waits_.SetMostWait(lock_wait); }
  /// See LockWaits::SetLedger.
  void SetLedger(WaitLedger* ledger) { lock_waits_.SetLedger(ledger); }
  /// The time at which a call that begins to wait now gives up.
  Nanos WaitDeadline() const { return lock_waits_.Deadline(); }
  /// See VersionWriter.
  static void NoteUser(Txn& txn, uint32_t actor) { VersionWriter::NoteUser(txn, actor); }

  // ---- The end of a transaction. REQUIRES: no latches held.

  /// See Committer. Collects nothing: after a commit, the same actor calls CollectAfter.
  absl::StatusOr<Committed> TryCommit(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                      absl::FunctionRef<void()> before_retry) {
    return committer_.TryCommit(txn, at_commit, before_retry);
  }
  /// Counts a commit that has left no versions here (SnapshotManager::StampUnseen).
  void CountCommit() { counters_.Here().commits.fetch_add(1, std::memory_order_relaxed); }
  /// See VersionReclaimer. Call it once for every commit, after the commit is acknowledged.
  void CollectAfter(const Committed& commit) { reclaimer_.CollectAfter(commit); }
  /// TryCommit and CollectAfter: for a store without a log. Returns the commit's timestamp.
  absl::StatusOr<CommitTs> CommitAndCollect(Txn& txn, absl::FunctionRef<void(CommitTs)> at_commit);
  /// The same. REQUIRES: not serializable.
  CommitTs Commit(Txn& txn);
  /// See Rollback::Run.
  RollbackResult Rollback(Txn& txn, absl::FunctionRef<absl::Status(const Undo&)> restore,
                          absl::FunctionRef<bool(bool)> end) {
    return rollback_.Run(txn, restore, end);
  }
  /// As above; the keys are unlocked at the end. Returns the first error of `restore`.
  absl::Status Rollback(Txn& txn, absl::FunctionRef<absl::Status(const Undo&)> restore) {
    return Rollback(txn, restore, [](bool) { return true; }).error;
  }

  // ---- Savepoints

  /// See Savepoints::Set.
  uint64_t SetSavepoint(Txn& txn, Lsn as_of = Lsn{0}) { return savepoints_.Set(txn, as_of); }
  /// See Savepoints. REQUIRES: no latches held.
  absl::Status RollbackTo(Txn& txn, uint64_t savepoint,
                          absl::FunctionRef<absl::Status(const Undo&)> restore) {
    return savepoints_.RollbackTo(txn, savepoint, restore);
  }
  /// See Savepoints::TakeChains. For a log, inside the `end` of Rollback.
  static void TakeSavedChains(Txn& txn, absl::FunctionRef<void(std::string_view)> take) {
    Savepoints::TakeChains(txn, take);
  }

  // ---- The memory of old versions

  /// Sets the memory that old versions, undo and read sets may take, bytes; 0 = no bound. Above it
  /// versions are spilled, or the oldest snapshot expires, as long as that helps.
  void SetBound(uint64_t bytes) {
    budget_.SetBound(bytes);
    spiller_.SetFilterBytes(bytes / 2);
    known_.SetMostBytes(bytes / kKnownShare);
    gaps_.SetMostBytes(bytes == 0 ? SIZE_MAX : bytes / kGapsShare);
  }
  /// See VersionSpiller::SetDevice. REQUIRES: no other call has been made.
  void SetSpill(std::unique_ptr<BlockDevice> device, uint64_t most_bytes) {
    spiller_.SetDevice(std::move(device), most_bytes);
  }
  /// Starts an actor that settles and spills versions, so that committers need not. Throws if there
  /// is no memory for it.
  void StartReclaimer() { reclaimer_.Start(); }
  /// Ends it. Committers do its work again. One actor at a time calls both.
  void StopReclaimer() { reclaimer_.Stop(); }
  /// Collects everything that no running snapshot needs. REQUIRES: no latches held.
  void CollectAll() { reclaimer_.CollectAll(); }
  VersionStoreStats stats() const;
  /// All memory of the store, bytes.
  size_t bytes() const;

 private:
  // Gaps may take a kGapsShare-th of the bound.
  static constexpr uint64_t kGapsShare = 16;
  // The table of known writes may take a kKnownShare-th of the bound.
  static constexpr uint64_t kKnownShare = 4;

  SnapshotManager& snapshots_;
  // What the parts share.
  VersionCounters counters_;
  VersionTable table_;
  RecordPool pool_;
  FinishedQueues finished_;  // commits that neither their committer nor the reclaimer has looked at
  FinishedQueues settling_;  // commits with versions that a long snapshot may read
  KnownWrites known_;
  SettledVersions settled_;
  EmptyGaps gaps_;
  WaitGraph wait_graph_;
  // The parts; each knows only those above it.
  VersionBudget budget_;
  VersionSpiller spiller_;
  VersionReader reader_;
  WriteChecker checker_;
  VersionWriter writer_;
  LockWaits lock_waits_;
  CommitOrder order_;
  Committer committer_;
  Savepoints savepoints_;
  latchkey::Rollback rollback_;
  VersionCollector collector_;
  VersionSettler settler_;
  VersionReclaimer reclaimer_;
  WriteAdmission admission_;
};

}  // namespace latchkey
