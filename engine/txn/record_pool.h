// Where the records of writing transactions come from, and where finished ones wait to be
// collected.
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

/// Recycles WriteRecords through free lists by actor. A record goes back to the list that it came
/// from, whoever collects it, so that lists do not drain into each other.
/// Thread-safety: all members from every actor at once.
class RecordPool {
 public:
  static constexpr uint32_t kStripes = 64;

  explicit RecordPool(Runtime& runtime) : runtime_(runtime), chunks_(runtime) {}
  /// Frees every record, in use or not.
  ~RecordPool();
  RecordPool(const RecordPool&) = delete;
  RecordPool& operator=(const RecordPool&) = delete;

  /// A record without entries and without id, running.
  WriteRecord* Take();
  void Return(WriteRecord* record);

  /// Memory of the records that are in use, bytes.
  size_t used_bytes() const;
  /// All memory, bytes.
  size_t reserved_bytes() const;

 private:
  struct alignas(64) Stripe {
    SpinLatch latch;
    WriteRecord* free = nullptr;
    WriteRecord* all = nullptr;  // every record of this home, by next_of_home
    // Written under the latch, read by anybody.
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

/// Committed records whose entries are still linked, in the order of commit per actor. Each actor
/// collects behind itself; now and then it looks into a queue of the others.
/// Thread-safety: all members from every actor at once.
class FinishedQueues {
 public:
  static constexpr uint32_t kQueues = 64;

  explicit FinishedQueues(Runtime& runtime) : runtime_(runtime) {}

  bool empty(uint32_t queue) const {
    return queues_[queue].size.load(std::memory_order_relaxed) == 0;
  }
  void Push(uint32_t queue, WriteRecord* record);
  /// For a record that is not yet collected completely.
  void PushFront(uint32_t queue, WriteRecord* record);
  /// The oldest record, if its timestamp is at most `limit`; otherwise null.
  WriteRecord* Pop(uint32_t queue, CommitTs limit);

 private:
  struct alignas(64) Queue {
    SpinLatch latch;
    std::atomic<uint64_t> size{0};
    WriteRecord* head = nullptr;
    WriteRecord* tail = nullptr;
    void SetSize(uint64_t change) {  // under the latch
      size.store(size.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    }
  };

  Runtime& runtime_;
  Queue queues_[kQueues];
};

}  // namespace latchkey
