// The end of a database: closing it, and the answers to calls after the close.
#include <atomic>
#include <utility>

#include "engine/database_impl.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

DatabaseImpl::~DatabaseImpl() {
  if (open_) {
    CatchOutOfMemory([this] {
      const absl::Status closed = Close();
      if (!closed.ok()) {
        LogTo(log_sink_, LogLevel::kError, "close: " + std::string(closed.message()));
      }
      return absl::OkStatus();
    }).IgnoreError();
  }
  ReleaseParts();
}

absl::Status DatabaseImpl::Close() {
  if (!open_) return absl::OkStatus();
  open_ = false;
  publisher_.reset();  // it reads the figures of all parts
  absl::Status closed = CatchOutOfMemory([this]() -> absl::Status {
    versions_->StopReclaimer();
    bulk_loads_->VisitAll([](BulkLoadImpl& load) {
      load.End(absl::FailedPreconditionError(
          "the bulk load is over: its database was closed before Finish"));
    });
    LATCHKEY_RETURN_IF_ERROR(RollBackRunning());
    if (options_.read_only) return absl::OkStatus();
    if (absl::Status ranges = FinishRanges(); !ranges.ok()) {
      // With a log the next open finishes them.
      if (IsOutOfMemory(ranges) || engine_log_ == nullptr) return ranges;
    }
    versions_->CollectAll();
    // The next open would not know of these chains.
    LATCHKEY_RETURN_IF_ERROR(overflow_->FreeWaiting());
    if (const absl::Status freed = FinishDrops(); IsOutOfMemory(freed)) return freed;
    checkpointer_->Stop();
    cleaners_.reset();
    return checkpointer_->RunLast();
  });
  open_ = IsOutOfMemory(closed);  // then the caller may close again
  return closed;
}

// With a log, the next open completes a rollback that has failed.
absl::Status DatabaseImpl::RollBackRunning() {
  absl::Status first_error;
  snapshots_->VisitOwners([&](TransactionImpl* running) {
    absl::Status done = running->RollBackForClose();
    if (first_error.ok()) first_error = std::move(done);
  });
  if (!context_->holds_uncommitted) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "a transaction could not be rolled back and nothing is logged: the database is "
                    "not closed cleanly, and the next open refuses it: restore a backup{}{}",
                    first_error.ok() ? "" : ": ", std::string(first_error.message()));
}

absl::Status DatabaseImpl::CloseForGood() {
  absl::Status closed = Close();
  if (open_ || last_words_ != nullptr) return closed;
  last_words_ = std::make_unique<LastWords>(
      LastWords{GetStatistics(), store_->page_size(), store_->device().Describe()});
  ReleaseParts();
  return closed;
}

void DatabaseImpl::ReleaseParts() {
  identity_.NoteClosed();
  if (snapshots_ != nullptr) {
    snapshots_->VisitOwners([](TransactionImpl* running) { running->Disown(); });
  }
  bulk_loads_->VisitAll([](BulkLoadImpl& load) { load.Disown(); });
  if (versions_ != nullptr) versions_->StopReclaimer();  // it uses all the others
  checkpointer_.reset();
  cleaners_.reset();
  versions_.reset();
  if (store_ == nullptr) return;
  if (store_client_ != nullptr) store_->Detach();
  dropped_tree_.reset();
  AbandonRanges();
  context_.reset();
  ranges_.reset();
  snapshots_.reset();
  catalog_.reset();
  overflow_.reset();
  engine_log_.reset();
  store_client_.reset();
  pool_.reset();
  changes_.reset();
  log_file_.reset();
  store_.reset();
}

// No destructor may run: the database's threads are in the parent, its latches may be held for
// ever, and its files are the parent's. The list keeps the object reachable for leak checkers.
void DatabaseImpl::LeaveToParent(std::unique_ptr<DatabaseImpl> impl) {
  static std::atomic<DatabaseImpl*> newest{nullptr};
  impl->left_before_ = newest.load(std::memory_order_relaxed);
  while (!newest.compare_exchange_weak(impl->left_before_, impl.get())) {
  }
  impl.release();
}

}  // namespace latchkey
