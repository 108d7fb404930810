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
                                                            std::string_view value,
                                                            ChainBuilder::AddPage add) {
  ChainBuilder chain(page_size);
  LATCHKEY_RETURN_IF_ERROR(chain.Append(value, add));
  LATCHKEY_ASSIGN_OR_RETURN(const PageId first, chain.Finish(add));
  return ReferenceTo(first, value.size());
}

absl::Status OverflowStore::Append(ChainBuilder& unfinished, std::string_view part, LogTxn* txn) {
  LATCHKEY_CHECK(log_ == nullptr || txn != nullptr);
  return unfinished.Append(
      part, [&](absl::FunctionRef<void(std::byte*)> fill) { return AddPooledPage(txn, fill); });
}

absl::StatusOr<OverflowReference> OverflowStore::Finish(ChainBuilder& unfinished, LogTxn* txn) {
  LATCHKEY_CHECK(log_ == nullptr || txn != nullptr);
  LATCHKEY_ASSIGN_OR_RETURN(const PageId first,
                            unfinished.Finish([&](absl::FunctionRef<void(std::byte*)> fill) {
                              return AddPooledPage(txn, fill);
                            }));
  return ReferenceTo(first, unfinished.size());
}

absl::StatusOr<OverflowReference> OverflowStore::Write(std::string_view value, LogTxn* txn) {
  ChainBuilder chain(pool_.page_size());
  chain.Reserve(value.size());
  absl::StatusOr<OverflowReference> written =
      CatchOutOfMemory([&]() -> absl::StatusOr<OverflowReference> {
        LATCHKEY_RETURN_IF_ERROR(Append(chain, value, txn));
        return Finish(chain, txn);
      });
  if (!written.ok()) {
    std::span<const PageId> pages = chain.pages();
    FreeUnfinished(&pages, txn).IgnoreError();
  }
  return written;
}

absl::Status OverflowStore::FreeUnfinished(std::span<const PageId>* pages, LogTxn* txn) {
  absl::Status status;
  while (!pages->empty()) {
    const std::span<const PageId> group = pages->first(std::min(pages->size(), ListedPages()));
    absl::Status freed = CatchOutOfMemory([&] { return FreePages(txn, kInvalidPageId, group); });
    if (IsOutOfMemory(freed)) return freed;
    if (!freed.ok()) status = std::move(freed);
    *pages = pages->subspan(group.size());
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

absl::Status OverflowStore::ReadData(std::span<const PageId> pages, size_t skip, size_t size,
                                     std::string* value) {
  constexpr size_t kBatch = 32;
  for (size_t i = 0; i < pages.size() && size > 0; ++i, skip = 0) {
    if (i % kBatch == 0) {
      const size_t wanted = (skip + size + DataPayload() - 1) / DataPayload();
      pool_.Prefetch(pool_.Here(), pages.subspan(i, std::min({kBatch, pages.size() - i, wanted})));
    }
    SharedGuard guard;
    LATCHKEY_RETURN_IF_ERROR(pool_.FixShared(pool_.Here(), pages[i], &guard));
    const size_t part = std::min(DataPayload() - skip, size);
    value->append(reinterpret_cast<const char*>(guard.data() + kPageHeaderSize + skip), part);
    size -= part;
  }
  return absl::OkStatus();
}

absl::Status OverflowStore::Read(std::string_view reference, std::string* value) {
  return ReadPart(reference, 0, Database::kMaxValueSize, value);
}

absl::StatusOr<uint64_t> OverflowStore::SizeOf(std::string_view reference_bytes) {
  LATCHKEY_ASSIGN_OR_RETURN(const Reference reference, Decode(reference_bytes));
  return reference.size;
}

absl::Status OverflowStore::ReadPart(std::string_view reference_bytes, uint64_t offset, size_t size,
                                     std::string* part) {
  LATCHKEY_ASSIGN_OR_RETURN(const Reference reference, Decode(reference_bytes));
  part->clear();
  if (offset >= reference.size || size == 0) return absl::OkStatus();
  const size_t wanted = std::min<uint64_t>(size, reference.size - offset);
  // Bounded by what the store can hold, because a damaged reference may name any size.
  part->reserve(std::min<uint64_t>(wanted, pool_.store().page_id_limit() * pool_.page_size()));
  ListPage list;
  size_t lists = 0;
  uint64_t before = 0;  // bytes of the value in front of the list page
  for (PageId page{reference.first_page}; page != kInvalidPageId && part->size() < wanted;
       page = list.next) {
    if (IsEndless(++lists)) return Damaged(page, "the chain has no end");
    LATCHKEY_RETURN_IF_ERROR(ReadList(page, &list));
    if (list.pages.empty()) {
      if (list.next != kInvalidPageId) return Damaged(page, "lists nothing");
      if (list.payload.size() != reference.size) break;
      part->append(list.payload, offset, wanted);
      break;
    }
    const uint64_t behind = before + list.pages.size() * DataPayload();
    if (const uint64_t from = offset + part->size(); from < behind) {
      const size_t skipped = (from - before) / DataPayload();
      LATCHKEY_RETURN_IF_ERROR(ReadData(std::span(list.pages).subspan(skipped),
                                        (from - before) % DataPayload(), wanted - part->size(),
                                        part));
    }
    before = behind;
  }
  if (part->size() != wanted) {
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
