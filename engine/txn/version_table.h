// The hash table from (tree, key) to version entries: one word per bucket, which is both the head
// of a doubly linked chain, newest entry first, and the latch of the chain. An empty bucket costs a
// reader one load.
//
//   word = head pointer | kLatched | kMoved     (kMoved: look in the array that `next` names)
//
// The table doubles and halves with the number of entries, a few buckets at a time by whoever adds
// or collects: small, it stays in the processor's caches. Invariant: for every hash exactly one
// array has a live (not moved) bucket, but for the moment in which the mover, holding the old one's
// latch, has published the new one. Arrays are kept for the table's life, since somebody may be
// about to read them, and used again when the table returns to their size; whoever comes to a moved
// bucket follows `next` until it finds the live one.
//
// Thread-safety: all members from every actor at once. Latches are held for a walk, never across
// another latch or a wait.
#pragma once

#include <absl/functional/function_ref.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/txn/version_entry.h"
#include "engine/txn/write_record.h"
#include "storage/base/hash.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class VersionTable {
 public:
  explicit VersionTable(Runtime& runtime);
  ~VersionTable();
  VersionTable(const VersionTable&) = delete;
  VersionTable& operator=(const VersionTable&) = delete;

  static uint64_t HashOf(TreeId tree, std::string_view key) { return Hash64(key, Raw(tree)); }

  /// What a would-be writer asks of the newest entry of a key.
  struct Newest {
    VersionEntry* entry = nullptr;  ///< null: no entry. Safe to follow only for its own writer.
    WriterRef writer;
    uint64_t outcome = 0;  ///< of the writer, see WriteRecord
  };
  Newest FindNewest(uint64_t hash, TreeId tree, std::string_view key);

  /// The state of the record that a reader takes instead of the page's: that before the oldest of
  /// the writes, newest first, up to the first whose writer the reader `sees`. nullopt: the page's
  /// stands. A value or an overflow reference is copied into `*old`. `sees` is a few instructions
  /// under the bucket's latch.
  std::optional<OldState> CopyUnseen(uint64_t hash, TreeId tree, std::string_view key,
                                     absl::FunctionRef<bool(const WriteRecord&)> sees,
                                     std::string* old);

  /// Asks the processor for the bucket of `hash`, to write it.
  void Prefetch(uint64_t hash) const {
    const Array* array = current_.load(std::memory_order_acquire);
    __builtin_prefetch(&array->words[array->IndexOf(hash)], /*rw=*/1);
  }
  /// False means that no entry of this hash is linked; true that there may be.
  bool MayContain(uint64_t hash);

  void Link(VersionEntry& entry);
  void Unlink(VersionEntry& entry);
  /// Gives an entry that only locked its key the old version that a write now replaces.
  void TurnIntoWrite(VersionEntry& entry, OldState state, const char* bytes, uint32_t size);
  /// Makes an entry whose record has been restored only lock its key again.
  void TurnIntoLock(VersionEntry& entry);

  /// Starts to double when `entries` outnumber the buckets, to halve when they are few, and goes on
  /// with what is under way. Called now and then by writers.
  void ResizeFor(uint64_t entries);

  size_t buckets() const;
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kFirstBits = 12;
  static constexpr uint32_t kMaxBits = 40;
  static constexpr uint64_t kBucketsPerEntryToHalve = 8;
  static constexpr uintptr_t kLatched = 1;
  static constexpr uintptr_t kMoved = 2;

  struct Array {
    uint32_t bits = 0;
    uintptr_t* words = nullptr;  // accessed only through std::atomic_ref
    std::atomic<Array*> next{nullptr};
    std::atomic_ref<uintptr_t> at(size_t i) { return std::atomic_ref<uintptr_t>(words[i]); }
    size_t IndexOf(uint64_t hash) const { return hash >> (64 - bits); }
    size_t size() const { return size_t{1} << bits; }
  };

  /// A latched bucket.
  class Bucket {
   public:
    Bucket(VersionTable& table, uint64_t hash);
    Bucket(Array& array, size_t index, Runtime& runtime);
    ~Bucket() {
      std::atomic_ref<uintptr_t>(*word_).store(reinterpret_cast<uintptr_t>(head) | marks_,
                                               std::memory_order_release);
    }
    Bucket(const Bucket&) = delete;
    Bucket& operator=(const Bucket&) = delete;
    void MarkMoved() {
      head = nullptr;
      marks_ = kMoved;
    }

    VersionEntry* head = nullptr;

   private:
    uintptr_t* word_ = nullptr;
    uintptr_t marks_ = 0;
  };

  static VersionEntry* HeadOf(uintptr_t word) {
    return reinterpret_cast<VersionEntry*>(word & ~(kLatched | kMoved));
  }
  static VersionEntry* FindIn(VersionEntry* from, uint64_t hash, TreeId tree, std::string_view key);
  Array* ArrayOf(uint32_t bits);
  uint32_t WantedBits(const Array& current, uint64_t entries) const;
  void ResizeLatched(uint64_t entries);
  void MoveBuckets(Array& from, Array& to);
  void SplitBucket(Array& from, size_t index, Array& to);
  void MergeBuckets(Array& from, size_t index, Array& to);

  Runtime& runtime_;
  std::atomic<Array*> current_{nullptr};
  std::atomic<size_t> bytes_{0};
  SpinLatch resize_latch_;
  // Guarded by resize_latch_:
  Array* arrays_[kMaxBits + 1] = {};  // by bits
  Array* target_ = nullptr;           // of the move under way; null: none
  size_t next_to_move_ = 0;
};

}  // namespace latchkey
