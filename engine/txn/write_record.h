// The record of one writing transaction: its outcome, its entries and their memory.
//
// Records are type-stable: their memory is kept while the store lives. So a WriterRef stays safe to
// use long after its transaction has ended.
//
//   free --Reset--> running --StampCommit--> committed --CollectRecord, DropUnneeded,--> free
//                      |                                  SettleRecord
//                      |------Rollback-----> rolled back -----------------------------> free
//                      '------Rollback-----> undo failed   (kept, with the entries not restored)
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/txn/arena.h"
#include "engine/txn/version_entry.h"
#include "storage/base/ids.h"

namespace latchkey {

struct WriteRecord;

/// A transaction by its record and its id. The id tells whether the record still belongs to it.
struct WriterRef {
  WriteRecord* record = nullptr;
  TxnId id{0};
};

struct alignas(64) WriteRecord {
  static constexpr uint64_t kRunning = 0;
  static constexpr uint64_t kRolledBack = UINT64_MAX;
  static constexpr uint64_t kUndoFailed = UINT64_MAX - 1;

  /// Bytes of entries that a record holds without a chunk, enough for a small transaction. A long
  /// snapshot may keep thousands of those.
  static constexpr size_t kInlineBytes = 832;

  explicit WriteRecord(ChunkPool& chunks, uint32_t home_queue)
      : arena(chunks, inline_bytes, home_queue), home(home_queue) {}

  static bool IsCommitted(uint64_t outcome) { return outcome - 1 < kUndoFailed - 1; }
  bool IsRunning(TxnId as) const {
    // In this order: a recycled record loses its id before it counts as running again.
    return outcome.load(std::memory_order_acquire) == kRunning &&
           id.load(std::memory_order_acquire) == Raw(as);
  }

  /// kRunning, a commit timestamp, kRolledBack or kUndoFailed.
  std::atomic<uint64_t> outcome{kRolledBack};
  std::atomic<uint64_t> id{0};
  /// Changes whenever a transaction that used this record ends. Waiters sleep on it.
  std::atomic<uint32_t> ends{0};
  /// Number of actors that sleep on `ends`, or have woken and not yet tried their write again.
  std::atomic<uint32_t> waiters{0};
  /// Index of the actor that has used the transaction last; only this actor can end it.
  std::atomic<uint32_t> user{UINT32_MAX};

  /// The record of the previous commit; set at the commit. It may have been recycled: follow it
  /// only to timestamps that a held snapshot keeps from being collected.
  WriteRecord* previous_commit = nullptr;

  // Used by the writer alone, and after its end by the collector alone. Exception: an actor that
  // holds an older snapshot may walk the entries of a committed record.
  VersionEntry* newest = nullptr;
  uint64_t entries = 0;           ///< linked so far
  uint64_t reported_entries = 0;  ///< part of them that is in the store's counters
  bool spilled = false;           ///< more entries are on the spill device (version_spill.h)
  bool changes_range = false;     ///< a range delete: without an entry for each key
  Arena arena;
  WriteRecord* next = nullptr;  ///< in a free list or a finished queue
  WriteRecord* next_of_home = nullptr;
  const uint32_t home;  ///< the stripe to which it returns
  alignas(8) std::byte inline_bytes[kInlineBytes];
};

}  // namespace latchkey
