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
                               TxnId page_last_writer, bool has_record) {
  LATCHKEY_CHECK(txn.active());
  WaitGraph::Returned(txn);
  // If this transaction has an entry, the mark is at or above its id, which is above its bound.
  WriteCheck check;
  if (!snapshots_.ForWriting(txn).SeesAllOf(page_last_writer)) {
    check = Judge(txn, hash, tree, key, has_record);
  }
  check.hash = hash;
  return check;
}

WriteCheck WriteChecker::Judge(Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                               bool has_record) {
  CommitTs newest = 0;
  WriteCheck check = FindWriter(txn, hash, tree, key, &newest);
  if (check.verdict == WriteCheck::Verdict::kRefused) return check;
  // A record in a gap came after the snapshot, although it may have left no version. A deleted one has.
  if (has_record && check.own_entry == nullptr && check.verdict == WriteCheck::Verdict::kGo &&
      gaps_.IsEmptyFor(txn.snapshot_.read_ts, tree, key) &&
      !LATCHKEY_CANARY("gap-hides-a-conflict")) {
    newest = std::max(newest, snapshots_.clock());
  }
  // Looked at after the search: a version that was dropped because the snapshot had expired was dropped
  // later than that.
  const bool expired = SnapshotManager::Expired(txn);
  const bool conflicts =
      newest > txn.snapshot_.read_ts && !LATCHKEY_CANARY("write-conflict-unnoticed");
  if (!expired && !conflicts) return check;
  if (txn.has_read_) return Refuse(expired ? SnapshotTooOld() : ConflictError(key));
  snapshots_.RenewSnapshot(txn, newest);
  return check;
}

// The unfinished writer of the key, if there is one; otherwise *newest, the newest commit of the key
// that is known. 0 = none.
WriteCheck WriteChecker::FindWriter(const Txn& txn, uint64_t hash, TreeId tree,
                                    std::string_view key, CommitTs* newest) {
  const VersionTable::Newest found = table_.FindNewest(hash, tree, key);
  WriteCheck check;
  if (found.entry == nullptr) return FindSettled(txn, hash, tree, key, newest);
  if (found.writer.record == txn.record_) {
    check.own_entry = found.entry;
  } else if (found.outcome == WriteRecord::kRunning) {
    check.verdict = WriteCheck::Verdict::kWait;
    check.owner = found.writer;
  } else if (found.outcome == WriteRecord::kUndoFailed) {
    return Refuse(UndoFailedError(key));
  } else {
    *newest = found.outcome;
    return FindSettled(txn, hash, tree, key, newest);
  }
  return check;
}

// As FindWriter, among the settled and the spilled versions. *newest: from the entries.
WriteCheck WriteChecker::FindSettled(const Txn& txn, uint64_t hash, TreeId tree,
                                     std::string_view key, CommitTs* newest) {
  const CommitTs read_ts = txn.snapshot_.read_ts;
  if (*newest == 0 && settled_.HasAfter(read_ts)) *newest = settled_.NewestOf(hash, tree, key);
  WriteCheck check;
  if (!spiller_.HasAfter(read_ts)) return check;
  const VersionSpill::Newest spilled = spiller_.NewestOf(txn.record_, hash, read_ts);
  if (spilled.undo_failed) return Refuse(UndoFailedError(key));
  if (spilled.running.record != nullptr) {
    check.verdict = WriteCheck::Verdict::kWait;
    check.owner = spilled.running;
  } else {
    *newest = std::max(*newest, spilled.ts);
  }
  return check;
}

WriteCheck WriteChecker::Refuse(absl::Status status) {
  counters_.Here().conflicts.fetch_add(1, std::memory_order_relaxed);
  WriteCheck check;
  check.verdict = WriteCheck::Verdict::kRefused;
  check.refusal = std::move(status);
  return check;
}

}  // namespace latchkey
