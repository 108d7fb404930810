// Undo: rolls back the changes of transactions without an end, newest first. It works through the
// trees, because the records may have moved to other pages since. Every step logs a compensation
// record; a kEnd ends a transaction's undo.
//
// Each change is undone only once, since the log may hold only the difference of two values: a
// compensation, of a rollback at run time or of an undo that was cut short, says from which LSN on
// the changes of its record are undone (UndoneChanges).
//
// Undo frees the pages that these transactions have allocated before it undoes any change. The crash
// may have cost the store the allocation of some of them. The store hands such an id out again when
// undo splits a page. Recovery must not free that page because of the old kAllocation, neither in this
// open nor in one after another crash. So undo logs a kFree of every such id before it splits a page.
// A leaf may name a freed chain until undo has taken back the change that put it there.
//
// Thread-safety: one actor, while no other actor changes anything.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/btree/node.h"
#include "engine/log/engine_log.h"
#include "engine/log/log_analysis.h"
#include "engine/log/log_record.h"
#include "engine/tree_impl.h"

namespace latchkey {

/// The changes of one transaction that are already undone, read from its newest record to its
/// oldest.
class UndoneChanges {
 public:
  void AddCompensation(Lsn lsn, const RecordChange& compensation);
  /// Whether a compensation at or above `lsn` has undone the change there.
  bool Contain(Lsn lsn, const RecordChange& change) const;

 private:
  // Changes at and above this LSN are undone.
  std::map<std::pair<uint32_t, std::string>, Lsn> from_;
};

class UndoPass {
 public:
  /// `find_tree` returns the tree of an id; nullptr = it is gone, and its changes with it.
  UndoPass(BufferPool& pool, EngineLog& log, const LogAnalysis& analysis,
           std::function<TreeImpl*(TreeId)> find_tree)
      : pool_(pool), log_(log), analysis_(analysis), find_tree_(std::move(find_tree)) {}

  absl::Status Run();
  uint64_t undone() const { return undone_; }  ///< changes

 private:
  struct Loser {
    std::unique_ptr<LogTxn> txn;
    Lsn next{0};  // next record to undo; 0 = nothing is left
    UndoneChanges undone;
  };

  /// Sets record_ to the record at `lsn`. DataLoss: it is none of `loser`.
  absl::Status ReadRecord(const Loser& loser, Lsn lsn);
  /// Undoes the record at `loser.next` and moves `next` on.
  absl::Status Step(Loser& loser);
  absl::Status UndoChange(Loser& loser, Lsn lsn);
  absl::Status StateBefore(Lsn lsn, const LatchedNodeView& leaf, SlotPosition position);
  /// Frees the pages of the kAllocation at `lsn`, except those that a later record frees. Logs the
  /// free of every one of them, also if the store does not know it as allocated.
  absl::Status FreeAllocation(Loser& loser, Lsn lsn);

  BufferPool& pool_;
  EngineLog& log_;
  const LogAnalysis& analysis_;
  const std::function<TreeImpl*(TreeId)> find_tree_;
  std::vector<std::byte> bytes_;
  LogRecord record_;   // views into bytes_
  std::string value_;  // the record's value before the change that is being undone
  uint64_t undone_ = 0;
};

}  // namespace latchkey
