// Calls on whole trees besides opening and dropping them: rename, bulk load, estimates.
#include <memory>
#include <utility>

#include "engine/database_impl.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status DatabaseImpl::RenameTree(std::string_view from, std::string_view to) {
  LATCHKEY_RETURN_IF_ERROR(catalog_->RenameTree(from, to));
  return AcknowledgeTrees();
}

absl::StatusOr<std::unique_ptr<BulkLoadImpl>> DatabaseImpl::NewBulkLoad(
    std::string_view name, const BulkLoadOptions& options) {
  if (!(options.fill >= 0.5 && options.fill <= 1)) {
    return InvalidArgument("fill={}: a bulk load fills 0.5 to 1 of each page", options.fill);
  }
  LATCHKEY_RETURN_IF_ERROR(catalog_->CheckFree(name));
  // The load's transaction is one of the log only: a writer that runs for so long would make readers
  // look up every record that was written since.
  Txn txn;
  LATCHKEY_RETURN_IF_ERROR(snapshots_->Begin(txn));
  {
    const OnException end([&] { snapshots_->End(txn); });
    versions_->EnsureWriter(txn);
  }
  const TxnId id = txn.id();
  versions_->Commit(txn);
  const auto enter = [this](std::string_view tree, const LoadedTree& loaded, LogTxn& load,
                            bool* entered) -> absl::StatusOr<TreeImpl*> {
    LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * made, catalog_->AddLoadedTree(tree, loaded, load));
    *entered = true;
    if (engine_log_ != nullptr) engine_log_->ReleaseSpace(load);
    LATCHKEY_RETURN_IF_ERROR(AcknowledgeTrees());
    return made;
  };
  return std::make_unique<BulkLoadImpl>(BulkLoadContext{.pool = *pool_,
                                                        .log = engine_log_.get(),
                                                        .identity = identity_,
                                                        .loads = *bulk_loads_,
                                                        .enter = enter},
                                        id, name, options.fill);
}

absl::StatusOr<RangeEstimate> DatabaseImpl::Estimate(Tree tree, const KeyRange& range) {
  if (!identity_.CanUse(tree)) return identity_.Refuse(tree);
  TreeImpl& found = DatabaseIdentity::ImplOf(tree);
  absl::StatusOr<RangeEstimate> estimate = EstimateRange(found.btree, range);
  if (found.is_dropped()) return found.Dropped();
  return estimate;
}

}  // namespace latchkey
