// LogAnalysis: the result of recovery's one pass over the log. It names the losers (transactions
// without kCommit or kEnd), the pages and overflow chains without an owner, and the drops of trees
// that a crash cut short.
//
// Thread-safety: none while records are added. Afterwards every actor may call const members at
// once.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/log/log_record.h"
#include "storage/base/ids.h"

namespace latchkey {

class LogAnalysis {
 public:
  /// `redo`: the LSN at which redo begins. `first`: the oldest LSN that recovery needs.
  explicit LogAnalysis(Lsn redo = Lsn{0}, Lsn first = Lsn{0}) : redo_(redo), first_(first) {}

  /// A transaction without an end, and its newest record.
  struct Loser {
    TxnId id{0};
    Lsn first{0}, last{0};
    std::vector<Lsn> allocations;  ///< its kAllocation records, oldest first
  };
  /// A drop of a tree without an end. Pages freed after `first` are already gone.
  struct Drop {
    TxnId id{0};
    Lsn first{0}, last{0};  ///< its records
    TreeId tree{0};
    PageId root = kInvalidPageId;
  };

  /// A range delete that is committed and has no end.
  struct RangeDelete {
    TxnId id{0};
    Lsn first{0}, last{0};  ///< its records
    TreeId tree{0};
    std::optional<std::string> from, to;
    /// Roots of subtrees that it has taken out of the tree, each with the record that did. Their
    /// pages freed after that record are already gone.
    std::vector<std::pair<PageId, Lsn>> detached;
  };

  /// Adds the next record of the log, in order from `first`.
  void Add(Lsn lsn, const LogRecord& record);

  /// Newest first.
  std::vector<Loser> Losers() const;
  std::vector<Drop> UnfinishedDrops() const;
  std::vector<RangeDelete> UnfinishedRangeDeletes() const;  ///< oldest first
  /// Chains that committed transactions replaced and no record has freed. Their readers are gone.
  std::vector<OverflowChain> UnneededChains() const;
  /// Pages freed and not used again, ascending. The store may still hold them.
  std::vector<PageId> FreePages() const;
  /// Records that left a ghost. Its purge was lost with the version store.
  const std::vector<Lsn>& ghosts() const { return ghosts_; }
  /// Above every transaction id in the log.
  TxnId next_txn() const { return TxnId{next_txn_}; }
  uint32_t next_tree() const { return next_tree_; }
  uint64_t records() const { return records_; }
  /// At least the number of pages that came into use.
  uint64_t pages_used() const { return pages_used_; }

  /// Whether, from the beginning of redo on, an image of every page precedes its changes. If so,
  /// any of these pages may be torn on the device.
  bool all_have_images() const { return all_have_images_; }

  /// Whether a record behind `lsn` frees `page`. If so, a change at `lsn` is not redone and an
  /// allocation is not undone.
  bool IsFreedAfter(PageId page, Lsn lsn) const {
    const auto it = freed_.find(Raw(page));
    return it != freed_.end() && Raw(it->second.lsn) > Raw(lsn);
  }

 private:
  struct Freed {
    Lsn lsn{0};  // LSN of the newest free
    bool used_since = false;
  };
  struct Replaced {
    OverflowChain chain;
    Lsn since{0};
  };
  struct Active {
    Lsn first{0}, last{0};
    bool is_drop = false;
    Drop drop;
    bool is_range = false;
    RangeDelete range;
    std::vector<Replaced> replaced;
    std::vector<Lsn> allocations;
  };

  void AddChange(Lsn lsn, const LogRecord& record);
  void NoteUse(PageId page);
  void NoteImages(const LogRecord& record);
  void NoteChanged(PageId page);

  const Lsn redo_, first_;
  // From the standard library: it stays intact if an insertion finds no memory.
  std::unordered_map<uint64_t, Active> active_;
  std::unordered_map<uint64_t, Freed> freed_;
  std::vector<Replaced> replaced_;
  std::vector<Lsn> ghosts_;
  uint64_t next_txn_ = 1;
  uint32_t next_tree_ = 1;
  uint64_t records_ = 0;
  uint64_t pages_used_ = 0;
  bool all_have_images_ = true;
  std::unordered_set<uint64_t> with_image_;  // since redo_; while all_have_images_
};

}  // namespace latchkey
