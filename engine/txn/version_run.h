// Versions on the spill device: the file, and sorted runs in it. A run is written once.
//
// A run is sorted by (tree, key), the newest version of a key first. It is cut into blocks of about
// 16 KiB that begin with a checksum. Memory holds the first key of each block and a filter. If the
// filter does not know a key, the key is not in the run; if it does, the key may be in it.
//
// The file belongs to this process: it is never synced, and never read after a restart.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/txn/settled_versions.h"
#include "storage/base/ids.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The space of the spill device, in extents.
/// Thread-safety: every actor may call every member at once.
class SpillFile {
 public:
  static constexpr uint64_t kExtentBytes = 256 << 10;
  /// The device grows by this much, and keeps as much once it has grown.
  static constexpr uint64_t kGrowthBytes = 16 << 20;

  /// Uses at most `most_bytes` of the device.
  SpillFile(Runtime& runtime, std::unique_ptr<BlockDevice> device, uint64_t most_bytes);

  /// The offset of a free extent. ResourceExhausted: all extents are in use, or the device is full.
  absl::StatusOr<uint64_t> Take();
  /// Does no I/O.
  void GiveBack(const std::vector<uint64_t>& extents);
  /// Gives the device's space back beyond kGrowthBytes if no extent is in use, and all of it if the file is
  /// unusable. A growth writes all bytes that it adds, and most spills are small.
  void Shrink();
  /// Reads and writes within one extent. After a failed write the file is unusable for good.
  absl::Status Read(uint64_t offset, std::span<std::byte> out);
  absl::Status Write(uint64_t offset, std::span<const std::byte> data);

  /// False: a write has failed, and no more can be written.
  bool usable() const { return !failed_.load(std::memory_order_relaxed); }
  /// Whether more than half of the most bytes is in use.
  bool is_half_full() const { return bytes() > most_bytes_ / 2; }
  /// Bytes of the extents in use.
  uint64_t bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  // Resizes the device to `bytes`. All extents from `first_free` on are free then. REQUIRES: none before it
  // is free.
  absl::Status Resize(uint64_t bytes, uint64_t first_free) LATCHKEY_REQUIRES(mutex_);

  const std::unique_ptr<BlockDevice> device_;
  const uint64_t most_bytes_;
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> used_bytes_{0};
  Mutex mutex_;  // guards the next, and the size of the device
  std::vector<uint64_t> free_;
  uint64_t size_ = 0;
};

struct SpilledBlock {
  uint64_t run = 0;
  size_t index = 0;
  AlignedBuffer buffer;
  uint64_t reads = 0;  ///< of blocks into this buffer
};

/// The block of each run that a reader has read last: a scan finds many keys in one block. Belongs
/// to one transaction.
class SpilledBlocks {
 public:
  SpilledBlock* Of(uint64_t run);
  /// Blocks read so far.
  uint64_t reads() const;

 private:
  static constexpr size_t kMostBlocks = 24;
  std::vector<std::unique_ptr<SpilledBlock>> blocks_;
  size_t next_ = 0;
};

/// Immutable once built. Its destruction frees its space.
/// Thread-safety: every actor may call every member at once.
class VersionRun {
 public:
  ~VersionRun();
  VersionRun(const VersionRun&) = delete;
  VersionRun& operator=(const VersionRun&) = delete;

  bool MayContain(uint64_t hash) const;

  /// The version that a reader looks for: the one with the smallest timestamp above `read_ts`.
  struct Oldest {
    CommitTs ts = UINT64_MAX;  ///< UINT64_MAX = none so far
    RecordState state = RecordState::kAbsent;
    bool found = false;  ///< found in a run
  };
  /// Looks for an older version of the key than *oldest; `*old` gets its value or reference.
  /// `commit_ts`: timestamp of all versions here; 0 = each has its own.
  absl::Status Find(uint64_t hash, TreeId tree, std::string_view key, CommitTs read_ts,
                    CommitTs commit_ts, SpilledBlocks* blocks, Oldest* oldest,
                    std::string* old) const;

  /// A write that a run holds.
  struct Write {
    CommitTs ts = 0;                            ///< 0 = the run holds none of the key
    RecordState before = RecordState::kAbsent;  ///< the state that it has replaced
  };
  /// The newest write of the key.
  absl::StatusOr<Write> NewestWrite(uint64_t hash, TreeId tree, std::string_view key,
                                    SpilledBlocks* blocks) const;

  uint64_t count() const { return count_; }
  CommitTs newest() const { return newest_; }
  /// Whether a version leaves a ghost or an overflow chain when it is dropped.
  bool has_chores() const { return has_chores_; }
  /// Whether the old state of a version is a ghost.
  bool has_old_ghosts() const { return has_old_ghosts_; }
  /// Memory, bytes.
  size_t bytes() const;
  uint64_t disk_bytes() const { return extents_.size() * SpillFile::kExtentBytes; }
  uint32_t level() const { return level_; }

 private:
  friend class RunBuilder;
  friend class RunScanner;
  struct Fence {
    TreeId tree{0};
    std::string key;  // the first key of the block
    uint64_t offset = 0;
    uint32_t length = 0;
  };

  explicit VersionRun(std::shared_ptr<SpillFile> file);
  absl::Status ReadBlock(size_t index, SpilledBlock* block) const;
  /// Visits the writes of the key, newest first.
  absl::Status VisitWrites(uint64_t hash, TreeId tree, std::string_view key, SpilledBlocks* blocks,
                           absl::FunctionRef<void(const SettlingVersion&)> visit) const;

  const std::shared_ptr<SpillFile> file_;
  uint64_t id_ = 0;  // unique in this process
  std::vector<uint64_t> extents_;
  std::vector<Fence> fences_;
  std::vector<uint64_t> filter_;
  uint64_t count_ = 0;
  size_t key_bytes_ = 0;
  CommitTs newest_ = 0;
  bool has_chores_ = false, has_old_ghosts_ = false;
  uint32_t level_ = 0;
};

/// Writes a run. Not thread-safe.
class RunBuilder {
 public:
  /// For at most `versions` versions, with `filter_bits` bits of filter for each. `level`: number
  /// of merges that its versions have been through.
  RunBuilder(std::shared_ptr<SpillFile> file, uint64_t versions, uint32_t filter_bits,
             uint32_t level);

  /// REQUIRES: calls in the order of a run.
  absl::Status Add(const SettlingVersion& version);
  /// nullptr = nothing was added.
  absl::StatusOr<std::shared_ptr<VersionRun>> Finish();

 private:
  absl::Status MakeRoomFor(size_t size);
  absl::Status CloseBlock();
  absl::Status WriteExtent();
  absl::Status BeginExtent();

  std::shared_ptr<VersionRun> run_;
  AlignedBuffer extent_;
  uint64_t extent_offset_ = 0;  // on the device
  size_t written_ = 0;          // bytes of the extent's closed blocks; the open one follows them
  size_t block_bytes_ = 0;      // of the open block, without its header; 0 = there is none
  bool has_extent_ = false;     // the closed blocks have a place on the device
};

/// Reads a run from its beginning to its end. Not thread-safe.
class RunScanner {
 public:
  explicit RunScanner(std::shared_ptr<const VersionRun> run);
  /// False = the end. `*version` stays valid until the next call.
  absl::StatusOr<bool> Next(SettlingVersion* version);

 private:
  const std::shared_ptr<const VersionRun> run_;
  SpilledBlock block_;
  size_t next_block_ = 0;
  size_t at_ = 0, end_ = 0;
};

}  // namespace latchkey
