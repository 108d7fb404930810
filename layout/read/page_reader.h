// Reads pages from their slots, or from the copy frames that hold them. Lock-free, except for the
// list of idle I/O queues that batched reads use.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <span>
#include <vector>

#include "layout/map/page_directory.h"
#include "storage/base/idle_objects.h"
#include "storage/device/aligned_buffer.h"
#include "storage/page_store.h"

namespace latchkey {

/// Thread-safe.
class PageReader {
 public:
  explicit PageReader(PageDirectory& directory)
      : directory_(directory), core_(directory.core()), mutex_(core_.runtime) {}

  /// As PageStore::ReadPage and PageStore::ReadPages.
  absl::Status Read(PageId id, std::byte* out);
  void ReadAll(std::span<PageRead> reads);

 private:
  using Buffers = IdleObjects<AlignedBuffer>;

  absl::Status ReadFromDevice(PageId id, LocationWord word, std::byte* out);
  Buffers::Object BufferFor(LocationWord word);
  std::unique_ptr<IoQueue> TakeQueue();
  void ReturnQueue(std::unique_ptr<IoQueue> queue);

  PageDirectory& directory_;
  StoreCore& core_;
  Mutex mutex_;
  std::vector<std::unique_ptr<IoQueue>> queues_ LATCHKEY_GUARDED_BY(mutex_);
  Buffers buffers_;  // for pages that lie in two blocks
};

}  // namespace latchkey
