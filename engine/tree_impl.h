// The object that Tree handles point at. It outlives its tree: the database keeps it, marked as
// dropped, until it closes, so that calls can refuse handles to the tree by name.
//
// A tree may be dropped while actors hold handles to it and write through them. Neither side waits:
//
//   a writer   1. lists the tree (SnapshotManager::ListTree, or CountWriter)   2. is_dropped()?
//   DropTree   1. BeginDrop()   2. is the tree listed, or its writers counted?   3. frees the pages
//
// Steps 1 and 2 of both are sequentially consistent, so at least one of the two sees the other and
// gives up. A reader lists nothing: it checks is_dropped() after its read. Short work on the tree's pages
// holds the tree (TreeHold): DropTree waits for it.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/btree/tree.h"
#include "storage/base/ids.h"
#include "storage/base/status_macros.h"

namespace latchkey {

class TreeImpl {
 public:
  TreeImpl(TreeId tree_id, std::string tree_name, BufferPool& pool, PageId root,
           TreeLog* log = nullptr)
      : id(tree_id), btree(pool, root, log) {
    Rename(std::make_unique<const std::string>(std::move(tree_name)));
  }

  const TreeId id;
  BTree btree;

  /// The name of now. The view stays valid as long as the TreeImpl.
  std::string_view name() const { return *name_.load(std::memory_order_acquire); }
  /// Takes the memory for one Rename.
  void ReserveName() { names_.reserve(names_.size() + 1); }
  /// REQUIRES: one actor at a time; ReserveName.
  void Rename(std::unique_ptr<const std::string> name) {
    names_.push_back(std::move(name));
    name_.store(names_.back().get(), std::memory_order_release);
  }

  /// Whether the tree is dropped, or DropTree may be about to drop it.
  bool is_dropped() const { return dropped_.load(std::memory_order_seq_cst); }
  /// The error of calls that use a dropped tree.
  absl::Status Dropped() const {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the tree \"{}\" is dropped: open it again to make a new one", name());
  }
  /// Marks the tree. False: another actor has marked it already.
  bool BeginDrop() { return !dropped_.exchange(true, std::memory_order_seq_cst); }
  /// Takes the mark back: the tree was not dropped.
  void CancelDrop() { dropped_.store(false, std::memory_order_seq_cst); }

  /// Adds `by` to the number of running transactions that write in the tree and do not list it.
  void CountWriter(int by) { unlisted_writers_.fetch_add(by, std::memory_order_seq_cst); }
  bool has_unlisted_writers() const { return unlisted_writers_.load() != 0; }

  /// Adds `by` to the number of holders: see TreeHold.
  void CountHolder(int by) { holders_.fetch_add(by, std::memory_order_seq_cst); }
  bool is_held() const { return holders_.load(std::memory_order_seq_cst) != 0; }

 private:
  std::atomic<const std::string*> name_{nullptr};
  std::vector<std::unique_ptr<const std::string>> names_;  // all it had: a caller may view one
  std::atomic<bool> dropped_{false};
  std::atomic<int> unlisted_writers_{0};
  std::atomic<int> holders_{0};
};

/// DropTree waits while it lives, so it is for short work. Ask is_dropped() after its construction: a
/// tree that is not dropped then stays until the hold ends.
class [[nodiscard]] TreeHold {
 public:
  explicit TreeHold(TreeImpl& tree) : tree_(tree) { tree_.CountHolder(1); }
  ~TreeHold() { tree_.CountHolder(-1); }
  TreeHold(const TreeHold&) = delete;
  TreeHold& operator=(const TreeHold&) = delete;

 private:
  TreeImpl& tree_;
};

}  // namespace latchkey
