// FreesUnderWay: the changes whose record frees pages, from the record until the change's LogSpace
// ends. By then the freeing actor has given the pages to the pool. Until then only this actor knows
// that they are free. So the redo LSN of a checkpoint is at most the oldest of these records.
//
// Lock order: its latch is taken inside Log::Append and Log::Frozen; it takes no other.
// Thread-safety: every actor may call every member at once, each LogSpace from its own actor.
#pragma once

#include <optional>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/tree_log.h"
#include "storage/base/ids.h"
#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

class FreesUnderWay {
 public:
  /// `owner` is told when a LogSpace ends.
  FreesUnderWay(Runtime& runtime, TreeLog& owner) : runtime_(runtime), owner_(owner) {}

  /// The change of `space` has logged a record at `lsn` that frees pages. Only its first counts.
  void Enter(LogSpace& space, Lsn lsn) LATCHKEY_EXCLUDES(latch_);
  /// The change of `space` is over. No effect if it has not entered.
  void Leave(LogSpace& space) LATCHKEY_EXCLUDES(latch_);
  /// The record of the oldest of them; nullopt: there is none.
  std::optional<Lsn> Oldest() const LATCHKEY_EXCLUDES(latch_);

 private:
  Runtime& runtime_;
  TreeLog& owner_;
  mutable SpinLatch latch_;
  LogSpace* oldest_ LATCHKEY_GUARDED_BY(latch_) = nullptr;
  LogSpace* newest_ LATCHKEY_GUARDED_BY(latch_) = nullptr;
};

}  // namespace latchkey
