#include "engine/log/page_records.h"

#include <array>

#include "engine/btree/node.h"
#include "engine/log/log_record.h"
#include "engine/log/page_lsn.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {

void PageRecords::LogValuePage(LogTxn& txn, ExclusiveGuard& page) {
  const PageId id = page.page();
  std::byte* bytes = page.Mutable();
  const PageImage image = ImageOf(id, {bytes, page_size_});
  const size_t image_size = ImagesRecordSize({&image, 1}, 0);
  Log& log = parts_.log;
  const uint64_t space = log.RecordSpace(AllocationRecordSize(1)) + log.RecordSpace(image_size);
  if (!parts_.accounts.SpendValuePage(txn, space)) {
    parts_.health.KeepOffDevice(bytes);
    return;
  }
  ActiveTransactions& active = parts_.active;
  log.Append(AllocationRecordSize(1), [&](Lsn lsn, std::byte* to) {
    EncodeAllocation(active.Enter(&txn, LogRecordType::kAllocation, lsn), {&id, 1}, to);
  });
  log.Append(image_size, [&](Lsn lsn, std::byte* to) {
    EncodeImages(active.Enter(&txn, LogRecordType::kImages, lsn), {&image, 1}, {}, to);
    SetPageLsn(bytes, lsn);
  });
}

void PageRecords::LogImages(LogTxn* txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                            std::span<const PageId> ids, ImagesKind kind) {
  constexpr size_t kUsualImages = 4;
  LATCHKEY_CHECK(changed.size() <= kMaxImages);
  if (changed.size() <= kUsualImages) {
    LogSomeImages<kUsualImages>(txn, space, changed, ids, kind);
  } else {
    LogSomeImages<kMaxImages>(txn, space, changed, ids, kind);
  }
}

template <size_t kImages>
void PageRecords::LogSomeImages(LogTxn* txn, LogSpace& space,
                                std::span<ExclusiveGuard* const> changed,
                                std::span<const PageId> ids, ImagesKind kind) {
  const bool ends = kind == ImagesKind::kEnd;
  std::array<PageImage, kImages> buffer;
  for (size_t i = 0; i < changed.size(); ++i) {
    buffer[i] = ImageOf(changed[i]->page(), {changed[i]->data(), page_size_});
  }
  const std::span<const PageImage> images(buffer.data(), changed.size());
  const size_t size = ImagesRecordSize(images, ids.size());
  if (!parts_.accounts.SpendFree(txn, space, size)) {
    for (ExclusiveGuard* page : changed) parts_.health.KeepOffDevice(page->Mutable());
    if (ends && txn->active()) parts_.active.LeaveUnlogged(*txn);
    return;
  }
  parts_.log.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeImages(parts_.active.Enter(txn, LogRecordType::kImages, lsn), images, ids, to, kind);
    if (ends) parts_.active.Leave(*txn);
    for (ExclusiveGuard* page : changed) SetPageLsn(page->Mutable(), lsn);
    if (kind == ImagesKind::kChange && !ids.empty()) parts_.frees_under_way.Enter(space, lsn);
  });
}

void PageRecords::LogSplit(LogSpace& space, ExclusiveGuard& parent, ExclusiveGuard& page,
                           ExclusiveGuard& right, std::string_view separator) {
  const std::array<ExclusiveGuard*, 3> changed = {&parent, &page, &right};
  if (wants_images_) return LogImages(nullptr, space, changed, {});
  const PageSplit split = {
      .page = page.page(),
      .parent = parent.page(),
      .page_lsn = static_cast<uint32_t>(PageLsn(page.data())),
      .parent_lsn = static_cast<uint32_t>(PageLsn(parent.data())),
      .fence_prefix = LatchedNodeView(page.data(), page_size_).fence_prefix_length(),
      .separator = separator};
  const PageImage image = ImageOf(right.page(), {right.data(), page_size_});
  const size_t size = SplitRecordSize(split, image);
  if (!parts_.accounts.SpendFree(nullptr, space, size)) {
    for (ExclusiveGuard* guard : changed) parts_.health.KeepOffDevice(guard->Mutable());
    return;
  }
  parts_.log.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeSplit({.type = LogRecordType::kSplit}, split, image, to);
    for (ExclusiveGuard* guard : changed) SetPageLsn(guard->Mutable(), lsn);
  });
}

void PageRecords::LogFreeSorted(LogTxn& txn, LogSpace& space, std::span<const PageId> pages) {
  const size_t size = FreeSortedRecordSize(pages);
  if (!parts_.accounts.SpendFree(&txn, space, size)) return;
  parts_.log.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeFreeSorted(parts_.active.Enter(&txn, LogRecordType::kFreeSorted, lsn), pages, to);
    parts_.frees_under_way.Enter(space, lsn);
  });
}

absl::StatusOr<Lsn> PageRecords::LogUnloggedPages(LogTxn& txn, std::span<const PageId> pages) {
  const size_t size = AllocationRecordSize(pages.size());
  LATCHKEY_RETURN_IF_ERROR(parts_.accounts.ReserveRecord(txn, size));
  if (!parts_.accounts.SpendRecord(txn, size)) return parts_.health.FailUnlessWritable();
  return parts_.log.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeAllocation(parts_.active.Enter(&txn, LogRecordType::kAllocation, lsn), pages, to);
  });
}

void PageRecords::LogFree(LogTxn* txn, LogSpace& space, PageId chain,
                          std::span<const PageId> pages) {
  const size_t size = FreeRecordSize(pages.size());
  if (!parts_.accounts.SpendFree(txn, space, size)) return;
  PendingChains::Node forgotten;  // its memory is freed without the log's latch
  parts_.log.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeFree(parts_.active.Enter(txn, LogRecordType::kFree, lsn), chain, pages, to);
    parts_.frees_under_way.Enter(space, lsn);
    if (chain != kInvalidPageId) forgotten = parts_.chains.Extract(chain);
  });
}

absl::Status PageRecords::LogDropTree(LogTxn& drop, TreeId tree, PageId root,
                                      std::string_view name) {
  const size_t size = DropTreeRecordSize(name.size());
  LATCHKEY_RETURN_IF_ERROR(parts_.accounts.ReserveRecord(drop, size));
  if (!parts_.accounts.SpendRecord(drop, size)) return parts_.health.FailUnlessWritable();
  parts_.log.Append(size, [&](Lsn lsn, std::byte* to) {
    EncodeDropTree(parts_.active.Enter(&drop, LogRecordType::kDropTree, lsn), tree, root, name, to);
  });
  return absl::OkStatus();
}

}  // namespace latchkey
