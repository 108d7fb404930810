#include "engine/transaction/own_chains.h"

#include <span>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

LogTxn* OwnChains::Owner() {
  if (context_.log == nullptr) return nullptr;
  context_.versions.EnsureWriter(txn_);
  log_txn_.set_id(txn_.id());
  return &log_txn_;
}

absl::StatusOr<OverflowReference> OwnChains::Write(std::string_view value) {
  if (absl::Status freed = FreeLeft(); IsOutOfMemory(freed)) return freed;
  LATCHKEY_ASSIGN_OR_RETURN(unplaced_, context_.overflow.Write(value, Owner()));
  return unplaced_;
}

absl::Status OwnChains::Begin() {
  LATCHKEY_CHECK(!unfinished_.has_value());
  if (absl::Status freed = FreeLeft(); IsOutOfMemory(freed)) return freed;
  unfinished_.emplace(context_.pool.page_size());
  return absl::OkStatus();
}

absl::Status OwnChains::Append(std::string_view part) {
  absl::Status added =
      CatchOutOfMemory([&] { return context_.overflow.Append(*unfinished_, part, Owner()); });
  if (!added.ok()) DropUnfinished();
  return added;
}

absl::StatusOr<OverflowReference> OwnChains::Finish() {
  absl::StatusOr<OverflowReference> chain =
      CatchOutOfMemory([&]() -> absl::StatusOr<OverflowReference> {
        return context_.overflow.Finish(*unfinished_, Owner());
      });
  if (!chain.ok()) {
    DropUnfinished();
    return chain;
  }
  unfinished_.reset();
  unplaced_ = *chain;
  return chain;
}

void OwnChains::DropUnfinished() { FreeUnfinishedPages().IgnoreError(); }

absl::Status OwnChains::FreeUnfinishedPages() {
  if (unfinished_.has_value()) {
    // None is left of an earlier chain: Begin has freed them.
    pages_left_ = unfinished_->TakePages();
    unfinished_.reset();
  }
  if (LATCHKEY_CANARY("unfinished-value-leaks")) pages_left_.clear();
  if (pages_left_.empty()) return absl::OkStatus();
  std::span<const PageId> rest = pages_left_;
  absl::Status freed =
      CatchOutOfMemory([&] { return context_.overflow.FreeUnfinished(&rest, Owner()); });
  pages_left_.erase(pages_left_.begin(), pages_left_.end() - static_cast<ptrdiff_t>(rest.size()));
  return freed;
}

void OwnChains::FreeUnplaced() {
  if (unplaced_.empty()) return;
  const absl::Status freed = CatchOutOfMemory([&] { return Free(unplaced_); });
  if (!IsOutOfMemory(freed)) unplaced_.clear();  // else the next call frees it
}

void OwnChains::FreeReplaced(const OverflowReference& chain) {
  const absl::Status freed = CatchOutOfMemory([&] { return Free(chain); });
  if (!freed.ok()) replaced_.push_back(chain);  // ReserveReplaced has made room for it
}

absl::Status OwnChains::TryFreeLeft() {
  absl::Status left;
  if (!pages_left_.empty()) {
    left = FreeUnfinishedPages();
    if (IsOutOfMemory(left)) return left;
  }
  if (!unplaced_.empty()) {
    left = Free(unplaced_);
    if (IsOutOfMemory(left)) return left;
    unplaced_.clear();
  }
  for (size_t i = replaced_.size(); i-- > 0;) {
    absl::Status freed = Free(replaced_[i]);
    if (IsOutOfMemory(freed)) return freed;
    if (freed.ok()) {
      replaced_.erase(replaced_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      left = std::move(freed);
    }
  }
  return left;
}

void OwnChains::TakeLeft(absl::FunctionRef<void(std::string_view)> take) {
  if (!unplaced_.empty()) take(unplaced_.view());
  unplaced_.clear();
  for (const OverflowReference& chain : replaced_) take(chain.view());
  replaced_.clear();
}

}  // namespace latchkey
