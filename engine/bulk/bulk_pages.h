// The pages of a bulk load: they get ids, are filled in memory, and go to the store in batches, past
// the pool and the log.
//
//   Add -> batch in memory --full, or Flush--> ids durable in the log -> PageWriter -> device
//
// Invariants
//  1. Before a page reaches the store, the log record that allocates its id is durable. So if the
//     load does not end, recovery frees the page (undo of the load's transaction).
//  2. No page of the load is logged. So all of them are durable before a record refers to them.
//  3. Their LSN is 1: every checkpoint is newer. So with images against torn writes a page's first
//     change logs an image.
//
// Thread-safety: none; one load. The store and the log may be used by other actors.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/page_ids.h"
#include "engine/log/engine_log.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {

class BulkPages {
 public:
  /// `txn`: owns the pages until its last record; its id is set. `log` nullptr = nothing is logged.
  BulkPages(BufferPool& pool, EngineLog* log, LogTxn& txn);

  /// Adds a page, which `fill` writes from zeros, and returns its id.
  absl::StatusOr<PageId> Add(absl::FunctionRef<void(std::byte*)> fill);
  /// On return all pages are durable, and ids that were not used are given back.
  absl::Status Flush();
  /// Gives everything back. After an error some pages are left, for another call, or for the next
  /// open if there is a log and the transaction has no end in it.
  absl::Status FreeAll();
  /// The last call: ends the use of the store, which may be destroyed before this object.
  void Release() { writer_.reset(); }
  uint64_t pages() const { return added_; }

  /// Ids that follow each other.
  struct Run {
    uint64_t first, count;
  };
  /// The ids of the pages added.
  std::span<const Run> runs() const { return runs_; }

 private:
  absl::Status TakeIds();
  absl::Status WriteBatch();
  void Own(PageId id);
  // Frees *ids from the back. After an error those that are left are not freed.
  absl::Status FreeIds(std::vector<PageId>* ids);

  BufferPool& pool_;
  EngineLog* const log_;
  LogTxn& txn_;
  PageIds ids_;
  std::unique_ptr<PageWriter> writer_;
  AlignedBuffer buffer_;
  std::vector<PageWrite> batch_;
  std::vector<PageId> free_ids_;  // allocated and logged, not in use; the next one is at the back
  size_t ids_at_once_;
  Lsn logged_{0};          // newest record that allocates ids
  std::vector<Run> runs_;  // ids of the pages added
  uint64_t added_ = 0;
};

}  // namespace latchkey
