// PendingChains: the overflow chains that wait to be freed. Each was superseded by a write, or was
// found by recovery as superseded and not freed.
//
// Invariant: a chain stays in the table until a record that frees it is in the log. So a checkpoint
// notes every chain of committed transactions that no record has freed.
//
// Lock order: its latch is taken inside Log::Append and Log::Frozen; it takes no other.
// Thread-safety: every actor may call every member at once.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/log/log_record.h"
#include "storage/base/ids.h"
#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// An overflow chain that waits to be freed.
struct PendingChain {
  OverflowChain chain;
  TxnId by{0};  ///< the chain becomes pending when this one is not active any more
};

class PendingChains {
 public:
  /// An entry outside the table.
  using Node = std::map<uint64_t, PendingChain>::node_type;

  explicit PendingChains(Runtime& runtime) : runtime_(runtime) {}

  /// Allocates the memory for Add, which itself must not fail.
  static Node Prepare(OverflowChain chain);
  /// A write of `by` has superseded the prepared chain.
  void Add(TxnId by, Node prepared) LATCHKEY_EXCLUDES(latch_);
  /// A committed transaction has superseded `chain`, which is known from recovery.
  void AddCommitted(OverflowChain chain) LATCHKEY_EXCLUDES(latch_);
  /// The write was undone.
  void Forget(OverflowChain chain) LATCHKEY_EXCLUDES(latch_);
  /// Takes the chain that begins at `first_page` out of the table, without freeing memory.
  Node Extract(PageId first_page) LATCHKEY_EXCLUDES(latch_);
  std::vector<PendingChain> List() const LATCHKEY_EXCLUDES(latch_);

 private:
  Runtime& runtime_;
  mutable SpinLatch latch_;
  std::map<uint64_t, PendingChain> chains_ LATCHKEY_GUARDED_BY(latch_);  // by first page
};

}  // namespace latchkey
