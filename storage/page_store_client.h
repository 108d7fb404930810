// What a page store asks of the engine and the buffer pool above it.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <optional>

#include "storage/base/ids.h"

namespace latchkey {

/// The client of one store. Attached once, before the first write (PageStore::Attach), and detached
/// before it is destroyed. The store calls it from any thread. A call must not wait for another
/// thread and must not call the store.
class PageStoreClient {
 public:
  virtual ~PageStoreClient() = default;

  /// The checkpoint gate: asked before each write of a superblock. An error ends that checkpoint and
  /// makes the store read-only: once the write-ahead log has failed, no checkpoint may be written.
  virtual absl::Status MayPublishCheckpoint() { return absl::OkStatus(); }

  /// The LSN up to which the write-ahead log is durable; nullopt: there is no log yet. The store
  /// notes it when it makes newer versions of pages durable (superblock, round of the map journal,
  /// doublewrite batch). So an open after a crash knows how far the log must reach.
  virtual std::optional<Lsn> DurableLog() { return std::nullopt; }

  /// Copies the page to `out` (page_size bytes) if the pool has a clean copy: the segment cleaner
  /// then need not read it. False when that is not possible without waiting.
  virtual bool CopyIfClean(PageId, std::byte*) { return false; }
};

}  // namespace latchkey
