// A table of keys whose versions were spilled. It holds a timestamp for each key. This is the timestamp
// of the newest commit that is known to have written the key.
//
// SettledVersions asks the table before it keeps a version. It forgets a version that was spilled. So
// without the table it would keep the next version of that key, too, although the long snapshot sees
// the spilled one. With the timestamp it keeps the next version only if a snapshot reads between the
// two writes.
//
// It holds no keys but fingerprints of 88 bits, by a hash with a secret of this process. Two keys
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

/// `hash`: the low half of VersionTable::HashOf of the key. Thread-safety: every actor may call every
/// member at once.
class SpilledWrites {
 public:
  explicit SpilledWrites(Runtime& runtime);

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

  /// Remembers that a commit with this timestamp wrote the key. No effect without memory.
  void Note(uint32_t hash, TreeId tree, std::string_view key, CommitTs ts);
  /// Whether a write of the key before `ts` is remembered, and no snapshot reads between both. If
  /// so, remembers the write at `ts` in its place.
  bool HasSinceLastRead(uint32_t hash, TreeId tree, std::string_view key, CommitTs ts,
                        const LiveSnapshots& live);
  /// Prefetches what HasSinceLastRead reads.
  void Prefetch(uint32_t hash) const;

 private:
  static constexpr uint32_t kLatches = 64;
  static constexpr uint32_t kWritesPerLine = 4;
  static constexpr uint32_t kTsBits = 40;
  static constexpr uint64_t kTsMask = (uint64_t{1} << kTsBits) - 1;

  struct Write {
    uint64_t low = 0;      // of the fingerprint
    uint64_t high_ts = 0;  // the rest of the fingerprint, then the timestamp; 0 = none
    CommitTs ts() const { return high_ts & kTsMask; }
  };
  struct alignas(64) Line {
    Write writes[kWritesPerLine];
  };
  struct alignas(64) Latch {
    SpinLatch latch;
  };

  // The same for all hashes of a line.
  Latch& LatchOf(uint32_t hash) { return latches_[hash % kLatches]; }
  Line& LineOf(uint32_t hash) {
    return (*lines_)[hash & line_mask_.load(std::memory_order_relaxed)];
  }
  // Replaces the lines, with all latches held. Returns the old ones.
  std::unique_ptr<ZeroedArray<Line>> Replace(std::unique_ptr<ZeroedArray<Line>> lines,
                                             size_t count) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  // The fingerprint; its timestamp is 0. The tree is added to the hash of the key. As the seed of the
  // hash it would not do: with XXH3 two short keys that differ in one bit may have one hash, each with
  // a seed of its own.
  Write FingerprintOf(TreeId tree, std::string_view key) const;
  static Write* FindIn(Line& line, const Write& fingerprint);

  Runtime& runtime_;
  const std::unique_ptr<Latch[]> latches_;
  const uint64_t secret_;
  std::atomic<size_t> most_bytes_{0};
  std::atomic<size_t> bytes_{0};
  std::unique_ptr<ZeroedArray<Line>> lines_;      // nullptr = none; changed with all latches held
  std::atomic<uint32_t> line_mask_{0};            // number of lines - 1
  std::atomic<const Line*> first_line_{nullptr};  // for prefetching
};

}  // namespace latchkey
