#include "engine/salvage/overflow_rescue.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/btree/node_format.h"
#include "engine/latchkey.h"
#include "engine/overflow.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using namespace overflow_page;  // NOLINT: the names of this file's subject

template <typename T>
T FieldAt(const AlignedBuffer& page, size_t at) {
  T value;
  std::memcpy(&value, page.data() + at, sizeof(value));
  return value;
}

absl::Status Lost(PageId page) {
  return MakeStatus(absl::StatusCode::kDataLoss, "overflow page {} is lost", Raw(page));
}

absl::Status LoadOverflowPage(const PageSurvey& survey, PageId id, AlignedBuffer* buffer) {
  const SurveyedPage* page = survey.Find(id);
  if (page == nullptr || page->type != PageType::kOverflow) return Lost(id);
  return survey.Load(*page, buffer);
}

/// Appends the bytes that the list page in `list` holds or lists, up to `size` bytes of the value
/// in all.
absl::Status AppendList(const PageSurvey& survey, PageId id, const AlignedBuffer& list,
                        uint64_t size, std::string* value) {
  const auto count = FieldAt<uint32_t>(list, kPageCount);
  const auto payload = FieldAt<uint32_t>(list, kPayloadSize);
  if (count > (list.size() - kContent) / sizeof(uint64_t) || payload > list.size() - kContent) {
    return Lost(id);
  }
  const char* bytes = reinterpret_cast<const char*>(list.data());
  if (count == 0) value->append(bytes + kContent, payload);
  AlignedBuffer data;
  for (uint32_t i = 0; i < count && value->size() < size; ++i) {
    const PageId page{FieldAt<uint64_t>(list, kContent + i * sizeof(uint64_t))};
    LATCHKEY_RETURN_IF_ERROR(LoadOverflowPage(survey, page, &data));
    const size_t part = std::min<uint64_t>(data.size() - kPageHeaderSize, size - value->size());
    value->append(reinterpret_cast<const char*>(data.data()) + kPageHeaderSize, part);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> RescueOverflowValue(const PageSurvey& survey,
                                                std::string_view reference) {
  uint64_t fields[2];
  static_assert(sizeof(fields) == kOverflowReferenceSize);
  if (reference.size() != sizeof(fields)) {
    return absl::DataLossError("an overflow reference of another size");
  }
  std::memcpy(fields, reference.data(), sizeof(fields));
  const uint64_t size = fields[1];
  PageId page{fields[0]};
  if (size > Database::kMaxValueSize) return Lost(page);
  std::string value;
  AlignedBuffer list;
  do {
    LATCHKEY_RETURN_IF_ERROR(LoadOverflowPage(survey, page, &list));
    const size_t before = value.size();
    LATCHKEY_RETURN_IF_ERROR(AppendList(survey, page, list, size, &value));
    const PageId next{FieldAt<uint64_t>(list, kNext)};
    // A page that adds nothing and has a successor could lead into an endless loop.
    if (next != kInvalidPageId && value.size() == before) return Lost(page);
    if (next == kInvalidPageId || value.size() >= size) break;
    page = next;
  } while (true);
  if (value.size() != size) return Lost(page);
  return value;
}

}  // namespace latchkey
