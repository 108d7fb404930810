// The version store: write locks and old versions, in memory, off (tree, key). With it pages hold
// only newest values, a clean page costs no version work, readers never wait for writers and
// writers never wait for readers (ARCHITECTURE.md "Transactions").
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
//
// Invariants
//  1. An entry is linked before its page changes and unlinked after its page is restored, both
//     while the page says so: a validated read and its lookup are of one moment.
//  2. At most one unfinished transaction has an entry for a key: the entry is the write lock.
//  3. Entries of a key, newest first, have falling commit timestamps; only the first may be
//     uncommitted. Candidate of a reader: the page's value, replaced by `old` at every entry it
//     does not see, until the first that it does.
//  4. A committed entry leaves once oldest_snapshot() >= its timestamp: every reader would stop at
//  it.
//  5. Every ghost on a page has an entry, or a PurgeGhost call under way, that will remove it.
//
// Marks move with their records: a split copies the mark to both pages, a merge takes the maximum,
// and an evicted page keeps its mark on the device (SnapshotManager's first_txn_id lies above
// them).
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/txn/record_pool.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_table.h"
#include "engine/txn/wait_graph.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// What the store asks of the trees when versions go. Called with no latch of the store held, by
/// whoever commits or rolls back; the caller of Commit and Rollback therefore holds no latches.
/// Neither throws: what cannot be done for lack of memory stays undone, or is done later.
class GcClient {
 public:
  virtual ~GcClient() = default;
  /// The record of `key` may be a ghost that nobody needs: latch its page exclusively, and remove
  /// the record if it is a ghost and !HasVersions(tree, key). A dropped tree: do nothing.
  virtual void PurgeGhost(TreeId tree, std::string_view key) = 0;
  /// Nobody reads the overflow chain behind `reference` (the bytes given to Install) any more.
  virtual void FreeOverflow(TreeId tree, std::string_view reference) = 0;
};

/// What a write does to the record of its key.
enum class Change : uint8_t {
  kPut,     ///< afterwards the page holds a value
  kDelete,  ///< afterwards the page holds a ghost
  kLock,    ///< nothing: the key is only locked
};

/// The state of a record before a write: `bytes` is the value, or the reference of its overflow
/// chain, or empty.
struct OldVersion {
  OldState state = OldState::kAbsent;
  std::string_view bytes;
};

/// May this transaction write this key now? A ticket for Install.
struct WriteCheck {
  enum class Verdict : uint8_t { kGo, kWait, kRefused };
  Verdict verdict = Verdict::kGo;
  uint64_t hash = 0;
  /// kGo: this transaction's own entry for the key, if it has one.
  VersionEntry* own_entry = nullptr;
  /// kWait: whom to wait for.
  WriterRef owner;
  /// kRefused: Aborted (run the transaction again), or Unavailable (the key's last writer could
  /// not be rolled back).
  absl::Status refusal;
};

/// What a reader takes for the value of a key.
enum class Visible : uint8_t {
  kPage,         ///< what the page holds: a value, or a ghost or no record for "absent"
  kOld,          ///< the old value that Lookup has copied
  kOldOverflow,  ///< an old value, behind the overflow reference that Lookup has copied
  kAbsent,       ///< nothing: the key did not exist
  kTooOld,       ///< unknown: the snapshot has expired; give up with SnapshotTooOld()
};

/// One step of a rollback: the state that the record of `key` gets back.
struct Undo {
  TreeId tree;
  std::string_view key;
  OldVersion old;
  /// The state is as of this log record of the transaction: that of SetSavepoint, or 0, from before
  /// its first one.
  Lsn as_of{0};
};

/// Counters since construction, unless said otherwise.
struct VersionStoreStats {
  uint64_t versions = 0;        ///< now; entries of running transactions are counted in batches
  uint64_t version_bytes = 0;   ///< now: memory held by versions that are in use
  uint64_t reserved_bytes = 0;  ///< now: all memory of the store, the recycled included
  uint64_t oldest_snapshot_age = 0;  ///< now, in commits
  uint64_t commits = 0, rollbacks = 0;
  uint64_t conflicts = 0;  ///< refused writes, deadlocks not counted
  uint64_t deadlocks = 0;
  uint64_t waits = 0;
  uint64_t snapshots_expired = 0;     ///< because the store was full and they were the oldest
  uint64_t serializable_refused = 0;  ///< commits, because something read had changed
  uint64_t bound_bytes = 0;           ///< see SetBound
};

/// Aborted: the snapshot was the oldest when the version store was full.
absl::Status SnapshotTooOld();

/// Thread-safety: every member may be called from every actor at once, each Txn by its own actor.
class VersionStore {
 public:
  VersionStore(Runtime& runtime, SnapshotManager& snapshots, GcClient& gc_client);
  ~VersionStore();
  VersionStore(const VersionStore&) = delete;
  VersionStore& operator=(const VersionStore&) = delete;

  /// What `txn` sees of `key`; kOld and kOldOverflow put the bytes into `*old`, which is otherwise
  /// unchanged. REQUIRES: txn.has_snapshot(), taken before the page was read; the page is latched,
  /// or its optimistic read is validated after this call.
  Visible Lookup(const Txn& txn, TreeId tree, std::string_view key, std::string* old);

  /// For a write that is about to be checked: asks the processor for what the checks will look at,
  /// and returns the key's hash.
  uint64_t PrepareWrite(TreeId tree, std::string_view key) const {
    const uint64_t hash = VersionTable::HashOf(tree, key);
    table_.Prefetch(hash);
    return hash;
  }
  /// REQUIRES: the key's leaf is latched exclusively; `page_last_writer` is its mark. Takes the
  /// snapshot of `txn` if it has none; moves it when that resolves a conflict and nothing was read.
  WriteCheck CheckWrite(Txn& txn, TreeId tree, std::string_view key, TxnId page_last_writer) {
    return CheckWrite(txn, PrepareWrite(tree, key), tree, key, page_last_writer);
  }
  /// As above, with the `hash` of PrepareWrite.
  WriteCheck CheckWrite(Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                        TxnId page_last_writer);

  /// Links the entry of a write that `check` has allowed. REQUIRES: the leaf has stayed latched
  /// since CheckWrite; the page is not changed yet; same tree and key. Returns true when the store
  /// now owns `old`: its overflow chain is freed through GcClient. False when `txn` had written
  /// the key before: `old` was its own, and its overflow chain is the caller's to free. Of kLock
  /// the result means nothing. Throws std::bad_alloc with nothing changed but that `txn` may have
  /// its id.
  bool Install(Txn& txn, const WriteCheck& check, TreeId tree, std::string_view key,
               const OldVersion& old, Change change);

  /// Waits until `owner` has finished. Aborted when that would be a deadlock. REQUIRES: no latches.
  absl::Status WaitFor(Txn& txn, const WriterRef& owner);

  /// Makes the writes of `txn` visible to later snapshots and ends it. Returns its timestamp, 0 if
  /// it wrote nothing. Then collects a bounded amount of garbage. REQUIRES: no latches held.
  ///
  /// A serializable transaction that has written is refused with Aborted when anything it has read
  /// was changed by a commit after its snapshot, or its snapshot has expired: then nothing has
  /// happened, and the caller rolls back. `at_commit(ts)` runs when nothing can refuse the commit
  /// any more, before anybody sees it, in the critical section that fixes the commit order: a few
  /// instructions, no waiting. It does not run for a transaction that wrote nothing. When it
  /// returns false nothing has happened; `before_retry()` then waits, outside the critical section,
  /// for what it lacks, and it runs again.
  absl::StatusOr<CommitTs> TryCommit(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                     absl::FunctionRef<void()> before_retry);
  absl::StatusOr<CommitTs> TryCommit(Txn& txn, absl::FunctionRef<void(CommitTs)> at_commit) {
    return TryCommit(
        txn,
        [&](CommitTs ts) {
          at_commit(ts);
          return true;
        },
        [] {});
  }
  /// As TryCommit. REQUIRES: not serializable.
  CommitTs Commit(Txn& txn);

  /// Notes for a serializable `txn` that it has read `key`, or has found it missing. Does nothing
  /// for others.
  void NoteRead(Txn& txn, TreeId tree, std::string_view key) {
    if (ReadSet* reads = txn.reads()) {
      reads->AddKey(tree, VersionTable::HashOf(tree, key));
      AccountReads(txn);
    }
  }
  /// To be called after `txn.reads()` has grown: beyond its share of the bound it is coarsened.
  void AccountReads(Txn& txn) {
    if (txn.reads()->bytes() > txn.charged_read_bytes_) ChargeReads(txn);
  }

  /// A point in `txn` to which RollbackTo can return; unique in this store. `as_of`: the newest log
  /// record of `txn`, which its Undo steps then carry.
  uint64_t SetSavepoint(Txn& txn, Lsn as_of = Lsn{0});
  /// Undoes what `txn` has written since the savepoint: `restore` as in Rollback, for each changed
  /// key once per savepoint, newest first. The locks stay held, reads stay noted, the savepoint
  /// stays; later ones are gone. InvalidArgument: not a savepoint of `txn`, or rolled back over.
  /// Any other error is of `restore`: then only Rollback is left. REQUIRES: no latches held.
  absl::Status RollbackTo(Txn& txn, uint64_t savepoint,
                          absl::FunctionRef<absl::Status(const Undo&)> restore);

  /// Hands over the overflow chains that only a savepoint of `txn` still needs; Rollback then does
  /// not free them. For a log, inside the `end` of Rollback.
  void TakeSavedChains(Txn& txn, absl::FunctionRef<void(std::string_view)> take);

  /// Sets how much memory old versions, undo and read sets may take, bytes; 0: without bound. Above
  /// it the oldest snapshot expires, as long as that helps.
  void SetBound(uint64_t bytes) { bound_.store(bytes, std::memory_order_relaxed); }
  /// To be called before each write, with no latches held. Aborted: the undo of all running
  /// transactions together leaves no room for that of `txn`, which is at most half of the bound;
  /// the caller rolls back, and may run the transaction again. ResourceExhausted: the undo of `txn`
  /// alone exceeds the bound, or is most of it and finds no room; the transaction may go on
  /// reading, commit or roll back.
  absl::Status AdmitWrite(Txn& txn) {
    if (txn.record_ == nullptr || OwnUndoBytes(txn) <= txn.admitted_bytes_) {
      return absl::OkStatus();
    }
    return AdmitGrowth(txn);
  }

  /// Calls `restore` for every changed key, newest first, and ends `txn`. `restore` latches the
  /// page and puts the old state back (freeing an overflow chain that `txn` wrote). If a `restore`
  /// fails, the others still run and the first error is returned; keys that were not
  /// restored stay readable at their old value and refuse writes with Unavailable. REQUIRES: no
  /// latches held.
  absl::Status Rollback(Txn& txn, absl::FunctionRef<absl::Status(const Undo&)> restore) {
    return Rollback(txn, restore, [](bool) { return true; });
  }
  /// As above; `end(all_restored)` runs after the last `restore` and before the first key is given
  /// free. If it returns false all keys of `txn` stay locked, as if none had been restored: for a
  /// log that will undo the transaction once more.
  absl::Status Rollback(Txn& txn, absl::FunctionRef<absl::Status(const Undo&)> restore,
                        absl::FunctionRef<bool(bool)> end);

  /// Gives `txn` its id now, not at its first Install: for a log that needs it before.
  void EnsureWriter(Txn& txn) {
    if (txn.record_ == nullptr) BecomeWriter(txn);
  }

  /// Whether the key is locked, or any reader may need an older state of it than the page's.
  /// Answers for as long as the key's leaf stays latched exclusively.
  bool HasVersions(TreeId tree, std::string_view key);

  /// Collects everything that no running snapshot needs. REQUIRES: no latches held.
  void CollectAll();

  VersionStoreStats stats() const;
  /// All memory of the store, bytes.
  size_t bytes() const { return pool_.reserved_bytes() + table_.bytes(); }

 private:
  struct alignas(64) Counters {
    std::atomic<int64_t> versions{0};
    std::atomic<uint64_t> commits{0}, rollbacks{0}, conflicts{0}, deadlocks{0}, waits{0};
    std::atomic<uint64_t> expired{0}, refused{0};
  };
  static constexpr uint32_t kStripes = FinishedQueues::kQueues;

  Counters& counters() { return counters_[runtime_.ActorIndex() % kStripes]; }
  WriteCheck Refuse(absl::Status status);
  WriteCheck Judge(Txn& txn, const VersionTable::Newest& newest, std::string_view key);
  void BecomeWriter(Txn& txn);
  void AddEntry(WriteRecord& record, uint64_t hash, TreeId tree, std::string_view key,
                const OldVersion& old, Change change);
  bool UpdateOwnEntry(Txn& txn, VersionEntry& entry, const OldVersion& old, Change change);
  void ReportEntries(WriteRecord& record);
  uint64_t CountVersions() const;
  void EndReader(Txn& txn, uint32_t queue);
  void EndWriter(Txn& txn, uint32_t queue);
  CommitTs Stamp(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                 absl::FunctionRef<void()> before_retry);
  absl::StatusOr<CommitTs> ValidateAndStamp(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                            absl::FunctionRef<void()> before_retry);
  /// Whether no commit in (from, upto], `newest` being the record of `upto`, changed a key of
  /// `reads`.
  static bool AreCurrent(const ReadSet& reads, WriteRecord* newest, CommitTs upto, CommitTs from);
  void LinkCommit(WriteRecord& record);
  void CollectAfterCommit(uint32_t queue, CommitTs ts, uint64_t written);
  void FreeSavedChains(Txn& txn);
  void ChargeReads(Txn& txn);
  void ReleaseReads(Txn& txn);
  static uint64_t OwnUndoBytes(const Txn& txn) {
    return txn.record_->arena.bytes() + (txn.savepoints_ == nullptr ? 0 : txn.savepoints_->bytes());
  }
  uint64_t BoundedBytes() const {
    return pool_.used_bytes() + read_set_bytes_.load(std::memory_order_relaxed);
  }
  absl::Status AdmitGrowth(Txn& txn);
  void Reclaim();
  absl::Status RestoreEntries(WriteRecord& record,
                              absl::FunctionRef<absl::Status(const Undo&)> restore);
  void ReleaseRestored(WriteRecord& record);
  void CollectFrom(uint32_t queue, uint64_t budget);
  uint64_t CollectRecord(WriteRecord& record, uint64_t budget);
  void CollectEntry(VersionEntry& entry);

  Runtime& runtime_;
  SnapshotManager& snapshots_;
  GcClient& gc_client_;
  VersionTable table_;
  RecordPool pool_;
  FinishedQueues finished_;
  WaitGraph wait_graph_;
  WriteRecord* latest_commit_ = nullptr;  // written in the critical section of commits
  std::atomic<uint64_t> bound_{0};
  std::atomic<uint64_t> next_savepoint_{1};
  std::atomic<uint64_t> read_set_bytes_{0};
  std::atomic<bool> reclaiming_{false};
  Counters counters_[kStripes];
};

}  // namespace latchkey
