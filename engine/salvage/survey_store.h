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
#include "storage/page_store.h"

namespace latchkey {

/// Pages can be adopted, but not allocated or freed: redo needs no more. Not thread-safe.
class SurveyStore final : public PageStore {
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
  void ReadPages(std::span<PageRead> reads) override;
  absl::StatusOr<std::unique_ptr<PageWriter>> NewWriter(uint32_t depth) override;
  WriteTicket accepted_ticket() const override { return 0; }
  WriteTicket durable_ticket() const override { return 0; }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Checkpoint(std::span<const std::byte>, bool) override { return absl::OkStatus(); }
  absl::Status WriteStatus() const override { return absl::OkStatus(); }
  void SetCheckpointGate(std::function<absl::Status()>) override {}
  void SetLogPosition(std::function<Lsn()>) override {}
  Lsn log_reach() const override { return Lsn{0}; }
  void SetCopySource(CopyIfCleanFunction) override {}
  uint64_t memory_bytes() const override { return written_.size() * page_size(); }
  PageStoreStats stats() const override { return {}; }
  void ResetExtremes() override {}
  BlockDevice& device() override { return survey_.device(); }

 private:
  class Writer;

  const PageSurvey& survey_;
  uint64_t limit_ = 0;
  std::set<PageId> adopted_;
  Pages written_;
};

}  // namespace latchkey
