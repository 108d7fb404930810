#include "engine/txn/version_table.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "storage/base/check.h"

namespace latchkey {

VersionTable::VersionTable(Runtime& runtime) : runtime_(runtime) {
  current_.store(ArrayOf(kFirstBits), std::memory_order_release);
}

VersionTable::~VersionTable() {
  for (Array* array : arrays_) {
    if (array == nullptr) continue;
    std::free(array->words);
    delete array;
  }
}

VersionTable::Array* VersionTable::ArrayOf(uint32_t bits) {
  if (arrays_[bits] != nullptr) return arrays_[bits];
  auto made = std::make_unique<Array>();
  Array* array = made.get();
  array->bits = bits;
  // calloc: the system gives zero pages, which are touched only when a bucket is first used.
  array->words = static_cast<uintptr_t*>(std::calloc(array->size(), sizeof(uintptr_t)));
  if (array->words == nullptr) throw std::bad_alloc();
  bytes_.fetch_add(sizeof(Array) + array->size() * sizeof(uintptr_t), std::memory_order_relaxed);
  arrays_[bits] = made.release();
  return array;
}

VersionTable::Bucket::Bucket(VersionTable& table, uint64_t hash) {
  Backoff backoff(table.runtime_);
  Array* array = table.current_.load(std::memory_order_acquire);
  while (true) {
    std::atomic_ref<uintptr_t> word = array->at(array->IndexOf(hash));
    uintptr_t seen = word.load(std::memory_order_acquire);
    if (seen & kMoved) {
      array = array->next.load(std::memory_order_acquire);
    } else if ((seen & kLatched) == 0 &&
               word.compare_exchange_weak(seen, seen | kLatched, std::memory_order_acquire)) {
      word_ = &array->words[array->IndexOf(hash)];
      head = HeadOf(seen);
      return;
    } else {
      backoff.Pause();
    }
  }
}

VersionTable::Bucket::Bucket(Array& array, size_t index, Runtime& runtime)
    : word_(&array.words[index]) {
  Backoff backoff(runtime);
  std::atomic_ref<uintptr_t> word(*word_);
  uintptr_t seen = word.load(std::memory_order_relaxed);
  while ((seen & kLatched) != 0 ||
         !word.compare_exchange_weak(seen, seen | kLatched, std::memory_order_acquire)) {
    backoff.Pause();
    seen = word.load(std::memory_order_relaxed);
  }
  head = HeadOf(seen);
}

VersionEntry* VersionTable::FindIn(VersionEntry* from, uint64_t hash, TreeId tree,
                                   std::string_view key) {
  for (VersionEntry* entry = from; entry != nullptr; entry = entry->older) {
    if (entry->hash == hash && entry->tree == tree && entry->key() == key) return entry;
  }
  return nullptr;
}

bool VersionTable::MayContain(uint64_t hash) {
  Array* array = current_.load(std::memory_order_acquire);
  while (true) {
    const uintptr_t word = array->at(array->IndexOf(hash)).load(std::memory_order_acquire);
    if ((word & kMoved) == 0) return word != 0;
    array = array->next.load(std::memory_order_acquire);
  }
}

VersionTable::Newest VersionTable::FindNewest(uint64_t hash, TreeId tree, std::string_view key) {
  Newest newest;
  if (!MayContain(hash)) return newest;
  Bucket bucket(*this, hash);
  newest.entry = FindIn(bucket.head, hash, tree, key);
  if (newest.entry != nullptr) {
    WriteRecord* writer = newest.entry->writer;
    newest.writer = {writer, TxnId{writer->id.load(std::memory_order_relaxed)}};
    newest.outcome = writer->outcome.load(std::memory_order_acquire);
  }
  return newest;
}

std::optional<RecordState> VersionTable::CopyUnseen(
    uint64_t hash, TreeId tree, std::string_view key,
    absl::FunctionRef<bool(const WriteRecord&)> sees, std::string* old, Unseen* walk) {
  if (!MayContain(hash)) return std::nullopt;
  Bucket bucket(*this, hash);
  const VersionEntry* unseen = nullptr;
  const VersionEntry* entry = FindIn(bucket.head, hash, tree, key);
  for (; entry != nullptr && !sees(*entry->writer); entry = FindIn(entry->older, hash, tree, key)) {
    if (!entry->lock_only) unseen = entry;
  }
  walk->met_seen = entry != nullptr;
  if (unseen == nullptr) return std::nullopt;
  walk->outcome = unseen->writer->outcome.load(std::memory_order_relaxed);
  if (unseen->old_size != 0 || unseen->old_state == RecordState::kValue) old->assign(unseen->old());
  return unseen->old_state;
}

void VersionTable::Link(VersionEntry& entry) {
  Bucket bucket(*this, entry.hash);
  entry.newer = nullptr;
  entry.older = bucket.head;
  if (bucket.head != nullptr) bucket.head->newer = &entry;
  bucket.head = &entry;
}

bool VersionTable::Unlink(VersionEntry& entry) {
  Bucket bucket(*this, entry.hash);
  if (entry.settled) return false;
  UnlinkFrom(bucket, entry);
  return true;
}

bool VersionTable::Settle(VersionEntry& entry, absl::FunctionRef<bool(const VersionEntry&)> take,
                          uint64_t* gone) {
  Bucket bucket(*this, entry.hash);
  while (!entry.settled) {
    VersionEntry* oldest = &entry;
    while (VersionEntry* older = FindIn(oldest->older, entry.hash, entry.tree, entry.key())) {
      oldest = older;
    }
    if (!take(*oldest)) return false;
    UnlinkFrom(bucket, *oldest);
    oldest->settled = true;
    ++*gone;
  }
  return true;
}

void VersionTable::UnlinkFrom(Bucket& bucket, VersionEntry& entry) {
  if (entry.newer != nullptr) {
    entry.newer->older = entry.older;
  } else {
    LATCHKEY_CHECK(bucket.head == &entry);
    bucket.head = entry.older;
  }
  if (entry.older != nullptr) entry.older->newer = entry.newer;
}

void VersionTable::TurnIntoWrite(VersionEntry& entry, RecordState state, const char* bytes,
                                 uint32_t size) {
  Bucket bucket(*this, entry.hash);
  entry.lock_only = false;
  entry.old_state = state;
  entry.old_bytes = bytes;
  entry.old_size = size;
}

void VersionTable::TurnIntoLock(VersionEntry& entry) {
  Bucket bucket(*this, entry.hash);
  entry.lock_only = true;
}

void VersionTable::SplitBucket(Array& from, size_t index, Array& to) {
  Bucket bucket(from, index, runtime_);
  VersionEntry* heads[2] = {nullptr, nullptr};
  VersionEntry* tails[2] = {nullptr, nullptr};
  for (VersionEntry* entry = bucket.head; entry != nullptr;) {
    VersionEntry* next = entry->older;
    const size_t half = to.IndexOf(entry->hash) & 1;
    entry->newer = tails[half];
    entry->older = nullptr;
    (tails[half] == nullptr ? heads[half] : tails[half]->older) = entry;
    tails[half] = entry;
    entry = next;
  }
  for (size_t half = 0; half < 2; ++half) {
    to.at(2 * index + half)
        .store(reinterpret_cast<uintptr_t>(heads[half]), std::memory_order_release);
  }
  bucket.MarkMoved();
}

void VersionTable::MergeBuckets(Array& from, size_t index, Array& to) {
  // The only place that holds two latches at once. Only one actor moves buckets.
  Bucket first(from, 2 * index, runtime_);
  Bucket second(from, 2 * index + 1, runtime_);
  VersionEntry* head = first.head;
  if (head == nullptr) {
    head = second.head;
  } else if (second.head != nullptr) {
    // No key has entries in both, so the order between them does not matter.
    VersionEntry* tail = head;
    while (tail->older != nullptr) tail = tail->older;
    tail->older = second.head;
    second.head->newer = tail;
  }
  to.at(index).store(reinterpret_cast<uintptr_t>(head), std::memory_order_release);
  second.MarkMoved();
  first.MarkMoved();
}

void VersionTable::MoveBuckets(Array& from, Array& to) {
  constexpr size_t kBucketsAtOnce = 512;
  const bool doubling = to.bits > from.bits;
  const size_t moves = doubling ? from.size() : to.size();
  for (size_t i = 0; i < kBucketsAtOnce && next_to_move_ < moves; ++i, ++next_to_move_) {
    if (doubling) {
      SplitBucket(from, next_to_move_, to);
    } else {
      MergeBuckets(from, next_to_move_, to);
    }
  }
  if (next_to_move_ < moves) return;
  current_.store(&to, std::memory_order_release);
  target_ = nullptr;
}

uint32_t VersionTable::WantedBits(const Array& current, uint64_t entries) {
  const bool are_few = entries * kBucketsPerEntryToHalve < current.size();
  calls_with_few_ = are_few ? calls_with_few_ + 1 : 0;
  if (entries > current.size() && current.bits < kMaxBits) return current.bits + 1;
  if (calls_with_few_ < kCallsToHalve || current.bits == kFirstBits) return current.bits;
  calls_with_few_ = 0;
  return current.bits - 1;
}

void VersionTable::ResizeFor(uint64_t entries) {
  if (!resize_latch_.TryLock()) return;
  try {
    ResizeLatched(entries);
  } catch (const std::bad_alloc&) {
    // The table stays as it is, with longer chains, and grows once there is memory.
  }
  resize_latch_.Unlock();
}

void VersionTable::ResizeLatched(uint64_t entries) {
  Array* current = current_.load(std::memory_order_acquire);
  if (target_ == nullptr) {
    const uint32_t bits = WantedBits(*current, entries);
    if (bits != current->bits) {
      target_ = ArrayOf(bits);
      next_to_move_ = 0;
      current->next.store(target_, std::memory_order_release);
    }
  }
  if (target_ != nullptr) MoveBuckets(*current, *target_);
}

size_t VersionTable::buckets() const { return current_.load(std::memory_order_acquire)->size(); }

}  // namespace latchkey
