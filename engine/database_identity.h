// DatabaseIdentity: the open database that a handle belongs to, and whether calls may still use it.
//
// Every open of a database gets a number that is unique in the process. A Tree carries the number
// of its database and a pointer to a TreeImpl. The pointer may be followed only after Owns() has
// found that the number is this database's own. Then the TreeImpl exists, because a database keeps
// its TreeImpls until it closes, those of dropped trees included. One comparison refuses all of
//   - an empty handle, and a handle of another database or of an earlier open
//   - a closed database (NoteClosed)
//   - a database that the parent of this process opened (OnForkInChild)
//
//   open ──NoteClosed──> closed
//     └───OnForkInChild──> foreign
//
// Thread-safety: every actor may call every member at once.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>

#include "engine/latchkey.h"
#include "engine/tree_impl.h"
#include "storage/runtime/fork_observer.h"

namespace latchkey {

class DatabaseIdentity final : public ForkObserver {
 public:
  DatabaseIdentity();
  ~DatabaseIdentity() override { Unwatch(); }

  /// The number that handles of this database carry; never 0.
  uint64_t number() const { return number_; }
  /// Whether `number` is that of this database, and the database is open in this process.
  bool Owns(uint64_t number) const { return word_.load(std::memory_order_relaxed) == number; }
  /// Whether this process is a child of the one that opened the database.
  bool IsForeign() const { return Owns(kForeign); }
  /// From now on calls return "closed". After this the database's trees may be destroyed.
  void NoteClosed();
  /// FailedPrecondition if the database is closed or was opened by another process.
  absl::Status CheckOpen() const { return Owns(number_) ? absl::OkStatus() : NotOpen(); }

  /// A handle to `tree`. REQUIRES: `tree` is of this database.
  Tree HandleOf(TreeImpl& tree) const { return Tree(&tree, number_); }
  /// Whether calls may use `tree`. If not, Refuse() gives the reason.
  bool CanUse(Tree tree) const { return Owns(tree.database_) && !tree.impl_->is_dropped(); }
  /// REQUIRES: CanUse(tree).
  static TreeImpl& ImplOf(Tree tree) { return *tree.impl_; }
  /// The reason why `tree` cannot be used here. InvalidArgument: the handle is empty.
  /// FailedPrecondition: all other reasons; the message names the tree.
  absl::Status Refuse(Tree tree) const;

 private:
  static constexpr uint64_t kClosed = UINT64_MAX;
  static constexpr uint64_t kForeign = UINT64_MAX - 1;

  void OnForkInChild() override;
  absl::Status NotOpen() const;

  const uint64_t number_;
  std::atomic<uint64_t> word_;  // number_, kClosed or kForeign
};

}  // namespace latchkey
