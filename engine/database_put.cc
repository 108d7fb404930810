// Single puts: by way of the change buffer, or as transactions of one write.
#include "engine/database_impl.h"
#include "engine/transaction/blind_put.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status DatabaseImpl::Put(TreeImpl& tree, std::string_view key, std::string_view value) {
  DescentHint at;
  if (__builtin_expect(changes_ != nullptr, 0) &&
      BlindPut::MayTake(*context_, tree, key, value, &at)) {
    LATCHKEY_ASSIGN_OR_RETURN(const bool done, PutBlind(tree, key, value, at));
    if (done) return absl::OkStatus();
  }
  return RunTransaction(
      [&](TransactionImpl& transaction) { return transaction.Put(tree, key, value); });
}

absl::StatusOr<bool> DatabaseImpl::PutBlind(TreeImpl& tree, std::string_view key,
                                            std::string_view value, const DescentHint& at) {
  TransactionImpl transaction(*context_);
  LATCHKEY_RETURN_IF_ERROR(transaction.Begin(Resolve({})));
  const absl::StatusOr<bool> done = transaction.PutBlind(tree, key, value, at);
  if (transaction.active()) LATCHKEY_RETURN_IF_ERROR(transaction.Rollback());
  if (done.ok() && *done) changes_->MakeRoom();
  return done;
}

}  // namespace latchkey
