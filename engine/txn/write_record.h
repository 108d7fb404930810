// The record of one writing transaction: its outcome, its entries and the memory they live in.
//
// Records are type-stable: their memory is never given back while the store lives, so that a
// WriterRef to a transaction that is long over can still be asked.
//
//   free --Reset--> running --StampCommit--> committed --CollectRecord--> free
//                      |------Rollback-----> rolled back ---------------> free
//                      '------Rollback-----> undo failed   (kept, with the entries not restored)
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/txn/arena.h"
#include "engine/txn/version_entry.h"
#include "storage/base/ids.h"

namespace latchkey {

struct WriteRecord;

/// A transaction by its record and its id; the id tells whether the record is still its own.
struct WriterRef {
  WriteRecord* record = nullptr;
  TxnId id{0};
};

struct alignas(64) WriteRecord {
  static constexpr uint64_t kRunning = 0;
  static constexpr uint64_t kRolledBack = UINT64_MAX;
  static constexpr uint64_t kUndoFailed = UINT64_MAX - 1;

  /// Bytes of entries that a record holds without a chunk: those of a small transaction, which a
  /// long snapshot may keep by the thousand.
  static constexpr size_t kInlineBytes = 832;

  explicit WriteRecord(ChunkPool& chunks, uint32_t home_queue)
      : arena(chunks, inline_bytes), home(home_queue) {}

  static bool IsCommitted(uint64_t outcome) { return outcome - 1 < kUndoFailed - 1; }
  bool IsRunning(TxnId as) const {
    // In this order: a recycled record loses its id before it counts as running again.
    return outcome.load(std::memory_order_acquire) == kRunning &&
           id.load(std::memory_order_acquire) == Raw(as);
  }

  /// kRunning, a commit timestamp, kRolledBack or kUndoFailed.
  std::atomic<uint64_t> outcome{kRolledBack};
  std::atomic<uint64_t> id{0};
  /// Changes at every end of a transaction that used this record; waiters sleep on it.
  std::atomic<uint32_t> ends{0};
  /// Who sleeps on `ends`, or has woken and not yet tried its write again.
  std::atomic<uint32_t> waiters{0};
  /// Whom this transaction waits for. Guarded by the mutex of the WaitGraph.
  WriterRef waits_for;

  /// The record of the commit before this one's; set at the commit. Its record may have been
  /// recycled: follow it only to timestamps that a held snapshot keeps from being collected.
  WriteRecord* previous_commit = nullptr;

  // Only the writer's, and after its end the collector's; the entries of a committed record may be
  // walked by whoever holds an older snapshot.
  VersionEntry* newest = nullptr;
  uint64_t entries = 0;           ///< linked so far
  uint64_t reported_entries = 0;  ///< of those, already in the store's counters
  Arena arena;
  WriteRecord* next = nullptr;  ///< in a free list or a finished queue
  WriteRecord* next_of_home = nullptr;
  const uint32_t home;  ///< the stripe that gets it back
  alignas(8) std::byte inline_bytes[kInlineBytes];
};

}  // namespace latchkey
