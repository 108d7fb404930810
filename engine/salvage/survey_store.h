// The surveyed pages of a damaged database as a PageStore, so that its log can be redone over them.
// Redo's writes stay in memory, on top of the survey.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engine/salvage/page_survey.h"
#include "storage/volatile_page_store.h"

namespace latchkey {

/// Pages can be adopted, but not allocated or freed: redo needs no more. Not thread-safe.
class SurveyStore final : public VolatilePageStore {
 public:
  explicit SurveyStore(const PageSurvey& survey);

  using Pages = std::map<PageId, std::vector<std::byte>>;
  /// The written pages: those that differ from the survey.
  Pages TakeWritten() { return std::move(written_); }

  uint32_t page_size() const override { return survey_.page_size(); }
  absl::StatusOr<PageId> AllocatePage() override;
  void FreePage(PageId) override {}
  absl::Status AdoptPage(PageId id) override;
  bool IsAllocated(PageId id) const override;
  uint64_t page_id_limit() const override { return limit_; }
  absl::Status ReadPage(PageId id, std::byte* out) override;
  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t depth) override;
  uint64_t memory_bytes() const override { return written_.size() * page_size(); }
  BlockDevice& device() override { return survey_.device(); }

 private:
  class Writer;

  const PageSurvey& survey_;
  uint64_t limit_ = 0;
  std::set<PageId> adopted_;
  Pages written_;
};

}  // namespace latchkey
