#include "engine/txn/record_pool.h"

namespace latchkey {

RecordPool::~RecordPool() {
  for (Stripe& stripe : stripes_) {
    for (WriteRecord* record = stripe.all; record != nullptr;) {
      WriteRecord* next = record->next_of_home;
      delete record;
      record = next;
    }
  }
}

WriteRecord* RecordPool::NewRecord(Stripe& stripe, uint32_t home) {
  auto* record = new WriteRecord(chunks_, home);
  record->next_of_home = stripe.all;
  stripe.all = record;
  Add(stripe.all_count, 1);
  return record;
}

WriteRecord* RecordPool::Take() {
  const uint32_t home = runtime_.ActorIndex() % kStripes;
  Stripe& stripe = stripes_[home];
  SpinLatchGuard guard(stripe.latch, runtime_);
  WriteRecord* record = stripe.free;
  if (record == nullptr) {
    record = NewRecord(stripe, home);
  } else {
    stripe.free = record->next;
    Add(stripe.free_count, size_t{0} - 1);
  }
  record->next = nullptr;
  record->outcome.store(WriteRecord::kRunning, std::memory_order_release);
  return record;
}

void RecordPool::Return(WriteRecord* record) {
  record->id.store(0, std::memory_order_release);
  record->newest = nullptr;
  record->entries = record->reported_entries = 0;
  record->spilled = record->changes_range = false;
  record->arena.Reset();
  Stripe& stripe = stripes_[record->home];
  SpinLatchGuard guard(stripe.latch, runtime_);
  record->next = stripe.free;
  stripe.free = record;
  Add(stripe.free_count, 1);
}

size_t RecordPool::used_bytes() const {
  // Free records are counted first. A record taken or returned meanwhile may so be counted twice,
  // never missed.
  size_t free_records = 0, all = 0;
  for (const Stripe& stripe : stripes_) {
    free_records += stripe.free_count.load(std::memory_order_acquire);
  }
  for (const Stripe& stripe : stripes_) all += stripe.all_count.load(std::memory_order_acquire);
  const size_t used = all < free_records ? 0 : all - free_records;
  return chunks_.used_bytes() + used * sizeof(WriteRecord);
}

size_t RecordPool::reserved_bytes() const {
  size_t records = 0;
  for (const Stripe& stripe : stripes_) records += stripe.all_count.load(std::memory_order_relaxed);
  return chunks_.reserved_bytes() + records * sizeof(WriteRecord);
}

void FinishedQueues::Push(uint32_t index, WriteRecord* record) {
  Queue& queue = queues_[index];
  record->next = nullptr;
  SpinLatchGuard guard(queue.latch, runtime_);
  (queue.head == nullptr ? queue.head : queue.tail->next) = record;
  queue.tail = record;
  queue.SetSize(+1);
}

void FinishedQueues::PushFront(uint32_t index, WriteRecord* record) {
  Queue& queue = queues_[index];
  SpinLatchGuard guard(queue.latch, runtime_);
  record->next = queue.head;
  queue.head = record;
  if (record->next == nullptr) queue.tail = record;
  queue.SetSize(+1);
}

WriteRecord* FinishedQueues::Pop(uint32_t index, CommitTs limit) {
  Queue& queue = queues_[index];
  SpinLatchGuard guard(queue.latch, runtime_);
  WriteRecord* record = queue.head;
  if (record == nullptr || record->outcome.load(std::memory_order_relaxed) > limit) return nullptr;
  queue.head = record->next;
  if (queue.head == nullptr) queue.tail = nullptr;
  queue.SetSize(-1);
  return record;
}

}  // namespace latchkey
