// Single puts: by way of the change buffer, or as transactions of one write.
#include "engine/database_impl.h"
#include "engine/transaction/blind_put.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status DatabaseImpl::Put(TreeImpl& tree, std::string_view key, std::string_view value) {
  if (__builtin_expect(changes_ != nullptr, 0)) {
    constexpr int kAttempts = 3;  // a snapshot may come between MayTake and the commit
    DescentHint at;
    for (int attempt = 0;
         attempt < kAttempts && BlindPut::MayTake(*context_, tree, key, value, &at); ++attempt) {
      LATCHKEY_ASSIGN_OR_RETURN(const auto outcome, PutBlind(tree, key, value, at));
      if (outcome == BlindPut::Outcome::kDone) return absl::OkStatus();
      if (outcome == BlindPut::Outcome::kReadLeaf) break;
    }
  }
  return RunTransaction(
      [&](TransactionImpl& transaction) { return transaction.Put(tree, key, value); });
}

absl::StatusOr<BlindPut::Outcome> DatabaseImpl::PutBlind(TreeImpl& tree, std::string_view key,
                                                         std::string_view value,
                                                         const DescentHint& at) {
  TransactionImpl transaction(*context_);
  LATCHKEY_RETURN_IF_ERROR(transaction.Begin(Resolve({})));
  const absl::StatusOr<BlindPut::Outcome> outcome = transaction.PutBlind(tree, key, value, at);
  if (transaction.active()) LATCHKEY_RETURN_IF_ERROR(transaction.Rollback());
  if (outcome.ok() && *outcome == BlindPut::Outcome::kDone) {
    SplitFullLeaves();
    changes_->MakeRoom();
  }
  return outcome;
}

void DatabaseImpl::SplitFullLeaves() {
  const std::vector<ChangeBuffer::FullLeaf> full = changes_->BringInFull();
  if (full.empty()) return;
  TransactionImpl transaction(*context_);
  if (!transaction.Begin().ok()) return;
  transaction.SplitFull(full, [this](TreeId tree) { return catalog_->FindTree(tree); });
}

}  // namespace latchkey
