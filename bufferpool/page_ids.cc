#include "bufferpool/page_ids.h"

#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<PageId> PageIds::Allocate() {
  absl::StatusOr<PageId> page = store_.AllocatePage();
  if (!page.ok() && absl::IsResourceExhausted(page.status()) && freed_pages_ != nullptr &&
      freed_pages_->ReturnAll()) {
    page = store_.AllocatePage();
  }
  if (page.ok() && Raw(*page) >= kMaxPageIds) {
    Return(*page);
    return MakeStatus(absl::StatusCode::kResourceExhausted, "all {} page ids are in use",
                      kMaxPageIds);
  }
  return page;
}

void PageIds::GiveUp(PageId page) {
  const bool at_once = freed_pages_ == nullptr || LATCHKEY_CANARY("freed-page-reused-at-once");
  if (at_once || !freed_pages_->Defer(page)) store_.FreePage(page);
}

}  // namespace latchkey
