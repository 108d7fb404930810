// Recovery: turns what a crash left into a state that holds exactly the committed transactions: a
// prefix of the commit order that includes everything acknowledged.
//
//   Analyze    reads the log from the oldest record needed to its end, and so proves it readable
//              before anything is written
//   Redo       repeats history on the pages, from the last checkpoint on
//   Undo       rolls back the transactions without an end, finishes drops of trees and range
//              deletes, frees overflow
//              chains whose readers are gone, purges ghosts
//
// A crash at any point of it leaves a database that recovers again. Afterwards the caller takes a
// checkpoint with the same code as at run time.
//
// Thread-safety: one actor, while no other actor changes anything.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "engine/latchkey.h"
#include "engine/log/client_root.h"
#include "engine/log/engine_log.h"
#include "engine/log/log_analysis.h"
#include "engine/overflow.h"
#include "engine/tree_impl.h"
#include "storage/base/log_sink.h"
#include "storage/wal/log.h"

namespace latchkey {

class Recovery {
 public:
  /// The parts of the database that Undo needs. By then the catalogue is open.
  class Client {
   public:
    virtual ~Client() = default;
    virtual TreeImpl* FindTree(TreeId tree) = 0;
    /// Finishes a drop that the log began: frees the rest of the tree's pages and chains, and
    /// removes its entry from the catalogue.
    virtual absl::Status FinishDrop(const LogAnalysis& analysis, const LogAnalysis::Drop& drop) = 0;
    /// Finishes a range delete that is committed: removes what is left of the range.
    virtual absl::Status FinishRangeDelete(const LogAnalysis& analysis,
                                           const LogAnalysis::RangeDelete& range_delete) = 0;
    /// As GcClient::PurgeGhost.
    virtual void PurgeGhost(TreeId tree, std::string_view key, CommitTs unneeded_until) = 0;
  };

  /// `log_reach`: PageStore::log_reach() when the store was opened.
  Recovery(Log& log, const ClientRoot& root, Lsn log_reach, LogSink log_sink)
      : log_(log),
        root_(root),
        log_reach_(std::max(root.end, log_reach)),
        log_sink_(std::move(log_sink)),
        analysis_(root.redo, root.first_needed) {}

  /// DataLoss: the log is damaged, or ends before a point that it is known to have reached.
  absl::Status Analyze();
  /// Whether anything happened after the last checkpoint.
  bool is_needed() const { return analysis_.records() > checkpoint_records_; }
  const LogAnalysis& analysis() const { return analysis_; }
  /// Reports how much there was to read, redo and undo. REQUIRES: Undo.
  void Describe(Statistics::Recovery* to) const;

  /// REQUIRES: Analyze; the pool knows the log.
  absl::Status Redo(BufferPool& pool);
  /// REQUIRES: Redo; the log is being written.
  absl::Status Undo(BufferPool& pool, EngineLog& engine_log, OverflowStore& overflow,
                    Client& client);

 private:
  absl::Status FreeChains(OverflowStore& overflow);
  absl::Status PurgeGhosts(Client& client);

  Log& log_;
  const ClientRoot root_;
  const Lsn log_reach_;
  const LogSink log_sink_;
  LogAnalysis analysis_;
  uint64_t checkpoint_records_ = 0;
  uint64_t read_to_ = 0;  // LSN
  uint64_t redone_ = 0, undone_ = 0, repaired_ = 0;
};

}  // namespace latchkey
