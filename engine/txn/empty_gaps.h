// Ranges of keys that are known to be empty for a long snapshot. A record that is inserted into such a
// gap needs no version that says "not there": the gap says so. Nor do later changes of that record.
//
// A workload that appends (orders, events, a log) beside a long snapshot inserts into few gaps again and
// again. Without gaps each of its inserts, and the first change of each such record, would keep a
// version until the snapshot ends.
//
// A gap lies strictly between its ends. It is noted under the exclusive latch of the leaf that covers
// it, at an insert, while there is no record between the two ends, not even a ghost. So no running
// snapshot sees a record there: a ghost goes only when no snapshot sees a value of its key, a range
// delete changes pages only when no older snapshot is left, and a leaf has no puts that still wait. What
// is inserted later commits after these snapshots. The gap answers for those below a timestamp: that of
// the newest long snapshot, plus one.
//
// Invariants
//  1. A gap is noted before a version is dropped because of it, and is dropped when no snapshot for
//     which it answers is left. So a reader that looks for versions first and for gaps last misses none.
//  2. The entries of a transaction are in memory if a gap that answers for its snapshot covers one of
//     them: they say what it has written there itself. Its undo is not spilled then. No gap covers what
//     it has spilled, because those records or ghosts were on the page when the gap was noted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/txn/snapshot_manager.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once.
class EmptyGaps {
 public:
  /// The ends of a gap. They are not part of it.
  struct Ends {
    std::string lower;
    std::string upper;
    bool has_upper = true;  ///< false: the gap ends with the tree
  };

  explicit EmptyGaps(Runtime& runtime);
  ~EmptyGaps();
  EmptyGaps(const EmptyGaps&) = delete;
  EmptyGaps& operator=(const EmptyGaps&) = delete;

  // ---- Trees, at the insert of a key that has no record, under the exclusive latch of its leaf

  /// Whether gaps are noted now at inserts of a transaction that reads at `read_ts`. They are not if
  /// they would answer for the transaction itself. A few instructions.
  bool IsWanted(CommitTs read_ts) const {
    const CommitTs below = noted_below_.load(std::memory_order_relaxed);
    return below != 0 && read_ts >= below;
  }
  /// Whether the gap around `key` should be noted: it is not known, and `left`, the key before it, was
  /// inserted lately. Keys that are inserted at random seldom meet this, so they note no gaps. Remembers
  /// `key` as inserted. May say no by mistake, and does if gaps take as much memory as they may.
  bool IsWorthNoting(TreeId tree, std::string_view key, std::string_view left);
  /// Notes that the tree has no record between the ends. No effect if there is no memory, or if none is
  /// wanted any more.
  void Note(TreeId tree, Ends ends);

  // ---- Readers and writers

  /// Whether the key lies in a gap that answers for snapshots at `read_ts`: such a snapshot sees no
  /// record of it. A few instructions if no gap answers for such snapshots.
  bool IsEmptyFor(CommitTs read_ts, TreeId tree, std::string_view key) {
    return read_ts < below() && read_ts < EmptyBelow(tree, key);
  }
  /// No snapshot below this timestamp sees a record of the key; 0 = nothing is known.
  CommitTs EmptyBelow(TreeId tree, std::string_view key) { return Find(tree, key, nullptr); }
  /// Asks for several keys, and remembers the gap that it found last: keys that a transaction inserts
  /// often lie in one gap. Only one actor may use it.
  class Search {
   public:
    explicit Search(EmptyGaps& gaps) : gaps_(gaps) {}
    /// As EmptyGaps::EmptyBelow, but may say a smaller timestamp.
    CommitTs EmptyBelow(TreeId tree, std::string_view key);

   private:
    friend class EmptyGaps;
    static constexpr size_t kMostBytes = 64;  // a gap with a longer end is not remembered

    bool Holds(TreeId tree, std::string_view key) const;

    EmptyGaps& gaps_;
    CommitTs below_ = 0;  // 0 = no gap is remembered
    TreeId tree_{0};
    bool is_last_ = false;  // as in Upper
    uint8_t lower_size_ = 0, upper_size_ = 0;
    char lower_[kMostBytes], upper_[kMostBytes];
  };
  /// No gap answers for a snapshot from this timestamp on; 0 = there is no gap.
  CommitTs below() const { return below_.load(std::memory_order_acquire); }

  // ---- The reclaimer

  /// From now on gaps are noted for snapshots below `below`, after which a transaction has committed; 0
  /// = for none.
  void NoteFor(CommitTs below) { noted_below_.store(below, std::memory_order_relaxed); }
  /// Drops the gaps that answer for no snapshot of `live`, and unites those that answer for the same.
  void Tidy(const LiveSnapshots& live);
  /// Limits the memory of gaps.
  void SetMostBytes(size_t bytes) { most_bytes_.store(bytes, std::memory_order_relaxed); }

  bool any() const { return below() != 0 || noted_below_.load(std::memory_order_relaxed) != 0; }
  /// Adds up the trees: for statistics.
  uint64_t count();
  /// Memory, bytes.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kShards = 16;
  static constexpr uint32_t kRemembered = 1024;

  struct Place {
    TreeId tree{0};
    std::string lower;
  };
  struct PlaceView {
    TreeId tree{0};
    std::string_view lower;
  };
  struct IsBefore {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.tree != b.tree ? a.tree < b.tree : std::string_view(a.lower) < b.lower;
    }
  };
  struct Upper {
    std::string key;
    bool is_last = false;  // the gap ends with the tree
  };
  using Map = std::map<Place, Upper, IsBefore>;  // no two gaps of a map overlap
  // The gaps that answer for the same snapshots.
  struct Set {
    CommitTs below = 0;
    Map gaps;
  };
  struct alignas(64) Shard {
    SpinLatch latch;
    std::vector<std::unique_ptr<Set>> sets;  // `below` ascending; guarded by latch
  };

  static size_t BytesOf(const Map::value_type& gap);
  static bool EndsBefore(const Upper& upper, std::string_view key);
  // The gap that holds the key; nullptr = none.
  static const Map::value_type* Covering(const Map& gaps, TreeId tree, std::string_view key);
  // EmptyBelow. `search` remembers the gap, unless it is nullptr.
  CommitTs Find(TreeId tree, std::string_view key, Search* search);
  static void Remember(const Set& set, const Map::value_type& gap, Search* search);
  void Add(Map* gaps, Place place, Upper upper);
  void Unite(Shard& shard, const LiveSnapshots& live, std::vector<std::unique_ptr<Set>>* dropped);
  Shard& ShardOf(TreeId tree) { return shards_[Raw(tree) % kShards]; }

  Runtime& runtime_;
  const std::unique_ptr<Shard[]> shards_;
  // The keys that were inserted lately. One part of a key's hash chooses the element. The element holds
  // another part of the hash. Its low bits are 0 if the key lay in no gap. Otherwise they tell for which
  // snapshot the gap was noted.
  const std::unique_ptr<std::atomic<uint32_t>[]> remembered_;
  std::atomic<CommitTs> noted_below_{0};  // 0 = no gaps are noted
  std::atomic<CommitTs> below_{0};
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> most_bytes_{256 << 10};
  SpinLatch noting_latch_;  // held while gaps are noted or dropped; taken before that of a shard
};

}  // namespace latchkey
