// ChangeBuffer: if the leaf of a put is in no frame, the put waits here instead of reading the leaf.
// The leaf takes its waiting puts when the pool loads it. The pool loads it for a reader, for a
// checkpoint, or because this buffer is full. The idea is InnoDB's change buffer. Ours lies in memory
// and is ordered by page: readers find the puts in the leaf, so nothing above the pool knows of it.
//
// A leaf becomes known when it leaves its frame: its LSN, its mark and its free bytes. A put waits
// only if it surely fits, so taking the changes never splits the leaf.
//
//   leaf in a frame --OnEvicted--> known --Place::Add--> has changes
//         ^---------OnPublished------'--OnLoaded, OnPublished-'
//
// Once the store takes no more pages, for ever, a leaf that comes in takes its changes, but its frame
// stays clean and the changes stay here, too. So the frame can be given to another page.
//
// Invariants
//  1. A leaf is known only while it is in no frame, or its changes stay. What is known of it is as in
//     the store, with the waiting changes on top.
//  2. A waiting change is committed, logged with the leaf's LSN before it, and seen by every
//     snapshot (SnapshotManager::StampUnseen).
//
// Thread-safety: every actor may call every member at once. What is known of a leaf belongs to the
// holder of its latch (AbsentGuard, or the pool's); each shard's latch guards its map and what
// HasRoomIn, PagesBefore and the choice of full leaves read.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bufferpool/absent_pages.h"
#include "bufferpool/buffer_pool.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct ChangeBufferStats {
  uint64_t changes = 0;  ///< puts that waited, since the open
  uint64_t bytes = 0;    ///< memory in use now
};

class ChangeBuffer final : public AbsentPages {
  struct Change;
  struct AbsentLeaf;

 public:
  /// A full leaf: it has no room for another record of the size of its newest one.
  struct FullLeaf {
    PageId page;
    TreeId tree{0};
    std::string key;        ///< of the newest record
    size_t value_size = 0;  ///< of the newest record, bytes
  };
  struct Options {
    /// Memory, and a little more while a leaf is read for want of room.
    uint64_t most_bytes = 0;
    /// Whether the store takes pages. Once false it stays false, and the store writes no page, not
    /// even a copy of an old one.
    std::function<bool()> is_writable = [] { return true; };
  };

  /// The caller attaches it to `pool` (BufferPool::SetAbsentPages).
  ChangeBuffer(Runtime& runtime, BufferPool& pool, Options options);
  /// REQUIRES: detached from the pool.
  ~ChangeBuffer() override;
  ChangeBuffer(const ChangeBuffer&) = delete;
  ChangeBuffer& operator=(const ChangeBuffer&) = delete;

  /// A put that is about to wait: its leaf is latched, and has room for it.
  class [[nodiscard]] Place {
   public:
    Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    /// Unlatches the leaf. Without Add nothing has happened.
    ~Place();

    PageId page() const { return page_; }
    TxnId mark() const;  ///< of the leaf
    Lsn lsn() const;     ///< of the leaf
    /// The put waits from now on: logged at `lsn` (Lsn{0}: not logged) by the transaction `txn`,
    /// which has committed. Cannot fail.
    void Add(Lsn lsn, TxnId txn);

   private:
    friend class ChangeBuffer;
    ChangeBuffer* buffer_ = nullptr;
    PageId page_ = kInvalidPageId;
    AbsentGuard latch_;
    AbsentLeaf* leaf_ = nullptr;
    std::unique_ptr<Change> change_;
    TreeId tree_{0};
    bool fills_leaf_ = false;  // the leaf has no room for another such put
  };

  /// Whether any leaf is known. Takes an instruction or two.
  bool empty() const { return leaves_.load(std::memory_order_relaxed) == 0; }
  /// Latches the leaf `page` of `tree` and prepares a put there. False: the leaf is not known, is
  /// latched, or has no room; or the buffer is full, because leaves could not be brought in. Throws
  /// std::bad_alloc with nothing changed. REQUIRES: the record is stored in the leaf.
  [[nodiscard]] bool TryPlace(TreeId tree, PageId page, std::string_view key,
                              std::string_view value, Place* place);
  /// Whether the leaf `page` is known and has room for such a put now.
  bool HasRoomIn(PageId page, std::string_view key, std::string_view value);
  /// Call it after a put, with no latches held. If many leaves have no room for another put, it brings
  /// them in, with all reads in flight at once, and returns them: the caller splits them
  /// (SplitAhead). Otherwise the next put into each of them would wait for a read. A hint: without
  /// memory it does nothing.
  std::vector<FullLeaf> BringInFull();
  /// Call it after a put, with no latches held. If the buffer is full, it brings in some of the leaves
  /// with the most changes. A hint: without memory it does nothing.
  void MakeRoom();

  ChangeBufferStats stats() const;

  // AbsentPages.
  void OnEvicted(PageId page, std::span<const std::byte> bytes) override;
  absl::Status OnLoaded(PageId page, std::span<std::byte> bytes,
                        std::optional<Lsn>* changed) override;
  void OnPublished(PageId page) override;
  void OnDropped(PageId page) override;
  std::vector<PageId> PagesBefore(Lsn lsn) override;
  bool HasChangesBefore(PageId page, Lsn lsn) override;

 private:
  static constexpr uint32_t kShards = 64;
  using Leaves = std::unordered_map<uint64_t, AbsentLeaf>;  // by page id

  struct alignas(64) Shard {
    SpinLatch latch;
    Leaves leaves;
  };

  Shard& ShardOf(PageId page);
  /// Takes what is known of the leaf out of its shard. Empty: nothing is known.
  Leaves::node_type Take(PageId page);
  void Forget(Leaves::node_type leaf);
  absl::Status Apply(PageId page, AbsentLeaf& leaf, std::span<std::byte> bytes);
  void NoteFull(FullLeaf leaf);
  /// The noted leaves, each once, as soon as kFullAtOnce are noted; before that, none.
  std::vector<FullLeaf> TakeFull();
  /// The leaves of one shard with the most changes.
  std::vector<PageId> FullestOf(Shard& shard);

  Runtime& runtime_;
  BufferPool& pool_;
  const Options options_;
  const std::unique_ptr<Shard[]> shards_;
  std::atomic<uint64_t> leaves_{0}, change_bytes_{0};  // now
  std::atomic<uint64_t> changes_{0};                   // since the open
  std::atomic<uint32_t> next_shard_{0};
  static constexpr uint32_t kFullAtOnce = 32;  // enough to keep a device busy
  SpinLatch full_latch_;
  std::array<FullLeaf, kFullAtOnce> full_ LATCHKEY_GUARDED_BY(full_latch_);
  std::atomic<uint32_t> full_count_{0};  // changed under full_latch_
};

}  // namespace latchkey
