// Undo: takes back what transactions without an end have logged, newest first, through the trees,
// because the records may have moved to other pages since. Every step logs a compensation record;
// the end of a transaction's undo is its kEnd. An undo that was cut short may take back the same
// change again: the record then gets the same old state once more.
//
// Thread-safety: one actor, while nobody else changes anything.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/log/engine_log.h"
#include "engine/log/log_analysis.h"
#include "engine/log/log_record.h"
#include "engine/tree_impl.h"

namespace latchkey {

class UndoPass {
 public:
  /// `find_tree` tells the tree of an id; nullptr: it is gone, and its changes with it.
  UndoPass(BufferPool& pool, EngineLog& log, const LogAnalysis& analysis,
           std::function<TreeImpl*(TreeId)> find_tree)
      : pool_(pool), log_(log), analysis_(analysis), find_tree_(std::move(find_tree)) {}

  absl::Status Run();
  uint64_t undone() const { return undone_; }  ///< changes

 private:
  struct Loser {
    std::unique_ptr<LogTxn> txn;
    Lsn next{0};  // to be undone; 0: nothing is left
  };

  /// Undoes the record at `loser.next` and moves `next` on.
  absl::Status Step(Loser& loser);
  absl::Status UndoChange(Loser& loser);
  absl::Status UndoAllocation(Loser& loser, Lsn lsn);

  BufferPool& pool_;
  EngineLog& log_;
  const LogAnalysis& analysis_;
  const std::function<TreeImpl*(TreeId)> find_tree_;
  std::vector<std::byte> bytes_;
  LogRecord record_;  // views into bytes_
  uint64_t undone_ = 0;
};

}  // namespace latchkey
