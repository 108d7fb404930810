#include "engine/bulk/bulk_pages.h"

#include <algorithm>
#include <cstring>

#include "engine/log/page_lsn.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
constexpr uint32_t kDepth = 256;
constexpr Lsn kUnlogged{1};
// Ids of one log record. The first loads take few, so that a small one does not grow the file.
constexpr size_t kIdsPerRecord = 64, kMostIdsAtOnce = 1024;

}  // namespace

BulkPages::BulkPages(BufferPool& pool, EngineLog* log, LogTxn& txn)
    : pool_(pool),
      log_(log),
      txn_(txn),
      ids_(pool.store()),
      buffer_(std::max<size_t>(kBatchBytes, pool.page_size())),
      ids_at_once_(kIdsPerRecord) {
  ids_.SetFreedPages(log);
  batch_.reserve(buffer_.size() / pool.page_size());
}

absl::StatusOr<PageId> BulkPages::Add(absl::FunctionRef<void(std::byte*)> fill) {
  if (batch_.size() == batch_.capacity()) LATCHKEY_RETURN_IF_ERROR(WriteBatch());
  if (free_ids_.empty()) LATCHKEY_RETURN_IF_ERROR(TakeIds());
  const PageId id = free_ids_.back();
  Own(id);
  free_ids_.pop_back();
  std::byte* const page = buffer_.data() + batch_.size() * pool_.page_size();
  std::memset(page, 0, pool_.page_size());
  batch_.push_back({.id = id, .data = page});
  ++added_;
  fill(page);
  SetPageLsn(page, kUnlogged);
  return id;
}

void BulkPages::Own(PageId id) {
  if (!runs_.empty() && runs_.back().first + runs_.back().count == Raw(id)) {
    ++runs_.back().count;
  } else {
    runs_.push_back({Raw(id), 1});
  }
}

absl::Status BulkPages::TakeIds() {
  free_ids_.reserve(ids_at_once_);
  absl::Status taken;
  while (free_ids_.size() < ids_at_once_ && taken.ok()) {
    absl::StatusOr<PageId> id = ids_.Allocate();
    if (id.ok()) {
      free_ids_.push_back(*id);
    } else if (free_ids_.empty()) {
      return id.status();
    } else {
      break;  // the store is nearly full: these may be enough
    }
  }
  ids_at_once_ = std::min(2 * ids_at_once_, kMostIdsAtOnce);
  for (size_t i = 0; log_ != nullptr && i < free_ids_.size() && taken.ok(); i += kIdsPerRecord) {
    const size_t count = std::min(kIdsPerRecord, free_ids_.size() - i);
    const absl::StatusOr<Lsn> at =
        log_->LogUnloggedPages(txn_, std::span(free_ids_).subspan(i, count));
    taken = at.status();
    if (at.ok()) logged_ = *at;
  }
  if (!taken.ok()) return taken;  // FreeAll gives the ids back
  std::reverse(free_ids_.begin(), free_ids_.end());
  return absl::OkStatus();
}

absl::Status BulkPages::WriteBatch() {
  if (batch_.empty()) return absl::OkStatus();
  if (log_ != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(log_->EnsureDurable(logged_));
  }
  if (writer_ == nullptr) {
    LATCHKEY_ASSIGN_OR_RETURN(writer_, pool_.store().NewWriter(kDepth));
  }
  size_t accepted = 0;
  LATCHKEY_RETURN_IF_ERROR(writer_->Submit(batch_, &accepted));
  batch_.clear();
  return writer_->Wait(kDepth - 1);
}

absl::Status BulkPages::Flush() {
  LATCHKEY_RETURN_IF_ERROR(WriteBatch());
  LATCHKEY_RETURN_IF_ERROR(FreeIds(&free_ids_));
  if (writer_ != nullptr) LATCHKEY_RETURN_IF_ERROR(writer_->Wait(0));
  return pool_.store().Flush();
}

absl::Status BulkPages::FreeIds(std::vector<PageId>* ids) {
  while (!ids->empty()) {
    const size_t count = std::min(kIdsPerRecord, ids->size());
    const std::span<const PageId> part = std::span(*ids).last(count);
    LogSpace space;  // held until the pages are freed
    if (log_ != nullptr) {
      LATCHKEY_RETURN_IF_ERROR(log_->Reserve(1, /*must_not_fail=*/true, &space));
      log_->LogFree(&txn_, space, kInvalidPageId, part);
    }
    for (const PageId id : part) {
      LATCHKEY_RETURN_IF_ERROR(pool_.FreePageById(pool_.Here(), id));
    }
    // Before anything fails: an id that is freed twice may be another's by then.
    ids->resize(ids->size() - count);
  }
  return absl::OkStatus();
}

absl::Status BulkPages::FreeAll() {
  batch_.clear();
  if (writer_ != nullptr) writer_->Wait(0).IgnoreError();  // no page may be freed while it is written
  LATCHKEY_RETURN_IF_ERROR(FreeIds(&free_ids_));
  free_ids_.reserve(kIdsPerRecord);
  while (!runs_.empty()) {
    Run& run = runs_.back();
    while (run.count > 0 && free_ids_.size() < kIdsPerRecord) {
      free_ids_.push_back(PageId{run.first + --run.count});
    }
    if (run.count == 0) runs_.pop_back();
    LATCHKEY_RETURN_IF_ERROR(FreeIds(&free_ids_));
  }
  return absl::OkStatus();
}

}  // namespace latchkey
