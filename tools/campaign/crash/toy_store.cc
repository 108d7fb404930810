#include "tools/campaign/crash/toy_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {
namespace {

constexpr uint64_t kMagic = 0x746f792073746f72;
constexpr uint64_t kSuperblockPlaces[] = {0, 4096};

struct ToySuperblock {
  uint64_t checksum, magic, generation, epoch, head;
};

struct ToyGroupHeader {
  uint64_t checksum, lsn, epoch, changes;
};

struct ToyAreaHeader {
  uint64_t checksum, pages;
  uint64_t numbers[4];
};

template <typename T>
uint64_t ChecksumOf(const T& value, uint64_t size = sizeof(T)) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  return Hash64(bytes + sizeof(uint64_t), size - sizeof(uint64_t), kMagic);
}

}  // namespace

const char* ToyBugName(ToyBug bug) {
  static constexpr const char* kNames[] = {"none",
                                           "no-torn-page-protection",
                                           "ack-before-flush",
                                           "log-reclaimed-before-data-flush",
                                           "superblock-single-copy",
                                           "page-before-its-log",
                                           "log-without-checksum",
                                           "recovery-resets-log-before-flush",
                                           "log-tail-rewritten",
                                           "recovery-reuses-doublewrite-area",
                                           "log-ring-overrun",
                                           "checkpoint-without-sync"};
  return kNames[static_cast<size_t>(bug)];
}

absl::Status ToyStore::WriteData(uint64_t offset, const void* bytes, uint64_t size) {
  AlignedBuffer buffer((size + kBlock - 1) / kBlock * kBlock);
  std::memcpy(buffer.data(), bytes, size);
  return data_->Write(offset, buffer.span(), IoClass::kMeta);
}

absl::Status ToyStore::ReadData(uint64_t offset, void* bytes, uint64_t size) {
  AlignedBuffer buffer((size + kBlock - 1) / kBlock * kBlock);
  LATCHKEY_RETURN_IF_ERROR(data_->Read(offset, buffer.span(), IoClass::kMeta));
  std::memcpy(bytes, buffer.data(), size);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ToyStore>> ToyStore::Create(std::unique_ptr<BlockDevice> data,
                                                           std::unique_ptr<BlockDevice> log,
                                                           ToyBug bug) {
  std::unique_ptr<ToyStore> store(new ToyStore(std::move(data), std::move(log), bug));
  LATCHKEY_RETURN_IF_ERROR(store->data_->Resize(kDataBytes));
  LATCHKEY_RETURN_IF_ERROR(store->log_->Resize(kLogBlocks * kBlock));
  store->dirty_.fill(true);
  LATCHKEY_RETURN_IF_ERROR(store->Checkpoint());
  return store;
}

absl::StatusOr<std::unique_ptr<ToyStore>> ToyStore::Open(std::unique_ptr<BlockDevice> data,
                                                         std::unique_ptr<BlockDevice> log,
                                                         ToyBug bug) {
  std::unique_ptr<ToyStore> store(new ToyStore(std::move(data), std::move(log), bug));
  store->recovering_ = true;
  LATCHKEY_RETURN_IF_ERROR(store->ReadSuperblock());
  LATCHKEY_RETURN_IF_ERROR(store->RepairPages());
  LATCHKEY_RETURN_IF_ERROR(store->ReadPages());
  LATCHKEY_RETURN_IF_ERROR(store->Redo());
  ++store->epoch_;
  if (bug == ToyBug::kRecoveryResetsLogBeforeFlush) {
    store->head_ = store->tail_;
    LATCHKEY_RETURN_IF_ERROR(store->WriteSuperblock());
  }
  LATCHKEY_RETURN_IF_ERROR(store->Checkpoint());
  store->recovering_ = false;
  return store;
}

absl::Status ToyStore::WriteSuperblock() {
  ToySuperblock block{
      .checksum = 0, .magic = kMagic, .generation = ++generation_, .epoch = epoch_, .head = head_};
  block.checksum = ChecksumOf(block);
  const size_t place = bug_ == ToyBug::kSuperblockSingleCopy ? 0 : generation_ % 2;
  LATCHKEY_RETURN_IF_ERROR(WriteData(kSuperblockPlaces[place], &block, sizeof(block)));
  return data_->Sync();
}

absl::Status ToyStore::ReadSuperblock() {
  if (data_->geometry().size_bytes < kDataBytes || log_->geometry().size_bytes == 0) {
    return absl::FailedPreconditionError("not a toy store");
  }
  for (uint64_t place : kSuperblockPlaces) {
    ToySuperblock block;
    LATCHKEY_RETURN_IF_ERROR(ReadData(place, &block, sizeof(block)));
    if (block.magic != kMagic || block.checksum != ChecksumOf(block)) continue;
    if (block.generation <= generation_) continue;
    generation_ = block.generation;
    epoch_ = block.epoch;
    head_ = block.head;
  }
  if (generation_ == 0) return absl::DataLossError("no superblock is whole");
  return absl::OkStatus();
}

absl::Status ToyStore::RingWrite(uint64_t lsn, std::span<const std::byte> bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const uint64_t at = (lsn + done) % (kLogBlocks * kBlock);
    const size_t length = std::min<uint64_t>(bytes.size() - done, kLogBlocks * kBlock - at);
    LATCHKEY_RETURN_IF_ERROR(log_->Write(at, bytes.subspan(done, length), IoClass::kMeta));
    done += length;
  }
  return absl::OkStatus();
}

absl::Status ToyStore::RingRead(uint64_t lsn, std::span<std::byte> bytes) {
  for (size_t done = 0; done < bytes.size(); done += kBlock) {
    const uint64_t at = (lsn + done) % (kLogBlocks * kBlock);
    LATCHKEY_RETURN_IF_ERROR(log_->Read(at, bytes.subspan(done, kBlock), IoClass::kMeta));
  }
  return absl::OkStatus();
}

// A group begins at a new block, so no block with acknowledged bytes is written again. With the bug
// kLogTailRewritten it begins right behind the last group.
absl::Status ToyStore::WriteGroup(std::span<const Change> changes) {
  const uint64_t size = sizeof(ToyGroupHeader) + changes.size_bytes();
  const uint64_t first_block = tail_ / kBlock * kBlock;
  const uint64_t inside = tail_ - first_block;
  AlignedBuffer buffer((inside + size + kBlock - 1) / kBlock * kBlock);
  if (first_block + buffer.size() - head_ / kBlock * kBlock > kLogBlocks * kBlock &&
      bug_ != ToyBug::kLogRingOverrun) {
    LATCHKEY_RETURN_IF_ERROR(Checkpoint());
  }
  if (inside > 0) LATCHKEY_RETURN_IF_ERROR(RingRead(first_block, buffer.span().first(kBlock)));
  std::memset(buffer.data() + inside, 0, buffer.size() - inside);
  ToyGroupHeader header{.checksum = 0, .lsn = tail_, .epoch = epoch_, .changes = changes.size()};
  std::byte* group = buffer.data() + inside;
  std::memcpy(group, &header, sizeof(header));
  std::memcpy(group + sizeof(header), changes.data(), changes.size_bytes());
  header.checksum = Hash64(group + sizeof(uint64_t), size - sizeof(uint64_t), kMagic);
  std::memcpy(group, &header.checksum, sizeof(uint64_t));
  LATCHKEY_RETURN_IF_ERROR(RingWrite(first_block, buffer.span()));
  tail_ += size;
  if (bug_ != ToyBug::kLogTailRewritten) tail_ = (tail_ + kBlock - 1) / kBlock * kBlock;
  return absl::OkStatus();
}

void ToyStore::Apply(std::span<const Change> changes) {
  for (const auto& [number, value] : changes) {
    pages_[number / kValuesPerPage].values[number % kValuesPerPage] = value;
    dirty_[number / kValuesPerPage] = true;
  }
}

absl::Status ToyStore::Commit(std::span<const Change> changes) {
  LATCHKEY_CHECK(changes.size() <= 120);
  if (bug_ == ToyBug::kPageBeforeItsLog && commits_ % 5 == 4) {
    Apply(changes);
    const uint32_t page = static_cast<uint32_t>(changes.front().number / kValuesPerPage);
    LATCHKEY_RETURN_IF_ERROR(WritePages({&page, 1}));
  }
  LATCHKEY_RETURN_IF_ERROR(WriteGroup(changes));
  ++commits_;
  if (bug_ != ToyBug::kAckBeforeFlush || commits_ % 4 == 0) {
    LATCHKEY_RETURN_IF_ERROR(log_->Sync());
  }
  Apply(changes);
  return absl::OkStatus();
}

absl::Status ToyStore::FlushSome(uint64_t random) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < kPages && numbers.size() < kBatch; ++i) {
    const uint32_t page = (random + i) % kPages;
    if (dirty_[page]) numbers.push_back(page);
  }
  // The acknowledged changes of the pages are synced in the log before the pages are written.
  if (bug_ == ToyBug::kAckBeforeFlush) LATCHKEY_RETURN_IF_ERROR(log_->Sync());
  return numbers.empty() ? absl::OkStatus() : WritePages(numbers);
}

// Writes the batch to the area, syncs, writes it in place, syncs. Then the area may be used again.
absl::Status ToyStore::WritePages(std::span<const uint32_t> numbers) {
  ToyAreaHeader area{};
  area.pages = numbers.size();
  const bool protect = bug_ != ToyBug::kNoTornPageProtection;
  for (size_t i = 0; i < numbers.size(); ++i) {
    Page& page = pages_[numbers[i]];
    page.number = numbers[i];
    page.lsn = tail_;
    page.checksum = ChecksumOf(page);
    area.numbers[i] = numbers[i];
    if (protect) {
      LATCHKEY_RETURN_IF_ERROR(WriteData(kArea + kBlock + i * kPageSize, &page, kPageSize));
    }
  }
  area.checksum = ChecksumOf(area);
  if (protect) {
    LATCHKEY_RETURN_IF_ERROR(WriteData(kArea, &area, sizeof(area)));
    LATCHKEY_RETURN_IF_ERROR(data_->Sync());
  }
  for (uint32_t number : numbers) {
    LATCHKEY_RETURN_IF_ERROR(
        WriteData(kFirstPage + number * kPageSize, &pages_[number], kPageSize));
    dirty_[number] = false;
  }
  return bug_ == ToyBug::kCheckpointWithoutSync ? absl::OkStatus() : data_->Sync();
}

absl::Status ToyStore::WriteAllPages() {
  std::vector<uint32_t> batch;
  for (uint32_t page = 0; page < kPages; ++page) {
    if (dirty_[page]) batch.push_back(page);
    if (batch.size() == kBatch || (page + 1 == kPages && !batch.empty())) {
      LATCHKEY_RETURN_IF_ERROR(WritePages(batch));
      batch.clear();
    }
  }
  return absl::OkStatus();
}

absl::Status ToyStore::Checkpoint() {
  const uint64_t new_head = tail_;
  if (bug_ == ToyBug::kLogReclaimedBeforeDataFlush) {
    head_ = new_head;
    LATCHKEY_RETURN_IF_ERROR(WriteSuperblock());
    return WriteAllPages();
  }
  LATCHKEY_RETURN_IF_ERROR(WriteAllPages());
  head_ = new_head;
  return WriteSuperblock();
}

absl::Status ToyStore::RepairPages() {
  ToyAreaHeader area;
  LATCHKEY_RETURN_IF_ERROR(ReadData(kArea, &area, sizeof(area)));
  if (area.checksum != ChecksumOf(area) || area.pages > kBatch) return absl::OkStatus();
  bool repaired = false;
  for (size_t i = 0; i < area.pages; ++i) {
    if (area.numbers[i] >= kPages) continue;
    Page copy, page;
    const uint64_t place = kFirstPage + area.numbers[i] * kPageSize;
    LATCHKEY_RETURN_IF_ERROR(ReadData(kArea + kBlock + i * kPageSize, &copy, kPageSize));
    LATCHKEY_RETURN_IF_ERROR(ReadData(place, &page, kPageSize));
    const bool whole = page.checksum == ChecksumOf(page);
    if (whole || copy.checksum != ChecksumOf(copy) || copy.number != area.numbers[i]) continue;
    LATCHKEY_RETURN_IF_ERROR(WriteData(place, &copy, kPageSize));
    repaired = true;
  }
  if (!repaired || bug_ == ToyBug::kRecoveryReusesDoublewriteArea) return absl::OkStatus();
  return data_->Sync();
}

absl::Status ToyStore::ReadPages() {
  for (uint32_t number = 0; number < kPages; ++number) {
    Page& page = pages_[number];
    LATCHKEY_RETURN_IF_ERROR(ReadData(kFirstPage + number * kPageSize, &page, kPageSize));
    if (page.checksum != ChecksumOf(page) || page.number != number) {
      return MakeStatus(absl::StatusCode::kDataLoss, "page {} is torn", number);
    }
  }
  return absl::OkStatus();
}

absl::Status ToyStore::Redo() {
  constexpr uint64_t kLargest = sizeof(ToyGroupHeader) + 120 * sizeof(Change);
  AlignedBuffer buffer((kLargest + 2 * kBlock) / kBlock * kBlock);
  for (tail_ = head_;;) {
    const uint64_t first_block = tail_ / kBlock * kBlock;
    LATCHKEY_RETURN_IF_ERROR(RingRead(first_block, buffer.span()));
    const std::byte* group = buffer.data() + (tail_ - first_block);
    ToyGroupHeader header;
    std::memcpy(&header, group, sizeof(header));
    if (header.lsn != tail_ || header.epoch != epoch_ || header.changes > 120) break;
    const uint64_t size = sizeof(header) + header.changes * sizeof(Change);
    if (bug_ != ToyBug::kLogWithoutChecksum &&
        header.checksum != Hash64(group + sizeof(uint64_t), size - sizeof(uint64_t), kMagic)) {
      break;
    }
    for (uint64_t i = 0; i < header.changes; ++i) {
      Change change;
      std::memcpy(&change, group + sizeof(header) + i * sizeof(Change), sizeof(Change));
      if (change.number < kValues) Apply({&change, 1});
    }
    tail_ += size;
    if (bug_ != ToyBug::kLogTailRewritten) tail_ = (tail_ + kBlock - 1) / kBlock * kBlock;
  }
  return absl::OkStatus();
}

uint64_t ToyStore::value(uint32_t number) const {
  return pages_[number / kValuesPerPage].values[number % kValuesPerPage];
}

}  // namespace latchkey
