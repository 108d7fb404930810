#include "engine/chain_builder.h"

#include <algorithm>

#include "engine/overflow.h"
#include "storage/base/racy_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {

using namespace overflow_page;  // NOLINT: the names of this file's subject

ChainBuilder::ChainBuilder(uint32_t page_size)
    : data_payload_(page_size - kPageHeaderSize), list_payload_(page_size - kContent) {}

void ChainBuilder::Reserve(uint64_t size) {
  const size_t data_pages = size / data_payload_ + 1;
  pages_.reserve(data_pages + data_pages / (list_payload_ / sizeof(PageId)) + 2);
}

absl::Status ChainBuilder::Append(std::string_view part, AddPage add) {
  size_ += part.size();
  if (!tail_.empty()) {
    const size_t missing = std::min(data_payload_ - tail_.size(), part.size());
    tail_.append(part.substr(0, missing));
    part.remove_prefix(missing);
  }
  // A full page stays here until more bytes come: a value may end with it, and then may fit in a list page.
  if (!part.empty() && tail_.size() == data_payload_) {
    LATCHKEY_RETURN_IF_ERROR(AddData(tail_, add));
    tail_.clear();
  }
  for (; part.size() > data_payload_; part.remove_prefix(data_payload_)) {
    LATCHKEY_RETURN_IF_ERROR(AddData(part.substr(0, data_payload_), add));
  }
  tail_.append(part);
  return absl::OkStatus();
}

absl::StatusOr<PageId> ChainBuilder::Finish(AddPage add) {
  if (pages_.empty() && tail_.size() <= list_payload_) {
    LATCHKEY_RETURN_IF_ERROR(Add(add, [&](std::byte* bytes) {
      RacyStore<uint64_t>(bytes + kNext, Raw(kInvalidPageId));
      RacyStore<uint32_t>(bytes + kPayloadSize, static_cast<uint32_t>(tail_.size()));
      RacyCopyIn(bytes + kContent, tail_.data(), tail_.size());
    }));
    return pages_.back();
  }
  LATCHKEY_RETURN_IF_ERROR(AddData(tail_, add));
  const size_t data_pages = pages_.size(), per_list = list_payload_ / sizeof(PageId);
  for (size_t end = data_pages; end > 0; end = (end - 1) / per_list * per_list) {
    const size_t begin = (end - 1) / per_list * per_list;
    const PageId next = end == data_pages ? kInvalidPageId : pages_.back();
    LATCHKEY_RETURN_IF_ERROR(Add(add, [&](std::byte* bytes) {
      RacyStore<uint64_t>(bytes + kNext, Raw(next));
      RacyStore<uint32_t>(bytes + kPageCount, static_cast<uint32_t>(end - begin));
      RacyCopyIn(bytes + kContent, pages_.data() + begin, (end - begin) * sizeof(PageId));
    }));
  }
  return pages_.back();
}

absl::Status ChainBuilder::AddData(std::string_view data, AddPage add) {
  return Add(add, [&](std::byte* bytes) {
    RacyCopyIn(bytes + kPageHeaderSize, data.data(), data.size());
  });
}

absl::Status ChainBuilder::Add(AddPage add, absl::FunctionRef<void(std::byte*)> fill) {
  // The memory for the id comes first, so that no page is added that pages() does not name.
  if (pages_.size() == pages_.capacity()) pages_.reserve(std::max<size_t>(16, 2 * pages_.size()));
  LATCHKEY_ASSIGN_OR_RETURN(const PageId page, add([&](std::byte* bytes) {
                              RacyStore<uint8_t>(bytes + offsetof(PageHeader, page_type),
                                                 static_cast<uint8_t>(PageType::kOverflow));
                              fill(bytes);
                            }));
  pages_.push_back(page);
  return absl::OkStatus();
}

}  // namespace latchkey
