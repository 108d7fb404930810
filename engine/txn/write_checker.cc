#include "engine/txn/write_checker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/txn/wait_graph.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

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

}  // namespace

WriteCheck WriteChecker::Check(Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
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

WriteCheck WriteChecker::Judge(Txn& txn, uint64_t hash, TreeId tree, std::string_view key) {
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
WriteCheck WriteChecker::JudgeSettled(Txn& txn, CommitTs newest, uint64_t hash, TreeId tree,
                                      std::string_view key) {
  const CommitTs read_ts = txn.snapshot_.read_ts;
  if (newest == 0 && settled_.HasAfter(read_ts)) {
    newest = settled_.NewestOf(hash, tree, key);
  }
  if (spiller_.HasAfter(read_ts)) {
    const VersionSpill::Newest spilled = spiller_.NewestOf(txn.record_, hash, read_ts);
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

WriteCheck WriteChecker::JudgeCommitted(Txn& txn, CommitTs ts, std::string_view key) {
  if (ts <= txn.snapshot_.read_ts || LATCHKEY_CANARY("write-conflict-unnoticed")) return {};
  if (txn.has_read_) return Refuse(ConflictError(key));
  snapshots_.RenewSnapshot(txn, ts);
  return {};
}

WriteCheck WriteChecker::Refuse(absl::Status status) {
  counters_.Here().conflicts.fetch_add(1, std::memory_order_relaxed);
  WriteCheck check;
  check.verdict = WriteCheck::Verdict::kRefused;
  check.refusal = std::move(status);
  return check;
}

}  // namespace latchkey
