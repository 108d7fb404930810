// The proof that a database is sound: every page belongs to one tree or chain, and none has leaked.
#include <algorithm>
#include <vector>

#include "engine/database_impl.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status UnexpectedChain(PageId root) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the tree with root page {} names an overflow chain, and its entry in the "
                    "catalogue says that it does not",
                    Raw(root));
}

}  // namespace

absl::Status DatabaseImpl::Verify(VerifiedPages* verified) {
  *verified = {};
  // A version that only a snapshot reads may name an overflow chain. No tree names that chain.
  const bool keeps_chains = snapshots_->HasSnapshotBelow(snapshots_->clock());
  if (ranges_->any()) TryFinishRanges();
  versions_->CollectAll();
  LATCHKEY_RETURN_IF_ERROR(overflow_->FreeWaiting());
  LATCHKEY_RETURN_IF_ERROR(FinishDrops());
  // Freed pages count as free once they have reached the layout.
  if (engine_log_ != nullptr) LATCHKEY_RETURN_IF_ERROR(engine_log_->FlushAll());
  LATCHKEY_RETURN_IF_ERROR(pool_->WriteAllDirty());
  std::vector<bool> seen(store_->page_id_limit());
  const uint64_t reads_before = store_->stats().page_reads;
  const auto visit = [&](PageId page) -> absl::Status {
    if (Raw(page) >= seen.size() || seen[Raw(page)]) {
      return MakeStatus(absl::StatusCode::kDataLoss, "page {} is used twice or does not exist",
                        Raw(page));
    }
    seen[Raw(page)] = true;
    return absl::OkStatus();
  };
  const auto visit_overflow = [&](PageId page) {
    ++verified->overflow;
    return visit(page);
  };
  for (const BTree* tree : catalog_->AllTrees()) {
    TreeCounts counts;
    const absl::Status sound = tree->Check(
        visit,
        [&](std::string_view reference) {
          if (!tree->may_name_chains()) return UnexpectedChain(tree->root());
          return overflow_->VisitPages(reference, visit_overflow);
        },
        &counts);
    ++verified->trees;
    verified->inner += counts.inner;
    verified->leaves += counts.leaves;
    verified->records += counts.records;
    verified->page_reads = store_->stats().page_reads - reads_before;
    LATCHKEY_RETURN_IF_ERROR(sound);
  }
  const uint64_t live = store_->stats().live_pages, pages = verified->pages();
  verified->free_ids = seen.size() - std::min<uint64_t>(live, seen.size());
  if (pages != live && !(pages < live && keeps_chains)) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "the trees use {} pages, the layout holds {}: pages have leaked", pages,
                      live);
  }
  return absl::OkStatus();
}

}  // namespace latchkey
