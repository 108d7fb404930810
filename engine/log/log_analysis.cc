#include "engine/log/log_analysis.h"

#include <algorithm>

namespace latchkey {

void LogAnalysis::NoteUse(PageId page) {
  if (const auto it = freed_.find(Raw(page)); it != freed_.end()) it->second.used_since = true;
}

void LogAnalysis::NoteImages(const LogRecord& record) {
  if (!all_have_images_) return;
  for (const PageImage& image : record.images) with_image_.insert(Raw(image.page));
}

void LogAnalysis::NoteChanged(PageId page) {
  if (!all_have_images_ || with_image_.contains(Raw(page))) return;
  all_have_images_ = false;
  with_image_.clear();
}

void LogAnalysis::AddChange(Lsn lsn, const LogRecord& record) {
  const RecordChange& change = record.change;
  if (Raw(lsn) >= Raw(redo_)) NoteChanged(change.page);
  if (change.tree != kCatalogTree) next_tree_ = std::max(next_tree_, Raw(change.tree) + 1);
  if (change.now == RecordState::kGhost) ghosts_.push_back(lsn);
  if (record.header.txn == TxnId{0}) return;
  std::vector<Replaced>& replaced = active_[Raw(record.header.txn)].replaced;
  if (record.header.type == LogRecordType::kCompensation && change.now == RecordState::kOverflow) {
    const PageId restored = ChainOf(change.now_bytes).first_page;
    std::erase_if(replaced, [&](const Replaced& r) { return r.chain.first_page == restored; });
  }
  if (change.before == RecordState::kOverflow) {
    replaced.push_back({ChainOf(change.before_bytes), lsn});
  }
}

void LogAnalysis::Add(Lsn lsn, const LogRecord& record) {
  ++records_;
  const uint64_t txn = Raw(record.header.txn);
  next_txn_ = std::max(next_txn_, txn + 1);
  if (txn != 0) {
    Active& active = active_[txn];
    if (active.first == Lsn{0}) active.first = lsn;
    active.last = lsn;
  }
  for (const PageImage& image : record.images) NoteUse(image.page);
  if (Raw(lsn) >= Raw(redo_)) NoteImages(record);
  if (record.header.type == LogRecordType::kSplit && Raw(lsn) >= Raw(redo_)) {
    NoteChanged(record.split.page);
    NoteChanged(record.split.parent);
  }
  pages_used_ += record.images.size();
  switch (record.header.type) {
    case LogRecordType::kChange:
    case LogRecordType::kCompensation:
      AddChange(lsn, record);
      break;
    case LogRecordType::kBlindPut:
      AddChange(lsn, record);
      active_.erase(txn);
      break;
    case LogRecordType::kAllocation:
      for (const PageId page : record.pages) NoteUse(page);
      if (txn != 0) active_[txn].allocations.push_back(lsn);
      pages_used_ += record.pages.size();
      break;
    case LogRecordType::kImages:
    case LogRecordType::kFree:
    case LogRecordType::kFreeSorted:
      for (const PageId page : record.pages) freed_[Raw(page)] = {.lsn = lsn};
      for (const PageId page : record.detached) active_[txn].range.detached.push_back({page, lsn});
      if (record.header.type == LogRecordType::kImages && record.ends_transaction) {
        active_.erase(txn);
      }
      break;
    case LogRecordType::kCommit: {
      const std::vector<Replaced>& replaced = active_[txn].replaced;
      replaced_.insert(replaced_.end(), replaced.begin(), replaced.end());
      active_.erase(txn);
      break;
    }
    case LogRecordType::kEnd:
      active_.erase(txn);
      break;
    case LogRecordType::kSplit:
      break;
    case LogRecordType::kCheckpoint:
      next_txn_ = std::max(next_txn_, Raw(record.checkpoint.next_txn));
      // The records that freed the chains of an older checkpoint may come before `first_`. The
      // checkpoint from which recovery begins has those that were not freed by then.
      if (Raw(record.checkpoint.as_of) < Raw(first_)) break;
      for (const OverflowChain& chain : record.chains) {
        // LSN of before `as_of`: the record that begins there may be the one that frees the chain.
        replaced_.push_back({chain, Lsn{Raw(record.checkpoint.as_of) - 1}});
      }
      break;
    case LogRecordType::kDropTree:
      next_tree_ = std::max(next_tree_, Raw(record.tree) + 1);
      active_[txn].is_drop = true;
      active_[txn].drop = {.id = record.header.txn, .tree = record.tree, .root = record.root};
      break;
    case LogRecordType::kDeleteRange: {
      Active& active = active_[txn];
      active.is_range = true;
      active.range.tree = record.range.tree;
      active.range.from = record.range.from;
      active.range.to = record.range.to;
      break;
    }
  }
}

std::vector<LogAnalysis::Loser> LogAnalysis::Losers() const {
  std::vector<Loser> losers;
  for (const auto& [id, active] : active_) {
    if (active.is_drop || active.is_range) continue;
    losers.push_back({TxnId{id}, active.first, active.last, active.allocations});
  }
  std::sort(losers.begin(), losers.end(),
            [](const Loser& a, const Loser& b) { return Raw(a.last) > Raw(b.last); });
  return losers;
}

std::vector<LogAnalysis::Drop> LogAnalysis::UnfinishedDrops() const {
  std::vector<Drop> drops;
  for (const auto& [id, active] : active_) {
    if (!active.is_drop) continue;
    drops.push_back(active.drop);
    drops.back().first = active.first;
    drops.back().last = active.last;
  }
  std::sort(drops.begin(), drops.end(),
            [](const Drop& a, const Drop& b) { return Raw(a.first) < Raw(b.first); });
  return drops;
}

std::vector<LogAnalysis::RangeDelete> LogAnalysis::UnfinishedRangeDeletes() const {
  std::vector<RangeDelete> deletes;
  for (const auto& [id, active] : active_) {
    if (!active.is_range) continue;
    deletes.push_back(active.range);
    deletes.back().id = TxnId{id};
    deletes.back().first = active.first;
    deletes.back().last = active.last;
  }
  std::sort(deletes.begin(), deletes.end(),
            [](const RangeDelete& a, const RangeDelete& b) { return Raw(a.first) < Raw(b.first); });
  return deletes;
}

std::vector<OverflowChain> LogAnalysis::UnneededChains() const {
  std::vector<OverflowChain> chains;
  for (const Replaced& replaced : replaced_) {
    if (!IsFreedAfter(replaced.chain.first_page, replaced.since)) chains.push_back(replaced.chain);
  }
  const auto key = [](const OverflowChain& chain) { return Raw(chain.first_page); };
  std::sort(chains.begin(), chains.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  chains.erase(std::unique(chains.begin(), chains.end(),
                           [&](const auto& a, const auto& b) { return key(a) == key(b); }),
               chains.end());
  return chains;
}

std::vector<PageId> LogAnalysis::FreePages() const {
  std::vector<PageId> pages;
  for (const auto& [page, freed] : freed_) {
    if (!freed.used_since) pages.push_back(PageId{page});
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

}  // namespace latchkey
