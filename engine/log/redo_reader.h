// RedoReader: reads the pages of redo's next batch while the last one is applied.
//
// Several actors take the pages in portions. Each waits only for its own portion, so the device
// always has requests in flight.
//
// Thread-safety: Begin, Await and the destructor from one actor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

class RedoReader {
 public:
  explicit RedoReader(BufferPool& pool) : pool_(pool), runtime_(pool.runtime()), mutex_(runtime_) {}
  /// Skips the pages that no actor has begun to read.
  ~RedoReader();

  /// Starts to read `pages`, the front ones first. The first call creates the actors. A hint, like
  /// BufferPool::Prefetch. REQUIRES: nothing is being read, or Await was called.
  void Begin(std::vector<PageId> pages);
  /// Waits until every page was read or could not be.
  void Await();

 private:
  void Work();
  /// Copies the next pages to read to the front of `portion`, and waits for some. 0 = there will be
  /// none.
  size_t Take(std::span<PageId> portion);

  BufferPool& pool_;
  Runtime& runtime_;
  Mutex mutex_;
  CondVar begun_, read_;
  std::vector<PageId> pages_;  // guarded by mutex_, as all below but actors_
  size_t taken_ = 0;           // of pages_
  size_t being_read_ = 0;      // portions
  bool stop_ = false;
  std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace latchkey
