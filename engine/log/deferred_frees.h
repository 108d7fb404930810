// DeferredFrees: the ids of freed pages on their way to the store.
//
// Invariant: an id reaches PageStore::FreePage only after the record of its free is durable. It
// waits here until then, in the order of the records. Once the log has failed, frees may not be
// logged any more. Their pages stay in the store: the next open needs them, or frees them.
//
// Lock order: the mutex, then the latch. Defer may be called with page latches held.
// Thread-safety: every actor may call every member at once.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <utility>

#include "engine/log/log_health.h"
#include "storage/base/ids.h"
#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"
#include "storage/wal/log.h"

namespace latchkey {

class DeferredFrees {
 public:
  /// `return_page(id)` hands a page to the store.
  DeferredFrees(Runtime& runtime, Log& log, LogHealth& health,
                std::function<void(PageId)> return_page)
      : runtime_(runtime),
        log_(log),
        health_(health),
        return_page_(std::move(return_page)),
        mutex_(runtime) {}

  /// Number of frees that have not reached the store yet.
  size_t count() const { return count_.load(std::memory_order_relaxed); }
  /// As FreedPages::Defer.
  bool Defer(PageId page) LATCHKEY_EXCLUDES(latch_);
  /// Hands the pages whose frees are durable to the store. Cheap if there are none. No effect if
  /// another actor is doing so.
  void Drain() LATCHKEY_EXCLUDES(mutex_);
  /// Makes everything logged so far durable, and hands all pages freed so far to the store.
  absl::Status FlushAll() LATCHKEY_EXCLUDES(mutex_);

 private:
  struct Freed {
    Lsn lsn;  // durable() above it: the free may go to the store
    PageId page;
  };
  static constexpr size_t kBatch = 64;
  using Batch = std::array<PageId, kBatch>;

  void HandOver() LATCHKEY_REQUIRES(mutex_);
  size_t TakeDurable(Batch* batch) const LATCHKEY_EXCLUDES(latch_);
  void ReturnPages(std::span<const PageId> pages) LATCHKEY_REQUIRES(mutex_);
  void ForgetOldest(size_t count) LATCHKEY_EXCLUDES(latch_);

  Runtime& runtime_;
  Log& log_;
  LogHealth& health_;
  const std::function<void(PageId)> return_page_;
  Mutex mutex_;  // held while frees go to the store
  mutable SpinLatch latch_;
  std::deque<Freed> freed_ LATCHKEY_GUARDED_BY(latch_);
  std::atomic<size_t> count_{0};
};

}  // namespace latchkey
