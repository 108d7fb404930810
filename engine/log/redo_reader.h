// RedoReader: reads the pages of redo's next batch while the last one is applied.
//
// Several actors take the pages in portions, so that the device always has requests in flight: each
// waits for its own portion alone.
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
  /// Leaves unread what no actor has begun to read.
  ~RedoReader();

  /// Has `pages` read, those in front first. Its actors are made by the first call. A hint, as
  /// BufferPool::Prefetch is. REQUIRES: nothing is being read, or Await was called.
  void Begin(std::vector<PageId> pages);
  /// Waits until all of them are read, or could not be.
  void Await();

 private:
  void Work();
  /// The next pages to read, copied to the front of `portion`; waits for some. 0: there will be
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
