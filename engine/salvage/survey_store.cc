#include "engine/salvage/survey_store.h"

#include <algorithm>
#include <cstring>

#include "storage/base/status_macros.h"

namespace latchkey {

class SurveyStore::Writer final : public PageWriter {
 public:
  explicit Writer(SurveyStore& store) : store_(store) {}
  absl::Status Submit(std::span<const PageWrite> writes, size_t* accepted) override {
    *accepted = 0;
    for (const PageWrite& write : writes) {
      store_.written_[write.id].assign(write.data, write.data + store_.page_size());
      ++*accepted;
    }
    return absl::OkStatus();
  }
  absl::Status Wait(size_t) override { return absl::OkStatus(); }
  size_t outstanding() const override { return 0; }

 private:
  SurveyStore& store_;
};

SurveyStore::SurveyStore(const PageSurvey& survey) : survey_(survey) {
  for (const SurveyedPage& page : survey.pages()) limit_ = std::max(limit_, Raw(page.id) + 1);
}

absl::StatusOr<PageId> SurveyStore::AllocatePage() {
  return absl::FailedPreconditionError("what is salvaged gets no new pages");
}

absl::Status SurveyStore::AdoptPage(PageId id) {
  limit_ = std::max(limit_, Raw(id) + 1);
  adopted_.insert(id);
  return absl::OkStatus();
}

bool SurveyStore::IsAllocated(PageId id) const {
  return adopted_.contains(id) || survey_.Find(id) != nullptr;
}

absl::Status SurveyStore::ReadPage(PageId id, std::byte* out) {
  if (const auto found = written_.find(id); found != written_.end()) {
    std::memcpy(out, found->second.data(), page_size());
    return absl::OkStatus();
  }
  const SurveyedPage* page = survey_.Find(id);
  if (page == nullptr) {
    return MakeStatus(absl::StatusCode::kNotFound, "page {} was not found", Raw(id));
  }
  AlignedBuffer buffer;
  LATCHKEY_RETURN_IF_ERROR(survey_.Load(*page, &buffer));
  std::memcpy(out, buffer.data(), page_size());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PageWriter>> SurveyStore::NewWriter(uint32_t) {
  return std::make_unique<Writer>(*this);
}

}  // namespace latchkey
