// Packed old versions of finished transactions that a snapshot still needs. If many commits wait
// behind a long snapshot, their entries move here from the arenas of their records (they "settle").
// An entry costs 32 bytes, its key and its old value, and about one word of an index.
//
// Only versions that some snapshot sees are kept. The old value of an entry is seen by the
// snapshots that read in [timestamp of the next older entry of its key, own timestamp). If no
// snapshot reads in this interval, the entry is dropped, even if older snapshots exist. An entry
// without an older one of its key covers all times before it. Snapshots for which its key lies in a
// gap do not count (empty_gaps.h). Entries that only locked their key stay, because they are
// conflicts for other writers. They change no record, so the intervals of other entries are computed
// without them.
//
// What was spilled is forgotten here. The table of known writes (known_writes.h) says that an older
// version of the key was kept, so that the next one may be dropped, too.
//
// The shards are chosen by hash. Each has a latch, a hash table of chains (newest entry first) and
// memory by bump allocation. A sweep removes entries: it writes a shard anew without the unneeded
// ones.
//
// Invariants
//  1. Entries of a key are in the order of their timestamps. All of them are older than the entries
//     that are still linked in the VersionTable. An entry is added here before it leaves the table,
//     so a reader that looks there first and here second misses none.
//  2. An entry that leaves a ghost hands that duty to the next older one of its key when it is
//     dropped. If there is none, Chores gets it. If the next older one inserted the key, Chores gets
//     it as well: a queue beside a long snapshot keeps no ghosts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/txn/known_writes.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_entry.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// A committed version on its way into SettledVersions.
struct SettlingVersion {
  TreeId tree{0};
  uint64_t hash = 0;  ///< VersionTable::HashOf
  CommitTs ts = 0;    ///< timestamp of the commit that replaced `old`
  std::string_view key;
  RecordState state = RecordState::kAbsent;
  std::string_view old;
  bool lock_only = false;
  bool leaves_ghost = false;
  CommitTs empty_below = 0;  ///< EmptyGaps::EmptyBelow of the key
};

/// Work that dropped versions leave, to be done with no latch held: see GcClient.
struct Chores {
  struct Chore {
    TreeId tree{0};
    std::string bytes;            ///< a key, or the reference of an overflow chain
    CommitTs unneeded_until = 0;  ///< of a ghost: see GcClient::PurgeGhost
  };
  std::vector<Chore> ghosts;  ///< keys whose ghosts may be purged
  std::vector<Chore> chains;  ///< chains that no reader needs any more
  bool empty() const { return ghosts.empty() && chains.empty(); }
  /// Adds the chores of a dropped version. `purge`: no other entry is responsible for its ghost.
  /// Throws std::bad_alloc with nothing changed.
  void Add(const SettlingVersion& version, bool purge);
  /// Adds the ghost of the dropped `version` if `before`, the state that the write before it has
  /// replaced, is kAbsent. Then no snapshot sees a value of the key, although the version of that
  /// write stays, for the conflicts of writers with old snapshots: at that write the key had no
  /// record, and a ghost leaves its page only when no snapshot needs it. Throws std::bad_alloc with
  /// nothing changed.
  void AddGhostOfInserted(const SettlingVersion& version, RecordState before);
  /// Throws std::bad_alloc with nothing changed.
  void Append(Chores&& others);
};

/// Thread-safety: every actor may call every member at once.
class SettledVersions {
 public:
  static constexpr uint32_t kShards = 64;

  SettledVersions(Runtime& runtime, KnownWrites& known);
  ~SettledVersions();
  SettledVersions(const SettledVersions&) = delete;
  SettledVersions& operator=(const SettledVersions&) = delete;

  /// Adds `version` if a snapshot of `live` may need it; otherwise drops it and adds its `chores`.
  /// Notes its write as a known one of its key, unless the key lies in a gap. Returns whether
  /// it was kept. Throws std::bad_alloc with nothing changed. REQUIRES: `version` is newer than all
  /// versions of its key here; version.ts <= live.as_of.
  bool Add(const SettlingVersion& version, const LiveSnapshots& live, Chores* chores);

  /// As VersionTable::CopyUnseen, for a snapshot that reads at `read_ts`. *ts: timestamp of the
  /// entry found.
  std::optional<RecordState> CopyUnseen(uint64_t hash, TreeId tree, std::string_view key,
                                        CommitTs read_ts, std::string* old, CommitTs* ts);
  /// Prefetches what Add reads first, the bucket of `hash`, its place among the known writes, and the
  /// memory that Add fills.
  void PrefetchBucket(uint64_t hash) const;
  /// Prefetches what Add reads next: the newest entry in the bucket, if its key may be the one of
  /// the hash. No effect while the shard is in use.
  void PrefetchChain(uint64_t hash) const;
  /// The timestamp of the newest entry of the key; 0 = there is none.
  CommitTs NewestOf(uint64_t hash, TreeId tree, std::string_view key);

  /// Whether there are no entries.
  bool empty() const { return bytes_.load(std::memory_order_acquire) == 0; }
  /// Adds up the shards: for statistics.
  uint64_t count() const;
  /// Memory, bytes.
  size_t bytes() const { return bytes_.load(std::memory_order_acquire); }
  /// At or above the timestamp of every entry. A snapshot from there on needs none of them.
  CommitTs newest() const { return newest_.load(std::memory_order_acquire); }
  /// Whether versions above `ts` may be here.
  bool HasAfter(CommitTs ts) const { return !empty() && newest() > ts; }

  /// Whether a Sweep of the shard would drop an entry, or is likely to, if no snapshot reads below
  /// `oldest`. Takes a few instructions.
  bool IsWorthSweeping(uint32_t shard, CommitTs oldest) const;
  /// Drops the entries of the shard that no snapshot of `live` needs. `thaw`: includes the frozen
  /// ones, which then are as before Freeze. Throws std::bad_alloc with nothing changed.
  void Sweep(uint32_t shard, const LiveSnapshots& live, Chores* chores, bool thaw = false);

  // For writing the entries elsewhere; one actor at a time:

  /// Freezes all entries: readers still find them, and none is dropped. If some are frozen already,
  /// entries that came later stay unfrozen.
  void Freeze();
  /// The frozen entries, in the order of memory. Valid until they are dropped or thawed.
  std::vector<SettlingVersion> Frozen() const;
  /// Drops the frozen entries, which have been written elsewhere, and notes their writes as known.
  void DropFrozen();

 private:
  struct Entry {
    Entry* older = nullptr;  // next older entry of its bucket
    CommitTs ts = 0;
    uint32_t hash = 0;  // the low half of the hash
    TreeId tree{0};
    uint32_t old_size = 0;
    uint16_t key_size = 0;
    RecordState state = RecordState::kAbsent;
    bool lock_only : 1 = false;
    bool leaves_ghost : 1 = false;

    char* bytes() { return reinterpret_cast<char*>(this + 1); }
    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
    std::string_view key() const { return {bytes(), key_size}; }
    std::string_view old() const { return {bytes() + key_size, old_size}; }
    // Entries of a block follow each other at this distance.
    static size_t SizeOf(size_t key_bytes, size_t old_bytes) {
      return (sizeof(Entry) + key_bytes + old_bytes + 7) & ~size_t{7};
    }
    bool Is(uint32_t low_hash, TreeId in, std::string_view of) const {
      return hash == low_hash && tree == in && key() == of;
    }
  };
  static_assert(sizeof(Entry) == 32);

  // The head of a chain, and in the upper 16 bits of the word, which pointers of programs leave
  // free, a filter of the hashes in the chain. Most new entries are of a key that has none here;
  // the filter then says so without a look at the chain, whose memory is seldom in a cache.
  class Bucket {
   public:
    Entry* head() const { return reinterpret_cast<Entry*>(word_ & kPointer); }
    /// nullptr: no entry of the chain has this hash.
    Entry* HeadIfMayHold(uint32_t low_hash) const {
      return (word_ & FilterBit(low_hash)) == 0 ? nullptr : head();
    }
    void SetHead(Entry* entry) {
      word_ = (word_ & ~kPointer) | reinterpret_cast<uintptr_t>(entry);
      AddToFilter(entry->hash);
    }
    void AddToFilter(uint32_t low_hash) { word_ |= FilterBit(low_hash); }

   private:
    static constexpr uint32_t kPointerBits = 48;
    static constexpr uintptr_t kPointer = (uintptr_t{1} << kPointerBits) - 1;
    // By the upper four bits: the lower ones choose the bucket.
    static uintptr_t FilterBit(uint32_t low_hash) {
      return uintptr_t{1} << (kPointerBits + (low_hash >> 28));
    }

    uintptr_t word_ = 0;
  };

  struct Block {
    Block* next = nullptr;
    size_t used = 0;  // bytes of entries behind the header; of the first block: see Table::at

    char* bytes() { return reinterpret_cast<char*>(this + 1); }
  };

  struct Table;

  // What else knows of older entries of a key than a table does.
  struct Older {
    const Table* frozen = nullptr;  // nullptr = none
    KnownWrites* known = nullptr;

    // Whether an older write of the key is known, and no snapshot reads between it and `version`.
    bool HasSinceLastRead(const SettlingVersion& version, const LiveSnapshots& live) const;
  };

  // The contents of a shard. A sweep builds a new one. Not thread-safe.
  struct Table {
    Table() = default;
    ~Table();
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    bool Add(const SettlingVersion& version, const LiveSnapshots& live, const Older& older,
             Chores* chores);
    Entry* Newest(uint64_t hash, TreeId tree, std::string_view key) const;
    // The newest one at `newest` or behind it that is of a write.
    static const Entry* NewestWrite(const Entry* newest, uint64_t hash, TreeId tree,
                                    std::string_view key);
    size_t BucketOf(uint32_t low_hash) const { return low_hash & (buckets.size() - 1); }
    size_t bytes() const { return block_bytes + buckets.capacity() * sizeof(Bucket); }
    void Grow();
    // Makes the next `size` bytes from `at` on free for an entry.
    void MakeRoom(size_t size);
    // All entries, in the order of memory.
    template <typename Visit>
    void ForEach(Visit visit) const;

    std::vector<Bucket> buckets;  // their number is a power of two, or 0
    size_t first_buckets = 8;     // their number once there is an entry
    size_t count = 0;
    size_t block_bytes = 0;
    Block* blocks = nullptr;  // the block being filled comes first
    char* at = nullptr;
    char* end = nullptr;
    CommitTs oldest = UINT64_MAX;  // smallest timestamp of the entries
    CommitTs newest_needing = 0;   // no snapshot above it was listed when an entry was added
  };

  struct alignas(64) Shard {
    SpinLatch latch;
    std::unique_ptr<Table> table;   // nullptr = empty
    std::unique_ptr<Table> frozen;  // older than all in `table`; nullptr = empty
    size_t swept_bytes = 0;         // bytes that the last sweep has left
    size_t counted_bytes = 0;       // its part of bytes_
    // As of the last change, for IsWorthSweeping. As in Table; the second is 0 until the shard has
    // grown enough for a sweep.
    std::atomic<CommitTs> oldest{UINT64_MAX};
    std::atomic<CommitTs> newest_needing{0};
    // Where the buckets and the next entry of `table` are or were, for prefetching; nullptr =
    // unknown.
    std::atomic<const Bucket*> buckets{nullptr};
    std::atomic<uint32_t> bucket_mask{0};
    std::atomic<const char*> next_entry{nullptr};
  };

  // The low half of the hash chooses the bucket, the high half the shard.
  static uint32_t ShardOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) % kShards; }
  static SettlingVersion Describe(const Entry& entry);
  static size_t BytesOf(const Shard& shard);
  void NoteChange(Shard& shard);

  Runtime& runtime_;
  KnownWrites& known_;
  const std::unique_ptr<Shard[]> shards_;
  std::atomic<size_t> bytes_{0};  // of the entries
  std::atomic<CommitTs> newest_{0};
};

}  // namespace latchkey
