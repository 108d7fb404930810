// The version store: write locks and old versions in memory, by (tree, key); versions beyond its
// bound are spilled (engine/txn/README.md). Pages hold only the newest values. Reading a page
// without recent changes needs no lookup here. Readers never wait for writers, nor writers for
// readers.
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
//  1. An entry is linked before its page changes and unlinked after its page is restored. So it is
//     linked whenever the page holds the change: a validated read and its lookup are of one
//     moment.
//  2. At most one unfinished transaction has an entry for a key: the entry is the write lock.
//  3. Entries of a key, newest first, have falling commit timestamps. Only the first may be
//     uncommitted. A reader starts with the page's value and replaces it by `old` at every entry
//     that it does not see, until the first entry that it does see.
//  4. A committed entry is dropped once oldest_snapshot() >= its timestamp: every reader would stop
//     at it. If a snapshot is older, the entry moves to SettledVersions, oldest of its key first.
//     They keep it if any snapshot sees its old value.
//  5. Every ghost on a page has an entry, or a PurgeGhost call under way, that will remove it.
//
// Marks move with their records: a split copies the mark to both pages, and a merge takes the
// maximum. An evicted page keeps its mark on the device (SnapshotManager's first_txn_id lies above
// all of them).
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/txn/record_pool.h"
#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_spill.h"
#include "engine/txn/version_table.h"
#include "engine/txn/wait_graph.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The store's requests to the trees when versions are dropped. The actor that collects or rolls
/// back calls them, with no latch of the store held; so the caller of CollectAfter and Rollback
/// holds no latches. Neither throws: work that lacks memory stays undone, or is done later.
class GcClient {
 public:
  virtual ~GcClient() = default;
  /// The record of `key` may be a ghost that no snapshot needs. Latch its page exclusively, and
  /// remove the record if it is a ghost and !HasVersions(tree, key). If the tree is dropped, do
  /// nothing.
  virtual void PurgeGhost(TreeId tree, std::string_view key) = 0;
  /// No reader needs the overflow chain behind `reference` (the bytes given to Install) any more.
  virtual void FreeOverflow(TreeId tree, std::string_view reference) = 0;
};

/// The effect of a write on the record of its key.
enum class Change : uint8_t {
  kPut,     ///< afterwards the page holds a value
  kDelete,  ///< afterwards the page holds a ghost
  kLock,    ///< the page is unchanged: the key is only locked
};

/// The state of a record before a write. `bytes`: the value, the reference of its overflow chain,
/// or empty.
struct OldVersion {
  RecordState state = RecordState::kAbsent;
  std::string_view bytes;
};

/// Whether this transaction may write this key now. A ticket for Install.
struct WriteCheck {
  enum class Verdict : uint8_t { kGo, kWait, kRefused };
  Verdict verdict = Verdict::kGo;
  uint64_t hash = 0;
  /// kGo: this transaction's own entry for the key, if it has one.
  VersionEntry* own_entry = nullptr;
  /// kWait: the writer to wait for.
  WriterRef owner;
  /// kRefused: Aborted (run the transaction again), or Unavailable (the rollback of the key's last
  /// writer has failed).
  absl::Status refusal;
};

/// The source of a key's value for a reader.
enum class Visible : uint8_t {
  kPage,         ///< the page's record: a value, or a ghost or no record for "absent"
  kOld,          ///< the old value that Lookup has copied
  kOldOverflow,  ///< an old value, behind the overflow reference that Lookup has copied
  kAbsent,       ///< the key did not exist
  kTooOld,       ///< unknown: the snapshot has expired; return SnapshotTooOld()
};

/// One step of a rollback: the state to which the record of `key` returns.
struct Undo {
  TreeId tree;
  std::string_view key;
  OldVersion old;
  /// The transaction's log record at which the state was current: that of SetSavepoint, or 0 =
  /// before the transaction's first record.
  Lsn as_of{0};
};

/// A commit, and what it leaves to VersionStore::CollectAfter.
struct Committed {
  CommitTs ts = 0;       ///< its place in the order of commits; 0 = the transaction wrote nothing
  uint64_t entries = 0;  ///< versions that it wrote
  std::unique_ptr<SavepointLog> savepoints;  ///< their overflow chains are needed no more
};

/// How a rollback has ended.
enum class RollbackOutcome : uint8_t {
  kRolledBack,  ///< every record is restored, and every key is unlocked
  kKeptLocked,  ///< every record is restored, but the keys stay locked: `end` asked for it
  kUndoFailed,  ///< some records are not restored
};
struct RollbackResult {
  RollbackOutcome outcome = RollbackOutcome::kRolledBack;
  absl::Status error;  ///< kUndoFailed: the first error of `restore`; else OK
};

/// Counters since construction, unless noted.
struct VersionStoreStats {
  uint64_t versions = 0;        ///< now; entries of running transactions are counted in batches
  uint64_t version_bytes = 0;   ///< now: memory of the versions in use
  uint64_t spilled_bytes = 0;   ///< now: bytes in use on the spill device
  uint64_t reserved_bytes = 0;  ///< now: all memory of the store, recycled memory included
  uint64_t oldest_snapshot_age = 0;  ///< now, in commits
  uint64_t commits = 0, rollbacks = 0;
  uint64_t conflicts = 0;  ///< refused writes, without deadlocks
  uint64_t deadlocks = 0;
  uint64_t waits = 0;
  uint64_t snapshots_expired = 0;     ///< the oldest ones, because the store was full
  uint64_t serializable_refused = 0;  ///< commits refused because a commit changed what was read
  uint64_t bound_bytes = 0;           ///< see SetBound
};

/// Aborted: the version store was full, and the snapshot was the oldest.
absl::Status SnapshotTooOld();

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class VersionStore {
 public:
  VersionStore(Runtime& runtime, SnapshotManager& snapshots, GcClient& gc_client);
  ~VersionStore();
  VersionStore(const VersionStore&) = delete;
  VersionStore& operator=(const VersionStore&) = delete;

  /// The value of `key` that `txn` sees. kOld and kOldOverflow put the bytes into `*old`; otherwise
  /// it is unchanged. REQUIRES: txn.has_snapshot(), taken before the page was read; the page is
  /// latched, or its optimistic read is validated after this call.
  Visible Lookup(const Txn& txn, TreeId tree, std::string_view key, std::string* old);

  /// Prefetches what the checks of a coming write will read, and returns the key's hash.
  uint64_t PrepareWrite(TreeId tree, std::string_view key) const {
    const uint64_t hash = VersionTable::HashOf(tree, key);
    table_.Prefetch(hash);
    return hash;
  }
  /// REQUIRES: the key's leaf is latched exclusively; `page_last_writer` is its mark. Takes the
  /// snapshot of `txn` if it has none. Moves it if that resolves a conflict and the transaction has
  /// read nothing.
  WriteCheck CheckWrite(Txn& txn, TreeId tree, std::string_view key, TxnId page_last_writer) {
    return CheckWrite(txn, PrepareWrite(tree, key), tree, key, page_last_writer);
  }
  /// As above, with the `hash` of PrepareWrite.
  WriteCheck CheckWrite(Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                        TxnId page_last_writer);

  /// Links the entry of a write that `check` has allowed. REQUIRES: the leaf has stayed latched
  /// since CheckWrite; the page is not changed yet; same tree and key.
  /// True: the store now owns `old` and frees its overflow chain through GcClient. False: `txn` had
  /// written the key before, so `old` was its own and the caller frees its overflow chain. For
  /// kLock the result has no meaning. Throws std::bad_alloc; then nothing has changed except that
  /// `txn` may have its id.
  bool Install(Txn& txn, const WriteCheck& check, TreeId tree, std::string_view key,
               const OldVersion& old, Change change);

  /// Waits until `owner` has finished. Aborted: the wait would be a deadlock, would be of the
  /// calling actor for itself, or has reached `deadline` (see WaitDeadline). REQUIRES: no latches
  /// held.
  absl::Status WaitFor(Txn& txn, const WriterRef& owner, Nanos deadline = kForever);
  /// Sets how long one call may wait for other transactions. REQUIRES: no call has waited yet.
  void SetLockWait(Nanos lock_wait) { lock_wait_ = lock_wait; }
  /// The time at which a call that begins to wait now gives up.
  Nanos WaitDeadline() const {
    return lock_wait_ == kForever ? kForever : runtime_.Now() + lock_wait_;
  }
  /// Notes that `actor` (of Runtime::ActorIndex) uses `txn`.
  static void NoteUser(Txn& txn, uint32_t actor) {
    if (txn.record_ != nullptr) txn.record_->user.store(actor, std::memory_order_relaxed);
  }

  /// Makes the writes of `txn` visible to later snapshots and ends it. Collects nothing: after a
  /// commit, the same actor calls CollectAfter. REQUIRES: no latches held.
  ///
  /// A serializable transaction that has written is refused with Aborted if a commit after its
  /// snapshot changed anything it has read, or if its snapshot has expired. Then nothing has
  /// happened, and the caller rolls back.
  ///
  /// `at_commit(ts)` runs when nothing can refuse the commit any more and before another actor sees
  /// it, in the critical section that fixes the commit order: a few instructions, no waiting. It
  /// does not run if the transaction wrote nothing. If it returns false, nothing has happened:
  /// outside the critical section `before_retry()` waits for what it lacked, and it runs again.
  absl::StatusOr<Committed> TryCommit(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                      absl::FunctionRef<void()> before_retry);
  /// Collects a bounded amount of garbage: what `commit` leaves, and a share of what others left.
  /// May read and write pages, log, and spill versions. Call it once for every commit, after the
  /// commit is acknowledged: the sync of the log need not wait for it. REQUIRES: no latches held.
  void CollectAfter(const Committed& commit);
  /// TryCommit and CollectAfter: for a store without a log. Returns the commit's timestamp.
  absl::StatusOr<CommitTs> CommitAndCollect(Txn& txn, absl::FunctionRef<void(CommitTs)> at_commit);
  /// The same. REQUIRES: not serializable.
  CommitTs Commit(Txn& txn);

  /// Notes for a serializable `txn` that it has read `key` or found it missing. Other transactions
  /// note nothing.
  void NoteRead(Txn& txn, TreeId tree, std::string_view key) {
    if (ReadSet* reads = txn.reads()) {
      reads->AddKey(tree, VersionTable::HashOf(tree, key));
      AccountReads(txn);
    }
  }
  /// Call it after `txn.reads()` has grown. A read set beyond its share of the bound is coarsened.
  void AccountReads(Txn& txn) {
    if (txn.reads()->bytes() > txn.charged_read_bytes_) ChargeReads(txn);
  }

  /// A point in `txn` to which RollbackTo can return; unique in this store. `as_of`: the newest log
  /// record of `txn`; the Undo steps carry it.
  uint64_t SetSavepoint(Txn& txn, Lsn as_of = Lsn{0});
  /// Undoes the writes of `txn` since the savepoint. Calls `restore` as Rollback does, for each
  /// changed key once per savepoint, newest first. Locks stay held, reads stay noted, and the
  /// savepoint stays; later ones are gone. InvalidArgument: not a savepoint of `txn`, or gone.
  /// Every other error comes from `restore`; then only Rollback is possible. REQUIRES: no latches
  /// held.
  absl::Status RollbackTo(Txn& txn, uint64_t savepoint,
                          absl::FunctionRef<absl::Status(const Undo&)> restore);

  /// Hands over the overflow chains that only a savepoint of `txn` still needs; Rollback then does
  /// not free them. For a log, inside the `end` of Rollback.
  void TakeSavedChains(Txn& txn, absl::FunctionRef<void(std::string_view)> take);

  /// Sets the memory that old versions, undo and read sets may take, bytes; 0 = no bound. Above it
  /// the oldest snapshot expires, as long as that helps.
  void SetBound(uint64_t bytes) {
    bound_.store(bytes, std::memory_order_relaxed);
    if (spill_ != nullptr) spill_->SetFilterBytes(bytes / 2);
  }
  /// Gives the store `most_bytes` of `device`, which no other part may use. What exceeds the bound
  /// is spilled there, and snapshots expire only when the device is full or has failed. Filters of
  /// the spilled versions take memory in addition to the bound, usually less than half of it.
  /// REQUIRES: no other call has been made.
  void SetSpill(std::unique_ptr<BlockDevice> device, uint64_t most_bytes) {
    spill_ = std::make_unique<VersionSpill>(runtime_, std::move(device), most_bytes);
  }
  /// Call it before each write, with no latches held. Aborted: the undo of all running transactions
  /// leaves no room for that of `txn`, which is at most half of the bound; the caller rolls back,
  /// and may run the transaction again. ResourceExhausted: the undo of `txn` alone exceeds the
  /// bound, or is more than half of it and finds no room; the transaction may go on reading, commit
  /// or roll back.
  absl::Status AdmitWrite(Txn& txn) {
    if (txn.record_ == nullptr || OwnUndoBytes(txn) <= txn.admitted_bytes_) {
      return absl::OkStatus();
    }
    return AdmitGrowth(txn);
  }

  /// Calls `restore` for every changed key, newest first, and ends `txn`. `restore` latches the
  /// page, puts the old state back, and frees an overflow chain that `txn` wrote. If a `restore`
  /// fails, the others still run, and the first error is returned. Keys that were not restored stay
  /// readable at their old value and refuse writes with Unavailable. REQUIRES: no latches held.
  absl::Status Rollback(Txn& txn, absl::FunctionRef<absl::Status(const Undo&)> restore) {
    return Rollback(txn, restore, [](bool) { return true; }).error;
  }
  /// As above. `end(all_restored)` runs after the last `restore` and before the first key is
  /// unlocked. If it returns false, all keys of `txn` stay locked, as if none had been restored:
  /// for a log that will undo the transaction once more.
  RollbackResult Rollback(Txn& txn, absl::FunctionRef<absl::Status(const Undo&)> restore,
                          absl::FunctionRef<bool(bool)> end);

  /// Gives `txn` its id now instead of at its first Install: for a log that needs the id earlier.
  void EnsureWriter(Txn& txn) {
    if (txn.record_ == nullptr) BecomeWriter(txn);
  }

  /// Whether the key is locked, or a reader may need an older state of it than the page's. The
  /// answer holds for as long as the key's leaf stays latched exclusively.
  bool HasVersions(TreeId tree, std::string_view key);

  /// Collects everything that no running snapshot needs. REQUIRES: no latches held.
  void CollectAll();

  VersionStoreStats stats() const;
  /// All memory of the store, bytes.
  size_t bytes() const {
    return pool_.reserved_bytes() + settled_.bytes() + table_.bytes() +
           (spill_ == nullptr ? 0 : spill_->bytes());
  }

 private:
  struct alignas(64) Counters {
    std::atomic<int64_t> versions{0};
    std::atomic<uint64_t> commits{0}, rollbacks{0}, conflicts{0}, deadlocks{0}, waits{0};
    std::atomic<uint64_t> expired{0}, refused{0};
  };
  static constexpr uint32_t kStripes = FinishedQueues::kQueues;

  Counters& counters() { return counters_[runtime_.ActorIndex() % kStripes]; }
  WriteCheck Refuse(absl::Status status);
  WriteCheck Judge(Txn& txn, uint64_t hash, TreeId tree, std::string_view key);
  WriteCheck JudgeSettled(Txn& txn, CommitTs newest, uint64_t hash, TreeId tree,
                          std::string_view key);
  bool LookupSettled(const Txn& txn, const VersionTable::Unseen& walk, uint64_t hash, TreeId tree,
                     std::string_view key, std::string* old, std::optional<RecordState>* state);
  bool HasSpilled() const { return spill_ != nullptr && !spill_->empty(); }
  /// Whether versions above `ts` may have settled, or be spilled.
  bool HasSettledAfter(CommitTs ts) const { return !settled_.empty() && settled_.newest() > ts; }
  bool HasSpilledAfter(CommitTs ts) const { return spill_ != nullptr && spill_->newest() > ts; }
  bool HasSpilledUndo() const { return spill_ != nullptr && spill_->has_undo(); }
  WriteCheck JudgeCommitted(Txn& txn, CommitTs ts, std::string_view key);
  void BecomeWriter(Txn& txn);
  void AddEntry(WriteRecord& record, uint64_t hash, TreeId tree, std::string_view key,
                const OldVersion& old, Change change);
  bool UpdateOwnEntry(Txn& txn, VersionEntry& entry, const OldVersion& old, Change change);
  void ReportEntries(WriteRecord& record);
  uint64_t CountVersions() const;
  void EndReader(Txn& txn, uint32_t queue);
  void EndWriter(Txn& txn, CommitTs ts, uint32_t queue);
  CommitTs Stamp(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                 absl::FunctionRef<void()> before_retry);
  absl::StatusOr<CommitTs> ValidateAndStamp(Txn& txn, absl::FunctionRef<bool(CommitTs)> at_commit,
                                            absl::FunctionRef<void()> before_retry);
  /// Whether no commit in (from, upto] changed a key of `reads`. `newest`: the record of the commit
  /// `upto`.
  static bool AreCurrent(const ReadSet& reads, WriteRecord* newest, CommitTs upto, CommitTs from);
  void LinkCommit(WriteRecord& record);
  void FreeSavedChains(const SavepointLog* savepoints);
  void ChargeReads(Txn& txn);
  void ReleaseReads(Txn& txn);
  static uint64_t OwnUndoBytes(const Txn& txn) {
    return txn.record_->arena.bytes() + (txn.savepoints_ == nullptr ? 0 : txn.savepoints_->bytes());
  }
  uint64_t BoundedBytes() const {
    return pool_.used_bytes() + settled_.bytes() + read_set_bytes_.load(std::memory_order_relaxed);
  }
  absl::Status AdmitGrowth(Txn& txn);
  void Reclaim();
  absl::Status RestoreEntries(WriteRecord& record,
                              absl::FunctionRef<absl::Status(const Undo&)> restore);
  void ReleaseRestored(WriteRecord& record);
  void EndRolledBack(Txn& txn, WriteRecord& record, bool is_over);
  void CollectFrom(uint32_t queue, uint64_t budget);
  uint64_t CollectRecord(WriteRecord& record, uint64_t budget, uint64_t* unlinked);
  bool CollectEntry(VersionEntry& entry);
  void SettleBehind(uint32_t queue);
  void SettleFrom(uint32_t queue, uint64_t leave, const LiveSnapshots& live, Chores* chores);
  void SettleRecord(WriteRecord& record, const LiveSnapshots& live, Chores* chores,
                    absl::FunctionRef<void()> before_each);
  void SweepSome();
  bool SettleAndSweepAll(bool thaw);
  bool SpillSettled();
  absl::Status SpillUndo(Txn& txn);
  void DropSpilled();
  absl::Status RestoreSpilled(WriteRecord& record,
                              absl::FunctionRef<absl::Status(const Undo&)> restore);
  void ReleaseSpilled(WriteRecord& record);
  bool CanSpill() const { return spill_ != nullptr && spill_->usable(); }
  void Do(const Chores& chores);

  Runtime& runtime_;
  SnapshotManager& snapshots_;
  GcClient& gc_client_;
  VersionTable table_;
  RecordPool pool_;
  Nanos lock_wait_ = kForever;
  FinishedQueues finished_;
  SettledVersions settled_;
  std::unique_ptr<VersionSpill> spill_;  // nullptr = no device
  WaitGraph wait_graph_;
  WriteRecord* latest_commit_ = nullptr;  // written in the critical section of commits
  std::atomic<uint64_t> bound_{0};
  std::atomic<uint64_t> next_savepoint_{1};
  std::atomic<uint64_t> read_set_bytes_{0};
  std::atomic<bool> reclaiming_{false};
  std::atomic<bool> spilling_{false};
  std::atomic<uint32_t> next_sweep_{0};
  Counters counters_[kStripes];
};

}  // namespace latchkey
