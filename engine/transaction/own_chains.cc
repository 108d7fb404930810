#include "engine/transaction/own_chains.h"

#include <utility>

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
