// ToyStore: a small store of numbers with a log, pages, a doublewrite area, two superblocks and
// selectable bugs. It tests the crash campaign itself (RELIABILITY.md 3.0).
//
// data: superblocks at 0 and 4096, doublewrite area at 8192 (header block and kBatch pages), pages.
//
// log: a ring of blocks of 512 bytes. LSN = position in the endless stream of which the ring holds
// the end.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/device/block_device.h"

namespace latchkey {

enum class ToyBug : uint8_t {
  kNone,
  kNoTornPageProtection,
  kAckBeforeFlush,
  kLogReclaimedBeforeDataFlush,
  kSuperblockSingleCopy,
  kPageBeforeItsLog,
  kLogWithoutChecksum,
  kRecoveryResetsLogBeforeFlush,
  kLogTailRewritten,
  kRecoveryReusesDoublewriteArea,
  kLogRingOverrun,
  kCheckpointWithoutSync,
};
inline constexpr std::array kAllToyBugs = {ToyBug::kNoTornPageProtection,
                                           ToyBug::kAckBeforeFlush,
                                           ToyBug::kLogReclaimedBeforeDataFlush,
                                           ToyBug::kSuperblockSingleCopy,
                                           ToyBug::kPageBeforeItsLog,
                                           ToyBug::kLogWithoutChecksum,
                                           ToyBug::kRecoveryResetsLogBeforeFlush,
                                           ToyBug::kLogTailRewritten,
                                           ToyBug::kRecoveryReusesDoublewriteArea,
                                           ToyBug::kLogRingOverrun,
                                           ToyBug::kCheckpointWithoutSync};
const char* ToyBugName(ToyBug bug);

/// Not thread-safe; one open store per pair of devices.
class ToyStore {
 public:
  static constexpr uint32_t kPages = 16;
  static constexpr uint32_t kValuesPerPage = 250;
  static constexpr uint32_t kValues = kPages * kValuesPerPage;
  static constexpr uint64_t kLogBlocks = 24;
  struct Change {
    uint64_t number = 0;  ///< below kValues
    uint64_t value = 0;
  };

  static absl::StatusOr<std::unique_ptr<ToyStore>> Create(std::unique_ptr<BlockDevice> data,
                                                          std::unique_ptr<BlockDevice> log,
                                                          ToyBug bug);
  /// Opens the store and recovers it.
  static absl::StatusOr<std::unique_ptr<ToyStore>> Open(std::unique_ptr<BlockDevice> data,
                                                        std::unique_ptr<BlockDevice> log,
                                                        ToyBug bug);
  /// Durable on return, and atomic. At most 120 changes.
  absl::Status Commit(std::span<const Change> changes);
  /// Writes a batch of changed pages, as a page cleaner does.
  absl::Status FlushSome(uint64_t random);
  absl::Status Checkpoint();
  uint64_t value(uint32_t number) const;

 private:
  static constexpr uint64_t kPageSize = 2048;
  static constexpr uint64_t kBlock = 512;
  static constexpr uint32_t kBatch = 4;
  static constexpr uint64_t kArea = 8192;
  static constexpr uint64_t kFirstPage = kArea + kBlock + kBatch * kPageSize;
  static constexpr uint64_t kDataBytes = kFirstPage + kPages * kPageSize;
  struct Page {
    uint64_t checksum, number, lsn;
    std::array<uint64_t, kValuesPerPage> values;
    std::array<uint64_t, 3> unused;
  };
  static_assert(sizeof(Page) == kPageSize);

  ToyStore(std::unique_ptr<BlockDevice> data, std::unique_ptr<BlockDevice> log, ToyBug bug)
      : data_(std::move(data)), log_(std::move(log)), bug_(bug), pages_(kPages) {}

  absl::Status WriteData(uint64_t offset, const void* bytes, uint64_t size);
  absl::Status ReadData(uint64_t offset, void* bytes, uint64_t size);
  absl::Status WriteSuperblock();
  absl::Status ReadSuperblock();
  absl::Status WriteGroup(std::span<const Change> changes);
  absl::Status RingWrite(uint64_t lsn, std::span<const std::byte> bytes);
  absl::Status RingRead(uint64_t lsn, std::span<std::byte> bytes);
  void Apply(std::span<const Change> changes);
  absl::Status WritePages(std::span<const uint32_t> numbers);
  absl::Status WriteAllPages();
  absl::Status RepairPages();
  absl::Status ReadPages();
  absl::Status Redo();

  const std::unique_ptr<BlockDevice> data_, log_;
  const ToyBug bug_;
  std::vector<Page> pages_;
  std::array<bool, kPages> dirty_{};
  uint64_t generation_ = 0;  // of the superblock
  uint64_t epoch_ = 1;       // of the log: incremented by each recovery
  uint64_t head_ = 0;        // the oldest LSN that recovery needs
  uint64_t tail_ = 0;        // start of the next group
  uint64_t commits_ = 0;
  bool recovering_ = false;
};

}  // namespace latchkey
