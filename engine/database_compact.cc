// Compaction of an open database.
#include "engine/compact/compaction.h"
#include "engine/database_impl.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<CompactInfo> DatabaseImpl::Compact(const CompactOptions& options) {
  if (compact_runs_.exchange(true)) {
    return absl::FailedPreconditionError(
        "another compaction of this database is running: wait for its end");
  }
  struct End {
    ~End() { runs.store(false); }
    std::atomic<bool>& runs;
  } end{compact_runs_};
  Compaction compaction(*pool_, *checkpointer_, options);
  versions_->CollectAll();
  for (const std::string& name : catalog_->Names()) {
    const absl::StatusOr<TreeImpl*> tree = catalog_->OpenTree(name, /*create=*/false);
    if (!tree.ok()) continue;  // dropped or renamed meanwhile
    LATCHKEY_RETURN_IF_ERROR(compaction.FillLeaves(**tree));
  }
  LATCHKEY_RETURN_IF_ERROR(compaction.ShrinkFile());
  return compaction.info();
}

}  // namespace latchkey
