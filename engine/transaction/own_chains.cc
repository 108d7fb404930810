#include "engine/transaction/own_chains.h"

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
  LATCHKEY_RETURN_IF_ERROR(FreeLeft());
  LATCHKEY_ASSIGN_OR_RETURN(unplaced_, context_.overflow.Write(value, Owner()));
  return unplaced_;
}

void OwnChains::FreeUnplaced() {
  if (unplaced_.empty()) return;
  const absl::Status freed = CatchOutOfMemory([&] { return Free(unplaced_); });
  if (!IsOutOfMemory(freed)) unplaced_.clear();  // else the next call frees it
}

// The write stays done. The chain that it replaced is freed once there is memory.
absl::Status OwnChains::FreeReplaced(const OverflowReference& chain) {
  absl::Status freed = CatchOutOfMemory([&] { return Free(chain); });
  if (!IsOutOfMemory(freed)) return freed;
  replaced_.push_back(chain);  // ReserveReplaced has made room for it
  return absl::OkStatus();
}

absl::Status OwnChains::TryFreeLeft() {
  if (!unplaced_.empty()) {
    LATCHKEY_RETURN_IF_ERROR(Free(unplaced_));
    unplaced_.clear();
  }
  for (; !replaced_.empty(); replaced_.pop_back()) {
    LATCHKEY_RETURN_IF_ERROR(Free(replaced_.back()));
  }
  return absl::OkStatus();
}

void OwnChains::TakeLeft(absl::FunctionRef<void(std::string_view)> take) {
  if (!unplaced_.empty()) take(unplaced_.view());
  unplaced_.clear();
  for (const OverflowReference& chain : replaced_) take(chain.view());
  replaced_.clear();
}

}  // namespace latchkey
