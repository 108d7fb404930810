#include "engine/log/log_accounts.h"

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// One transaction reserves a kReserveShare-th of the log's initial size at once, at most
// kMaxReserveStep bytes.
constexpr uint64_t kReserveShare = 128, kMaxReserveStep = 64u << 10;

// Size of images of `pages` whole pages, each with its entry and a freed id.
size_t ImagesSize(size_t pages, uint32_t page_size) {
  return kLogRecordHeaderSize + 8 + pages * (size_t{page_size} + 20);
}

}  // namespace

uint64_t LogAccounts::ChangeSpace(const Log& log, uint32_t page_size) {
  const size_t value = MaxInlineValue(page_size, 0);
  return log.RecordSpace(kLogChangeOverhead + kMaxNodeKeySize + 2 * value) +
         log.RecordSpace(kLogCompensationOverhead + kMaxNodeKeySize + value) +
         kSplitBytesPerByte * value;
}

LogAccounts::LogAccounts(Log& log, LogHealth& health, uint32_t page_size, bool logs_images)
    : log_(log),
      health_(health),
      page_size_(page_size),
      image_space_(logs_images ? log.RecordSpace(ImagesSize(1, page_size)) : 0),
      end_space_(log.RecordSpace(kEndRecordSize) + log.PaidGroupSpace()),
      change_space_(ChangeSpace(log, page_size) + image_space_ + end_space_),
      // Two ids: if the page lists others, it is written once more when they are freed.
      free_share_(log.RecordSpace(FreeRecordSize(2))),
      page_space_(log.RecordSpace(AllocationRecordSize(1)) +
                  log.RecordSpace(ImagesSize(1, page_size)) + free_share_ + end_space_),
      reserve_step_(std::min(kMaxReserveStep, log.stats().allocated_bytes / kReserveShare)) {}

absl::Status LogAccounts::ReserveBytes(uint64_t bytes, bool must_not_fail, uint64_t* account) {
  if (!health_.is_writable()) {
    // A rollback in memory continues.
    return must_not_fail ? absl::OkStatus() : health_.FailUnlessWritable();
  }
  absl::Status reserved = must_not_fail ? log_.ReserveUrgent(bytes) : log_.Reserve(bytes);
  if (reserved.ok()) *account += bytes;
  return must_not_fail && log_.poisoned() ? absl::OkStatus() : reserved;
}

absl::Status LogAccounts::ReserveMore(LogTxn& txn, uint64_t need) {
  LATCHKEY_RETURN_IF_ERROR(health_.FailUnlessWritable());
  if (txn.budget_ >= need) return absl::OkStatus();
  uint64_t bytes = std::max(need, reserve_step_);
  if (!log_.TryReserve(bytes)) {
    bytes = need - txn.budget_;
    LATCHKEY_RETURN_IF_ERROR(log_.Reserve(bytes));
  }
  txn.budget_ += bytes;
  return absl::OkStatus();
}

absl::Status LogAccounts::ReserveUndo(LogTxn& txn) {
  if (txn.undo_ >= change_space_) return absl::OkStatus();
  return ReserveBytes(change_space_, /*must_not_fail=*/true, &txn.undo_);
}

absl::Status LogAccounts::ReserveImages(LogSpace& space, size_t pages, bool must_not_fail) {
  return ReserveBytes(log_.RecordSpace(ImagesSize(pages, page_size_)), must_not_fail,
                      &space.bytes_);
}

bool LogAccounts::HasRoom(size_t pages) {
  const uint64_t bytes = log_.RecordSpace(ImagesSize(pages, page_size_));
  if (!health_.is_writable() || !log_.TryReserve(bytes)) return false;
  log_.Release(bytes);
  return true;
}

bool LogAccounts::SpendValuePage(LogTxn& txn, uint64_t bytes) const {
  if (!Spend(txn.budget_, bytes + free_share_)) return false;
  txn.undo_ += free_share_;
  return true;
}

bool LogAccounts::SpendFree(LogTxn* txn, LogSpace& space, size_t size) const {
  const uint64_t bytes = log_.RecordSpace(size);
  if (txn == nullptr || space.bytes_ >= bytes) return Spend(space.bytes_, bytes);
  return Spend(txn->undo_, bytes);
}

bool LogAccounts::SpendEnd(LogTxn& txn) const {
  const uint64_t bytes = log_.RecordSpace(kEndRecordSize);
  return Spend(txn.budget_ >= bytes ? txn.budget_ : txn.undo_, bytes);
}

}  // namespace latchkey
