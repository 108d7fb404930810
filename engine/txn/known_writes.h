// A table of keys that are known to have been written beside a long snapshot. It holds a timestamp for
// each key: that of a commit that has written the key, mostly the newest one.
//
// The version of that commit, or an older one, is settled or spilled if a snapshot before the commit
// needs it. So the version of the key's next commit is needed only by a snapshot that reads between the
// two. That stays true for good, also when versions are dropped because their snapshots have ended.
// Committers and the reclaimer ask this table before they drop a version. The answer takes one line of
// memory. The settled versions would need a search, and the spill device a read.
//
// It holds no keys but fingerprints of 87 bits, by a hash with a secret of this process. Two keys
// with one fingerprint would make a snapshot read a wrong value. In a table of a million keys a
// lookup of a key that is not there meets this with a probability of 10^-26.
//
// The table has a fixed size and may forget a write. A line of the cache holds four writes; a fifth
// replaces the oldest of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/txn/snapshot_manager.h"
#include "storage/base/ids.h"
#include "storage/base/thread_annotations.h"
#include "storage/base/zeroed_array.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// `hash`: VersionTable::HashOf of the key. Thread-safety: every actor may call every member at once.
/// An actor locks its own lock, which only Clear and MakeRoom take as well, and then a bit in the line.
class KnownWrites {
 public:
  explicit KnownWrites(Runtime& runtime);

  /// The memory that it may take, bytes, from the next MakeRoom on; less than 4 KiB: it remembers
  /// nothing.
  void SetMostBytes(size_t bytes) { most_bytes_.store(bytes, std::memory_order_relaxed); }
  /// Takes memory, unless it has some. Throws std::bad_alloc. REQUIRES: no latches held.
  void MakeRoom();
  /// Forgets all writes and gives the memory back. REQUIRES: no latches held.
  void Clear();
  size_t most_bytes() const { return most_bytes_.load(std::memory_order_relaxed); }
  /// Memory, bytes.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  /// Remembers that a commit with this timestamp wrote the key. No effect without memory, or if a newer
  /// write of the key is remembered.
  void Note(uint64_t hash, TreeId tree, std::string_view key, CommitTs ts);
  /// As Note, but without effect if any write of the key is remembered. Use it when the version of this
  /// write is kept. A later sweep can then compare this version with the remembered, older write.
  void NoteFirst(uint64_t hash, TreeId tree, std::string_view key, CommitTs ts);
  /// Whether a write of the key with a timestamp in [since, ts) is remembered. If so, remembers the
  /// write at `ts` in its place.
  bool HasSince(uint64_t hash, TreeId tree, std::string_view key, CommitTs since, CommitTs ts);
  /// Prefetches what HasSince reads.
  void Prefetch(uint64_t hash) const;

 private:
  static constexpr uint32_t kLocks = 64;
  static constexpr uint32_t kWritesPerLine = 4;
  static constexpr uint32_t kTsBits = 40;
  static constexpr uint64_t kTsMask = (uint64_t{1} << kTsBits) - 1;
  static constexpr uint64_t kLatched = uint64_t{1} << kTsBits;  // of the first write of a line
  static constexpr uint64_t kHighMask = ~(kTsMask | kLatched);

  struct Write {
    uint64_t low = 0;  // of the fingerprint
    // The rest of the fingerprint, kLatched, the timestamp; 0 = none. Actors that wait for the latch
    // read and write it, too: so it is accessed only through word().
    mutable uint64_t high_ts = 0;
    std::atomic_ref<uint64_t> word() const { return std::atomic_ref<uint64_t>(high_ts); }
    uint64_t high() const { return word().load(std::memory_order_relaxed); }
    CommitTs ts() const { return high() & kTsMask; }
    // Leaves kLatched as it is.
    void Set(const Write& fingerprint, CommitTs ts) {
      low = fingerprint.low;
      word().store(fingerprint.high() | (high() & kLatched) | ts, std::memory_order_relaxed);
    }
  };
  struct alignas(64) Line {
    Write writes[kWritesPerLine];
  };
  // The line of a key, latched.
  class Place {
   public:
    Place(Line& line, Runtime& runtime);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // nullptr = not remembered.
    Write* Find(const Write& fingerprint);
    // The write that the next one replaces.
    Write& Oldest();

   private:
    Line& line_;
  };
  struct alignas(64) Lock {
    SpinLatch latch;
  };

  void NoteAbove(CommitTs most, uint64_t hash, TreeId tree, std::string_view key, CommitTs ts);
  Lock& OwnLock() { return locks_[runtime_.ActorIndex() % kLocks]; }
  static size_t IndexOf(uint64_t hash, uint32_t mask) { return static_cast<uint32_t>(hash) & mask; }
  Line& LineOf(uint64_t hash) {
    return (*lines_)[IndexOf(hash, line_mask_.load(std::memory_order_relaxed))];
  }
  // Replaces the lines, with all locks held. Returns the old ones.
  std::unique_ptr<ZeroedArray<Line>> Replace(std::unique_ptr<ZeroedArray<Line>> lines,
                                             size_t count) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  // The fingerprint; its timestamp is 0. The tree is added to the hash of the key. As the seed of the
  // hash it would not do: with XXH3 two short keys that differ in one bit may have one hash, each with
  // a seed of its own.
  Write FingerprintOf(TreeId tree, std::string_view key) const;

  Runtime& runtime_;
  const std::unique_ptr<Lock[]> locks_;  // an actor's index chooses its lock
  const uint64_t secret_;
  std::atomic<size_t> most_bytes_{0};
  std::atomic<size_t> bytes_{0};
  std::unique_ptr<ZeroedArray<Line>> lines_;      // nullptr = none; changed with all locks held
  std::atomic<uint32_t> line_mask_{0};            // number of lines - 1
  std::atomic<const Line*> first_line_{nullptr};  // for prefetching
};

}  // namespace latchkey
