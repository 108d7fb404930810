// The hash table from (tree, key) to version entries. Each bucket is one word: the head of a doubly
// linked chain, newest entry first, and the latch of that chain. An empty bucket costs a reader one
// load.
//
//   word = head pointer | kLatched | kMoved     (kMoved: look in the array that `next` names)
//
// The table doubles and halves with the number of entries. The actors that add or collect entries
// move a few buckets at a time. A small table stays in the processor's caches.
//
// Invariant: for every hash exactly one array has a live (not moved) bucket. Exception: the moment
// in which the mover, holding the latch of the old bucket, has published the new one. An actor that
// comes to a moved bucket follows `next` until it finds the live one. Arrays are kept for the
// table's life, since an actor may be about to read them, and are reused when the table returns to
// their size.
//
// Thread-safety: every actor may call every member at once. A bucket's latch is held for a walk and
// never across a wait. Only Settle runs a callback under it, which may take the latches of
// SettledVersions, KnownWrites and EmptyGaps.
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

  /// What a writer learns of the newest entry of a key.
  struct Newest {
    VersionEntry* entry = nullptr;  ///< nullptr = no entry. Only its own writer may follow it.
    WriterRef writer;
    uint64_t outcome = 0;  ///< that of the writer, see WriteRecord
  };
  Newest FindNewest(uint64_t hash, TreeId tree, std::string_view key);

  /// Result of a reader's walk.
  struct Unseen {
    bool met_seen = false;  ///< the walk ended at an entry whose writer the reader sees
    uint64_t outcome = 0;   ///< that of the writer of the state found, see WriteRecord
  };
  /// The state of the record that a reader takes instead of the page's. It walks the writes, newest
  /// first, up to the first whose writer the reader `sees`, and takes the state before the oldest
  /// write that it does not see. nullopt = the page's state. `*old` gets the value or the overflow
  /// reference. `sees` takes a few instructions under the bucket's latch.
  std::optional<RecordState> CopyUnseen(uint64_t hash, TreeId tree, std::string_view key,
                                        absl::FunctionRef<bool(const WriteRecord&)> sees,
                                        std::string* old, Unseen* unseen);

  /// Prefetches the bucket of `hash` for writing.
  void Prefetch(uint64_t hash) const {
    const Array* array = current_.load(std::memory_order_acquire);
    __builtin_prefetch(&array->words[array->IndexOf(hash)], /*rw=*/1);
  }
  /// False: no entry of this hash is linked. True: one may be.
  bool MayContain(uint64_t hash);

  void Link(VersionEntry& entry);
  /// False, with nothing done: the entry has settled.
  bool Unlink(VersionEntry& entry);
  /// Unlinks `entry` and the older ones of its key, oldest first, and marks them as settled; no
  /// effect on entries that are settled already. `take` takes over each entry before it is unlinked.
  /// If it returns false or throws, that entry and newer ones stay linked; an exception is passed on.
  /// Adds the number of entries unlinked to *gone. Returns whether `entry` is settled now.
  bool Settle(VersionEntry& entry, absl::FunctionRef<bool(const VersionEntry&)> take,
              uint64_t* gone);
  /// Gives an entry that only locked its key the old version that a write now replaces.
  void TurnIntoWrite(VersionEntry& entry, RecordState state, const char* bytes, uint32_t size);
  /// Makes an entry whose record has been restored a mere lock of its key again.
  void TurnIntoLock(VersionEntry& entry);

  /// Starts to double if `entries` outnumber the buckets, or to halve if they were few at each of many
  /// calls, and continues a move under way. Writers call it now and then.
  void ResizeFor(uint64_t entries);

  size_t buckets() const;
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kFirstBits = 12;
  static constexpr uint32_t kMaxBits = 40;
  // So many of both that a number of entries that rises and falls again and again moves no buckets.
  static constexpr uint64_t kBucketsPerEntryToHalve = 64;
  static constexpr uint32_t kCallsToHalve = 1024;
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
  static void UnlinkFrom(Bucket& bucket, VersionEntry& entry);
  static VersionEntry* FindIn(VersionEntry* from, uint64_t hash, TreeId tree, std::string_view key);
  Array* ArrayOf(uint32_t bits);
  uint32_t WantedBits(const Array& current, uint64_t entries);
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
  Array* target_ = nullptr;           // of the move under way; nullptr = none
  size_t next_to_move_ = 0;
  uint32_t calls_with_few_ = 0;  // the newest calls of ResizeFor, one after the other
};

}  // namespace latchkey
