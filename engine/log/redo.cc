#include "engine/log/redo.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/btree/tree.h"
#include "engine/log/page_lsn.h"
#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Bounds of a batch: enough pages to keep any device busy, and a bounded part of a small cache,
// which must hold two batches.
constexpr size_t kMaxBatchPages = 8192, kMaxBatchBytes = 4 << 20;
constexpr size_t kBatchesPerCache = 8;

constexpr std::string_view kNoRoom = "which has no room for the change";

absl::Status Misfit(Lsn lsn, PageId page, std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the log at {} changes page {}, {}: log and pages do not belong together; "
                    "restore a backup or salvage",
                    Raw(lsn), Raw(page), what);
}

// Most pages that actors may have been handed before the record that names them is in the log. A
// crash takes back such ids, and the log may then hold higher ones.
constexpr uint64_t kMostUnloggedPages = 4 * uint64_t{Runtime::kMaxActors};

// Whether a page holds the change logged at `lsn`.
bool Holds(const std::byte* page, Lsn lsn) {
  if (LATCHKEY_CANARY("redo-skips-a-block") && PageLsn(page) / 512 == Raw(lsn) / 512) return true;
  return PageLsn(page) >= Raw(lsn);
}

bool IsValue(const NodeEditor& leaf, SlotPosition position) {
  return position.exact && leaf.flags(position.slot) == RecordFlags{0};
}

// Gives the leaf's record the logged state. `value`: scratch. Returns empty if done; else why the
// page cannot take the change.
std::string_view MakeRecord(NodeEditor leaf, const RecordChange& change, std::string* value) {
  if (leaf.type() != PageType::kTreeLeaf || !leaf.is_leaf()) return "which is no leaf";
  if (!change.key.starts_with(leaf.Prefix())) return "whose keys begin otherwise";
  const SlotPosition position = leaf.LowerBound(change.key);
  if (change.is_difference) {
    if (!IsValue(leaf, position)) return "which has no value to change";
    value->assign(leaf.Value(position.slot));
    if (!BytesNow(change, value)) return "whose value has another size";
    return leaf.ReplaceValue(position.slot, *value, RecordFlags{0}) ? "" : kNoRoom;
  }
  if (change.now == RecordState::kAbsent) {
    if (position.exact) leaf.Remove(position.slot);
    return "";
  }
  const RecordFlags flags = FlagsOf(change.now);
  const bool done = position.exact
                        ? leaf.ReplaceValue(position.slot, change.now_bytes, flags)
                        : leaf.Insert(position.slot, change.key, change.now_bytes, flags);
  return done ? "" : kNoRoom;
}

bool IsInner(const NodeView& page) {
  return page.type() == PageType::kTreeInner && !page.is_leaf();
}

// As MakeRecord.
std::string_view SplitPage(NodeEditor page, const PageSplit& split) {
  const bool is_tree_page = IsInner(page) || (page.type() == PageType::kTreeLeaf && page.is_leaf());
  const bool done = is_tree_page && page.CheckShape().ok() &&
                    page.SplitAgain(split.separator, split.fence_prefix);
  return done ? "" : "which cannot be split there";
}

std::string_view AddSeparator(NodeEditor parent, const PageSplit& split, PageId right) {
  if (!IsInner(parent) || !parent.CheckShape().ok()) return "which is no inner page";
  if (!split.separator.starts_with(parent.Prefix().substr(0, parent.fence_prefix_length()))) {
    return "whose separators begin otherwise";
  }
  const SlotPosition position = parent.LowerBound(split.separator);
  if (position.exact || parent.Child(position.slot) != split.page) {
    return "which does not lead to the page that was split";
  }
  const bool done = parent.HasRoomForAnySeparator() &&
                    parent.InsertSeparator(position.slot, split.separator, split.page, right);
  return done ? "" : kNoRoom;
}

}  // namespace

absl::Status Redo::Run(Log& log, Lsn from) {
  if (misfits_ == Misfits::kRefuse) {
    page_ids_ = pool_.store().page_id_limit() + analysis_.pages_used() + kMostUnloggedPages;
  }
  LATCHKEY_RETURN_IF_ERROR(
      log.ForEach(from, [this](const LogRecordView& view) { return Collect(view); }));
  LATCHKEY_RETURN_IF_ERROR(Turn());
  reader_.Await();
  LATCHKEY_RETURN_IF_ERROR(ApplyBatch(current_));
  return EndDamage();
}

absl::Status Redo::EndDamage() {
  if (misfits_ == Misfits::kRefuse && !damaged_.empty()) return damaged_.begin()->second.proof;
  for (const auto& [page, damage] : damaged_) {
    left_out_.insert(left_out_.end(), damage.left_out.begin(), damage.left_out.end());
  }
  std::sort(left_out_.begin(), left_out_.end());
  return absl::OkStatus();
}

void Redo::Batch::Clear() {
  bytes.clear();
  entries.clear();
  pages.clear();
}

void Redo::Want(Lsn lsn, PageId page) {
  if (!analysis_.IsFreedAfter(page, lsn)) next_.pages.push_back(page);
}

absl::Status Redo::Collect(const LogRecordView& view) {
  LATCHKEY_RETURN_IF_ERROR(DecodeLogRecord(view.bytes, &record_));
  const bool changes_one = record_.header.type == LogRecordType::kChange ||
                           record_.header.type == LogRecordType::kCompensation ||
                           record_.header.type == LogRecordType::kBlindPut;
  if (changes_one) Want(view.lsn, record_.change.page);
  for (const PageImage& image : record_.images) Want(view.lsn, image.page);
  if (record_.header.type == LogRecordType::kSplit) {
    Want(view.lsn, record_.split.page);
    Want(view.lsn, record_.split.parent);
  }
  if (!changes_one && record_.images.empty()) return absl::OkStatus();
  next_.entries.push_back(
      {.lsn = view.lsn, .offset = next_.bytes.size(), .size = view.bytes.size()});
  next_.bytes.insert(next_.bytes.end(), view.bytes.begin(), view.bytes.end());
  return IsFull(next_) ? Turn() : absl::OkStatus();
}

bool Redo::IsFull(const Batch& batch) const {
  const size_t most_pages =
      std::clamp<size_t>(pool_.frames() / kBatchesPerCache, 1, kMaxBatchPages);
  return batch.pages.size() >= most_pages || batch.bytes.size() >= kMaxBatchBytes;
}

absl::Status Redo::Turn() {
  reader_.Await();
  std::vector<PageId> pages = PagesToRead(next_);
  if (current_.entries.empty() && !IsFull(next_)) {
    pool_.Prefetch(pool_.Here(), pages);  // all in one batch: nothing to apply meanwhile
  } else {
    reader_.Begin(std::move(pages));
  }
  LATCHKEY_RETURN_IF_ERROR(ApplyBatch(current_));
  std::swap(current_, next_);
  return absl::OkStatus();
}

std::vector<PageId> Redo::PagesToRead(const Batch& batch) const {
  std::vector<PageId> pages = batch.pages;
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  const PageStore& store = pool_.store();
  std::erase_if(pages, [&](PageId page) {
    return Raw(page) >= store.page_id_limit() || !store.IsAllocated(page) || pool_.IsResident(page);
  });
  return pages;
}

absl::Status Redo::ApplyBatch(Batch& batch) {
  for (const Entry& entry : batch.entries) {
    LATCHKEY_RETURN_IF_ERROR(
        DecodeLogRecord(std::span(batch.bytes).subspan(entry.offset, entry.size), &record_));
    const absl::Status done = Apply(entry.lsn, record_);
    const bool skip = misfits_ == Misfits::kSkip && absl::IsDataLoss(done);
    if (!done.ok() && !skip) return done;
    if (skip) left_out_.push_back(entry.lsn);
  }
  batch.Clear();
  return absl::OkStatus();
}

absl::Status Redo::Apply(Lsn lsn, const LogRecord& record) {
  if (record.images.empty()) return ApplyChange(lsn, record.change);
  for (const PageImage& image : record.images) {
    LATCHKEY_RETURN_IF_ERROR(ApplyImage(lsn, record, image));
  }
  return record.header.type == LogRecordType::kSplit ? ApplySplit(lsn, record) : absl::OkStatus();
}

absl::Status Redo::Fix(Lsn lsn, PageId page, bool is_replaced, ExclusiveGuard* guard) {
  if (Raw(page) >= page_ids_) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "the log at {} changes page {}, but the pages on the device and in the log "
                      "end below {}: the log is damaged; restore a backup or salvage",
                      Raw(lsn), Raw(page), page_ids_);
  }
  absl::Status fixed = pool_.FixForRedo(pool_.Here(), page, is_replaced, guard);
  if (absl::IsDataLoss(fixed)) damaged_.try_emplace(page, Damage{.proof = fixed, .left_out = {}});
  LATCHKEY_RETURN_IF_ERROR(fixed);
  const uint64_t newest = PageLsn(guard->data());
  if (newest < Raw(log_end_)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "page {} was changed at {} of the log, which ends at {}: the log is damaged "
                    "there or is an older copy; restore a backup or salvage",
                    Raw(page), newest, Raw(log_end_));
}

bool Redo::LacksChanges(const std::byte* page, const PageEdit& edit) {
  if (LATCHKEY_CANARY("redo-onto-what-lacks-changes")) return false;
  if (static_cast<uint32_t>(PageLsn(page)) != edit.page_lsn) lacking_.insert(Raw(edit.page));
  return lacking_.contains(Raw(edit.page));
}

absl::Status Redo::FixForImage(Lsn lsn, PageId page, ExclusiveGuard* guard) {
  if (!damaged_.contains(page)) {
    absl::Status fixed = Fix(lsn, page, /*is_replaced=*/false, guard);
    if (!damaged_.contains(page)) return fixed;
  }
  LATCHKEY_RETURN_IF_ERROR(Fix(lsn, page, /*is_replaced=*/true, guard));
  const auto damage = damaged_.extract(page);
  ++repaired_;
  LogTo(log_sink_, LogLevel::kWarning,
        fmt::format("recovery made page {} again from its image at {} of the log: {}", Raw(page),
                    Raw(lsn), std::string(damage.mapped().proof.message())));
  return absl::OkStatus();
}

absl::Status Redo::ApplyChange(Lsn lsn, const RecordChange& change) {
  // A change that holds the whole value is right on an older page, too. So salvage applies it there.
  return ApplyEdit(lsn,
                   {.page = change.page,
                    .page_lsn = change.page_lsn,
                    .fits_older = !change.is_difference,
                    .apply = [&](NodeEditor page) { return MakeRecord(page, change, &value_); }});
}

// If the parent cannot take the separator, the page keeps its records: nothing leads to the new one.
absl::Status Redo::ApplySplit(Lsn lsn, const LogRecord& record) {
  const PageSplit& split = record.split;
  const auto add_separator = [&](NodeEditor page) {
    return AddSeparator(page, split, record.images.front().page);
  };
  if (!LATCHKEY_CANARY("redo-forgets-the-parent-of-a-split")) {
    LATCHKEY_RETURN_IF_ERROR(ApplyEdit(lsn, {.page = split.parent,
                                             .page_lsn = split.parent_lsn,
                                             .fits_older = true,
                                             .apply = add_separator}));
  }
  const auto split_page = [&](NodeEditor page) { return SplitPage(page, split); };
  return ApplyEdit(
      lsn,
      {.page = split.page, .page_lsn = split.page_lsn, .fits_older = true, .apply = split_page});
}

absl::Status Redo::ApplyEdit(Lsn lsn, const PageEdit& edit) {
  if (analysis_.IsFreedAfter(edit.page, lsn)) return absl::OkStatus();
  ExclusiveGuard guard;
  absl::Status fixed = damaged_.contains(edit.page)
                           ? absl::OkStatus()
                           : Fix(lsn, edit.page, /*is_replaced=*/false, &guard);
  if (const auto damage = damaged_.find(edit.page); damage != damaged_.end()) {
    if (misfits_ == Misfits::kSkip) damage->second.left_out.push_back(lsn);
    return absl::OkStatus();
  }
  LATCHKEY_RETURN_IF_ERROR(fixed);
  if (Holds(guard.data(), lsn)) return absl::OkStatus();
  if (LacksChanges(guard.data(), edit) && (misfits_ == Misfits::kRefuse || !edit.fits_older)) {
    return Misfit(lsn, edit.page, "which lacks changes before that");
  }
  std::byte* page = guard.Mutable();
  const std::string_view misfit =
      edit.apply(NodeEditor(page, pool_.page_size(), pool_.Here().scratch.get()));
  if (!misfit.empty()) return Misfit(lsn, edit.page, misfit);
  SetPageLsn(page, lsn);
  ++applied_;
  return absl::OkStatus();
}

absl::Status Redo::ApplyImage(Lsn lsn, const LogRecord& record, const PageImage& image) {
  if (analysis_.IsFreedAfter(image.page, lsn)) return absl::OkStatus();
  if (record.page_size != pool_.page_size()) {
    return Misfit(lsn, image.page, "with an image of another page size");
  }
  ExclusiveGuard guard;
  LATCHKEY_RETURN_IF_ERROR(FixForImage(lsn, image.page, &guard));
  if (Holds(guard.data(), lsn)) return absl::OkStatus();
  ExpandImage(image, record.page_size, lsn, guard.Mutable());
  lacking_.erase(Raw(image.page));
  LATCHKEY_RETURN_IF_ERROR(CheckPageShape(image.page, {guard.data(), pool_.page_size()}));
  ++applied_;
  return absl::OkStatus();
}

}  // namespace latchkey
