// The pool of the records of writing transactions, and the queues in which finished records wait to
// be collected.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/txn/arena.h"
#include "engine/txn/write_record.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Recycles WriteRecords through free lists by actor. A record returns to the list that it came
/// from, whichever actor collects it. So lists do not drain into each other.
/// Thread-safety: every actor may call every member at once.
class RecordPool {
 public:
  static constexpr uint32_t kStripes = 64;

  explicit RecordPool(Runtime& runtime) : runtime_(runtime), chunks_(runtime) {}
  /// Frees every record, in use or not.
  ~RecordPool();
  RecordPool(const RecordPool&) = delete;
  RecordPool& operator=(const RecordPool&) = delete;

  /// Returns a record in state running, without entries and without an id.
  WriteRecord* Take();
  void Return(WriteRecord* record);

  /// Memory of the records in use, bytes.
  size_t used_bytes() const;
  /// All memory, bytes.
  size_t reserved_bytes() const;

 private:
  struct alignas(64) Stripe {
    SpinLatch latch;
    WriteRecord* free = nullptr;
    WriteRecord* all = nullptr;  // every record of this home, by next_of_home
    // Written under the latch, read by any actor.
    std::atomic<size_t> all_count{0};
    std::atomic<size_t> free_count{0};
  };
  static void Add(std::atomic<size_t>& counter, size_t value) {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
  WriteRecord* NewRecord(Stripe& stripe, uint32_t home);

  Runtime& runtime_;
  ChunkPool chunks_;
  Stripe stripes_[kStripes];
};

/// Queues of records. A record waits here from its commit until its entries are unlinked. Each actor
/// adds the records that it commits to its own queue. Two actors may share a queue; then its order may
/// differ from that of the commits. An actor collects from its own queue, and now and then from the
/// queue of another actor.
/// Thread-safety: every actor may call every member at once.
class FinishedQueues {
 public:
  static constexpr uint32_t kQueues = 64;

  explicit FinishedQueues(Runtime& runtime) : runtime_(runtime) {}

  uint64_t size(uint32_t queue) const {
    return queues_[queue].size.load(std::memory_order_relaxed);
  }
  bool empty(uint32_t queue) const { return size(queue) == 0; }
  void Push(uint32_t queue, WriteRecord* record);
  /// Puts back a record that is not yet collected completely.
  void PushFront(uint32_t queue, WriteRecord* record);
  /// The oldest record if its timestamp is at most `limit`; otherwise nullptr.
  WriteRecord* Pop(uint32_t queue, CommitTs limit);

 private:
  struct alignas(64) Queue {
    SpinLatch latch;
    std::atomic<uint64_t> size{0};
    WriteRecord* head = nullptr;
    WriteRecord* tail = nullptr;
    void SetSize(uint64_t change) {  // REQUIRES: the latch
      size.store(size.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    }
  };

  Runtime& runtime_;
  Queue queues_[kQueues];
};

}  // namespace latchkey
