#include "engine/overflow.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/btree/node_format.h"
#include "engine/latchkey.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

using namespace overflow_page;  // NOLINT: the names of this file's subject

struct Reference {
  uint64_t first_page;
  uint64_t size;
};
static_assert(sizeof(Reference) == kOverflowReferenceSize);

absl::Status Damaged(PageId page, std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss, "overflow page {}: {}", Raw(page), what);
}

absl::StatusOr<Reference> Decode(std::string_view bytes) {
  Reference reference;
  if (bytes.size() != sizeof(reference)) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "an overflow reference has {} bytes instead of {}", bytes.size(),
                      sizeof(reference));
  }
  std::memcpy(&reference, bytes.data(), sizeof(reference));
  if (reference.size > Database::kMaxValueSize) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "an overflow reference promises {} bytes: values have at most {}",
                      reference.size, Database::kMaxValueSize);
  }
  return reference;
}

}  // namespace

struct OverflowStore::ListPage {
  PageId next = kInvalidPageId;
  std::vector<PageId> pages;
  std::string payload;
};

// More list pages than any value needs: the chain leads back into itself.
bool OverflowStore::IsEndless(size_t list_pages) const {
  return list_pages > Database::kMaxValueSize / (ListedPages() * DataPayload()) + 1;
}

size_t OverflowStore::DataPayload() const { return pool_.page_size() - kPageHeaderSize; }
size_t OverflowStore::InlinePayload() const { return pool_.page_size() - kContent; }
size_t OverflowStore::ListedPages() const { return InlinePayload() / sizeof(uint64_t); }

// Writes the pages of one chain through `add`.
class OverflowStore::ChainWriter {
 public:
  ChainWriter(uint32_t page_size, AddPage add, std::vector<PageId>* written)
      : data_payload_(page_size - kPageHeaderSize),
        inline_payload_(page_size - kContent),
        add_(add),
        written_(*written) {}

  // Writes back to front, so that each list page knows its successor when it is written. The chain
  // begins at the page that is written last.
  absl::Status Write(std::string_view value) {
    const size_t per_list = inline_payload_ / sizeof(uint64_t) * data_payload_;
    size_t end = value.size();
    do {
      const size_t begin = end == 0 ? 0 : (end - 1) / per_list * per_list;
      const PageId next = written_.empty() ? kInvalidPageId : written_.back();
      LATCHKEY_RETURN_IF_ERROR(WriteListPage(value.substr(begin, end - begin), next));
      end = begin;
    } while (end > 0);
    return absl::OkStatus();
  }

 private:
  absl::Status Add(absl::FunctionRef<void(std::byte*)> fill) {
    LATCHKEY_ASSIGN_OR_RETURN(const PageId page, add_([&](std::byte* bytes) {
                                RacyStore<uint8_t>(bytes + offsetof(PageHeader, page_type),
                                                   static_cast<uint8_t>(PageType::kOverflow));
                                fill(bytes);
                              }));
    written_.push_back(page);
    return absl::OkStatus();
  }

  absl::Status WriteListPage(std::string_view part, PageId next) {
    const size_t first = written_.size();
    const bool is_inline = next == kInvalidPageId && part.size() <= inline_payload_;
    for (size_t at = 0; !is_inline && at < part.size(); at += data_payload_) {
      const std::string_view data = part.substr(at, data_payload_);
      LATCHKEY_RETURN_IF_ERROR(Add([&](std::byte* bytes) {
        RacyCopyIn(bytes + kPageHeaderSize, data.data(), data.size());
      }));
    }
    const std::span<const PageId> listed = std::span(written_).subspan(first);
    return Add([&](std::byte* bytes) {
      RacyStore<uint64_t>(bytes + kNext, Raw(next));
      RacyStore<uint32_t>(bytes + kPageCount, static_cast<uint32_t>(listed.size()));
      RacyStore<uint32_t>(bytes + kPayloadSize, is_inline ? static_cast<uint32_t>(part.size()) : 0);
      if (is_inline) {
        RacyCopyIn(bytes + kContent, part.data(), part.size());
      } else {
        RacyCopyIn(bytes + kContent, listed.data(), listed.size() * sizeof(PageId));
      }
    });
  }

  const size_t data_payload_, inline_payload_;
  const AddPage add_;
  std::vector<PageId>& written_;
};

absl::StatusOr<PageId> OverflowStore::AddPooledPage(LogTxn* txn,
                                                    absl::FunctionRef<void(std::byte*)> fill) {
  if (log_ != nullptr) LATCHKEY_RETURN_IF_ERROR(log_->ReserveValuePage(*txn));
  ExclusiveGuard page;
  LATCHKEY_RETURN_IF_ERROR(pool_.NewPage(pool_.Here(), &page));
  fill(page.Mutable());
  if (log_ != nullptr) log_->LogValuePage(*txn, page);
  return page.page();
}

OverflowReference OverflowStore::ReferenceTo(PageId first_page, uint64_t size) {
  const Reference reference{Raw(first_page), size};
  return OverflowReference({reinterpret_cast<const char*>(&reference), sizeof(reference)});
}

absl::StatusOr<OverflowReference> OverflowStore::WriteChain(uint32_t page_size,
                                                            std::string_view value, AddPage add) {
  std::vector<PageId> written;
  LATCHKEY_RETURN_IF_ERROR(ChainWriter(page_size, add, &written).Write(value));
  return ReferenceTo(written.back(), value.size());
}

absl::StatusOr<OverflowReference> OverflowStore::Write(std::string_view value, LogTxn* txn) {
  LATCHKEY_CHECK(log_ == nullptr || txn != nullptr);
  // Takes the memory for all page ids now, so that the pages can be freed without any.
  std::vector<PageId> written;
  const size_t data_pages = (value.size() + DataPayload() - 1) / DataPayload();
  written.reserve(data_pages + data_pages / ListedPages() + 2);
  absl::Status status = CatchOutOfMemory([&] {
    const auto add = [&](absl::FunctionRef<void(std::byte*)> fill) {
      return AddPooledPage(txn, fill);
    };
    return ChainWriter(pool_.page_size(), add, &written).Write(value);
  });
  if (status.ok()) return ReferenceTo(written.back(), value.size());
  // No record refers to these pages yet, so they may be freed in any order.
  for (std::span<const PageId> rest = written; !rest.empty();) {
    const size_t count = std::min(rest.size(), ListedPages());
    FreePages(txn, kInvalidPageId, rest.first(count)).IgnoreError();
    rest = rest.subspan(count);
  }
  return status;
}

absl::Status OverflowStore::ReadList(PageId page, ListPage* list) {
  if (Raw(page) >= pool_.store().page_id_limit()) return Damaged(page, "no such page");
  SharedGuard guard;
  LATCHKEY_RETURN_IF_ERROR(pool_.FixShared(pool_.Here(), page, &guard));
  const std::byte* bytes = guard.data();
  if (bytes[offsetof(PageHeader, page_type)] !=
      std::byte{static_cast<uint8_t>(PageType::kOverflow)}) {
    return Damaged(page, "is not an overflow page");
  }
  const uint32_t count = RacyLoad<uint32_t>(bytes + kPageCount);
  const uint32_t payload = RacyLoad<uint32_t>(bytes + kPayloadSize);
  if (count > ListedPages() || payload > InlinePayload()) return Damaged(page, "impossible counts");
  list->next = PageId{RacyLoad<uint64_t>(bytes + kNext)};
  list->pages.resize(count);
  if (count > 0) std::memcpy(list->pages.data(), bytes + kContent, count * sizeof(PageId));
  for (const PageId listed : list->pages) {
    if (Raw(listed) >= pool_.store().page_id_limit()) {
      return Damaged(page, "lists a page that does not exist");
    }
  }
  list->payload.assign(reinterpret_cast<const char*>(bytes + kContent), payload);
  return absl::OkStatus();
}

absl::Status OverflowStore::Read(std::string_view reference_bytes, std::string* value) {
  LATCHKEY_ASSIGN_OR_RETURN(const Reference reference, Decode(reference_bytes));
  value->clear();
  // Bounded by what the store can hold, because a damaged reference may name any size.
  value->reserve(std::min(reference.size, pool_.store().page_id_limit() * pool_.page_size()));
  ListPage list;
  size_t lists = 0;
  for (PageId page{reference.first_page}; page != kInvalidPageId; page = list.next) {
    if (IsEndless(++lists)) return Damaged(page, "the chain has no end");
    LATCHKEY_RETURN_IF_ERROR(ReadList(page, &list));
    if (list.pages.empty() && list.next != kInvalidPageId) return Damaged(page, "lists nothing");
    value->append(list.payload);
    constexpr size_t kBatch = 32;
    for (size_t i = 0; i < list.pages.size(); ++i) {
      if (i % kBatch == 0) {
        pool_.Prefetch(pool_.Here(),
                       std::span(list.pages).subspan(i, std::min(kBatch, list.pages.size() - i)));
      }
      SharedGuard guard;
      LATCHKEY_RETURN_IF_ERROR(pool_.FixShared(pool_.Here(), list.pages[i], &guard));
      const size_t part =
          std::min(DataPayload(), reference.size - std::min<size_t>(value->size(), reference.size));
      value->append(reinterpret_cast<const char*>(guard.data() + kPageHeaderSize), part);
    }
  }
  if (value->size() != reference.size) {
    return Damaged(PageId{reference.first_page}, "the chain is shorter than its value");
  }
  return absl::OkStatus();
}

absl::Status OverflowStore::VisitPages(std::string_view reference_bytes,
                                       absl::FunctionRef<absl::Status(PageId)> visit) {
  LATCHKEY_ASSIGN_OR_RETURN(const Reference reference, Decode(reference_bytes));
  ListPage list;
  size_t lists = 0;
  for (PageId page{reference.first_page}; page != kInvalidPageId; page = list.next) {
    if (IsEndless(++lists)) return Damaged(page, "the chain has no end");
    LATCHKEY_RETURN_IF_ERROR(ReadList(page, &list));
    LATCHKEY_RETURN_IF_ERROR(visit(page));
    for (const PageId data : list.pages) LATCHKEY_RETURN_IF_ERROR(visit(data));
  }
  return absl::OkStatus();
}

// Logs that `pages` are freed, and frees them: all of them, or none if memory runs out first.
absl::Status OverflowStore::FreePages(LogTxn* txn, PageId chain, std::span<const PageId> pages) {
  PoolActor& actor = pool_.Here();  // from here on only the log takes memory
  LogSpace space;
  if (log_ != nullptr) {
    // A transaction has reserved space for the pages that it wrote.
    if (txn == nullptr) LATCHKEY_RETURN_IF_ERROR(log_->Reserve(2, /*must_not_fail=*/true, &space));
    log_->LogFree(txn, space, chain, pages);
  }
  for (const PageId page : pages) LATCHKEY_RETURN_IF_ERROR(pool_.FreePageById(actor, page));
  return absl::OkStatus();
}

// Cuts the chain behind list page `before` and frees `pages`, which are all pages behind it.
absl::Status OverflowStore::FreeTail(LogTxn* txn, PageId before, const std::vector<PageId>& pages) {
  PoolActor& actor = pool_.Here();  // as in FreePages
  LogSpace space;
  if (txn == nullptr) LATCHKEY_RETURN_IF_ERROR(log_->Reserve(2, /*must_not_fail=*/true, &space));
  {
    ExclusiveGuard guard;
    LATCHKEY_RETURN_IF_ERROR(pool_.FixExclusive(actor, before, &guard));
    RacyStore<uint64_t>(guard.Mutable() + kNext, Raw(kInvalidPageId));
    log_->LogImages(txn, space, {{&guard}}, pages);
  }
  for (const PageId page : pages) LATCHKEY_RETURN_IF_ERROR(pool_.FreePageById(actor, page));
  return absl::OkStatus();
}

bool OverflowStore::FreeLater(std::string_view reference) {
  SpinLatchGuard guard(waiting_latch_, pool_.runtime());
  if (waiting_.size() == kMostWaiting) return false;
  waiting_.push_back(OverflowReference(reference));  // its memory was taken at the open
  return true;
}

absl::Status OverflowStore::FreeWaiting() {
  for (;;) {
    OverflowReference chain;
    {
      SpinLatchGuard guard(waiting_latch_, pool_.runtime());
      if (waiting_.empty()) return absl::OkStatus();
      chain = waiting_.back();
      waiting_.pop_back();
    }
    const absl::Status freed = CatchOutOfMemory([&] { return Free(chain.view()); });
    if (!IsOutOfMemory(freed)) continue;
    FreeLater(chain.view());
    return freed;
  }
}

absl::Status OverflowStore::Free(std::string_view reference_bytes, LogTxn* txn) {
  LATCHKEY_ASSIGN_OR_RETURN(const Reference reference, Decode(reference_bytes));
  std::vector<std::vector<PageId>> groups;  // each list page, followed by its data pages
  ListPage list;
  for (PageId page{reference.first_page}; page != kInvalidPageId; page = list.next) {
    if (IsEndless(groups.size() + 1)) return Damaged(page, "the chain has no end");
    LATCHKEY_RETURN_IF_ERROR(ReadList(page, &list));
    std::vector<PageId>& group = groups.emplace_back(1, page);
    group.insert(group.end(), list.pages.begin(), list.pages.end());
  }
  for (; log_ != nullptr && groups.size() > 1; groups.pop_back()) {
    LATCHKEY_RETURN_IF_ERROR(FreeTail(txn, groups[groups.size() - 2].front(), groups.back()));
  }
  // Without a log: frees all of it, after every step that takes memory.
  for (; !groups.empty(); groups.pop_back()) {
    LATCHKEY_RETURN_IF_ERROR(FreePages(txn, groups.back().front(), groups.back()));
  }
  return absl::OkStatus();
}

}  // namespace latchkey
