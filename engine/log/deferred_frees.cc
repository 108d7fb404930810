#include "engine/log/deferred_frees.h"

#include <new>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

bool DeferredFrees::Defer(PageId page) {
  // Perhaps the free could not be logged. Then the next open still needs the page.
  if (!health_.is_writable()) return true;
  const Lsn next = log_.next();
  try {
    SpinLatchGuard guard(latch_, runtime_);
    freed_.push_back({next, page});
    count_.store(freed_.size(), std::memory_order_relaxed);
    return true;
  } catch (const std::bad_alloc&) {
    const absl::Status durable = CatchOutOfMemory([&] { return log_.Flush(next); });
    if (durable.ok()) return false;
    // The page stays where it is. Without further checkpoints the next open finds the free in the
    // log.
    health_.SetFailed();
    return true;
  }
}

size_t DeferredFrees::TakeDurable(Batch* batch) const {
  const Lsn durable = log_.durable();
  size_t count = 0;
  SpinLatchGuard guard(latch_, runtime_);
  for (const Freed& freed : freed_) {
    if (count == kBatch || Raw(freed.lsn) > Raw(durable)) break;
    (*batch)[count++] = freed.page;
  }
  return count;
}

void DeferredFrees::ForgetOldest(size_t count) {
  SpinLatchGuard guard(latch_, runtime_);
  for (; count > 0; --count) freed_.pop_front();
  count_.store(freed_.size(), std::memory_order_relaxed);
}

// If memory runs out, the next call begins with the pages that were not returned.
void DeferredFrees::ReturnPages(std::span<const PageId> pages) {
  size_t returned = 0;
  const OnException part_of_them([&] { ForgetOldest(returned); });
  for (; returned < pages.size(); ++returned) return_page_(pages[returned]);
  ForgetOldest(returned);
}

// An actor that waits for the mutex knows that earlier frees have arrived.
void DeferredFrees::HandOver() {
  Batch batch;
  while (const size_t count = TakeDurable(&batch)) ReturnPages({batch.data(), count});
}

void DeferredFrees::Drain() {
  if (count() == 0 || !mutex_.TryLock()) return;
  const OnException unlock([this]() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS { mutex_.Unlock(); });
  HandOver();
  mutex_.Unlock();
}

absl::Status DeferredFrees::FlushAll() {
  LATCHKEY_RETURN_IF_ERROR(health_.Flush(log_.next()));
  MutexLock lock(mutex_);
  HandOver();
  return absl::OkStatus();
}

}  // namespace latchkey
