// What one pass over the log tells recovery: which transactions lost, which pages and overflow
// chains are nobody's, which drops were cut short.
//
// Thread-safety: none; const members from every actor once everything has been added.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/log/log_record.h"
#include "storage/base/ids.h"

namespace latchkey {

class LogAnalysis {
 public:
  /// `redo`: where redo begins.
  explicit LogAnalysis(Lsn redo = Lsn{0}) : redo_(redo) {}

  /// A transaction without an end, and its newest record.
  struct Loser {
    TxnId id{0};
    Lsn first{0}, last{0};
  };
  /// The drop of a tree that was begun and has no end: pages freed after `first` are gone already.
  struct Drop {
    TxnId id{0};
    Lsn first{0}, last{0};  ///< its records
    TreeId tree{0};
    PageId root = kInvalidPageId;
  };

  /// Takes the next record of the log, in order from the oldest that recovery needs.
  void Add(Lsn lsn, const LogRecord& record);

  /// The newest first.
  std::vector<Loser> Losers() const;
  std::vector<Drop> UnfinishedDrops() const;
  /// Chains that committed transactions replaced and nobody has freed: their readers are gone.
  std::vector<OverflowChain> UnneededChains() const;
  /// Freed and not used again since, ascending: the store may still hold them.
  std::vector<PageId> FreePages() const;
  /// Records that left a ghost: its purge was lost with the version store.
  const std::vector<Lsn>& ghosts() const { return ghosts_; }
  /// Above every id seen.
  TxnId next_txn() const { return TxnId{next_txn_}; }
  uint32_t next_tree() const { return next_tree_; }
  uint64_t records() const { return records_; }
  /// At least as many as the pages that came into use.
  uint64_t page_images() const { return page_images_; }

  /// Whether from where redo begins on an image of every page comes before its changes: so any of
  /// them may be torn on the device.
  bool all_have_images() const { return all_have_images_; }

  /// Whether a record behind `lsn` frees `page`: a change at `lsn` is not redone, an allocation not
  /// undone.
  bool IsFreedAfter(PageId page, Lsn lsn) const {
    const auto it = freed_.find(Raw(page));
    return it != freed_.end() && Raw(it->second.lsn) > Raw(lsn);
  }

 private:
  struct Freed {
    Lsn lsn{0};  // the newest free
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
    std::vector<Replaced> replaced;
  };

  void AddChange(Lsn lsn, const LogRecord& record);
  void NoteUse(PageId page);
  void NoteImages(const LogRecord& record);
  void NoteChanged(PageId page);

  const Lsn redo_;
  // Of the standard library, which keeps its shape when an insertion finds no memory.
  std::unordered_map<uint64_t, Active> active_;
  std::unordered_map<uint64_t, Freed> freed_;
  std::vector<Replaced> replaced_;
  std::vector<Lsn> ghosts_;
  uint64_t next_txn_ = 1;
  uint32_t next_tree_ = 1;
  uint64_t records_ = 0;
  uint64_t page_images_ = 0;
  bool all_have_images_ = true;
  std::unordered_set<uint64_t> with_image_;  // since redo_; while all_have_images_
};

}  // namespace latchkey
