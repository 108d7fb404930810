#include "layout/separate/share_separator.h"

#include <algorithm>

#include "storage/base/hash.h"

namespace latchkey {
namespace {

constexpr uint32_t kMostHistory = 0xffff;

// In [0, 1), always the same for a page.
double HashShare(PageId id) { return static_cast<double>(MixHash(Raw(id)) >> 11) * 0x1p-53; }

}  // namespace

ShareSeparator::ShareSeparator(Runtime& runtime, double hot_proportion)
    : share_(hot_proportion),
      frequency_(runtime),
      pages_of_rank_(static_cast<size_t>(kBonus * kMostHistory) + 1) {}

bool ShareSeparator::IsHot(PageId id) const {
  if (Raw(id) >= ranked_.load(std::memory_order_acquire)) return HashShare(id) < share_;
  return hot_[Raw(id)].load(std::memory_order_relaxed) != 0;
}

Placement ShareSeparator::OnMove(PageId id) const {
  return IsHot(id) ? Placement::kHot : Placement::kInPlace;
}

Placement ShareSeparator::OnWrite(PageId id) {
  frequency_.OnWrite(id);
  return OnMove(id);
}

uint32_t ShareSeparator::RankOf(PageId id) const {
  const uint32_t history = frequency_.History(id);
  return IsHot(id) ? static_cast<uint32_t>(kBonus * history) : history;
}

ShareSeparator::Cut ShareSeparator::FindCut(uint64_t limit,
                                            absl::FunctionRef<bool(PageId)> is_live) {
  std::vector<uint32_t>& pages = pages_of_rank_;
  std::fill(pages.begin(), pages.end(), 0);
  uint64_t live = 0;
  for (uint64_t i = 0; i < limit; ++i) {
    if (!is_live(PageId{i})) continue;
    ++live;
    ++pages[RankOf(PageId{i})];
  }
  double wanted = share_ * static_cast<double>(live);
  for (size_t rank = pages.size(); rank-- > 0;) {
    if (pages[rank] >= wanted) {
      return {static_cast<uint32_t>(rank), pages[rank] > 0 ? wanted / pages[rank] : 0};
    }
    wanted -= pages[rank];
  }
  return {0, 1};  // only a rounding error is left
}

void ShareSeparator::Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) {
  frequency_.EndEpoch(inputs.page_id_limit, is_live);
  const Cut cut = FindCut(inputs.page_id_limit, is_live);
  if (!hot_.EnsureSize(inputs.page_id_limit)) return;  // as before
  for (uint64_t i = 0; i < inputs.page_id_limit; ++i) {
    const PageId id{i};
    const uint32_t rank = RankOf(id);
    const double below = rank == cut.rank ? cut.part : rank > cut.rank ? 1 : 0;
    const bool hot = HashShare(id) < (is_live(id) ? below : share_);
    hot_[i].store(hot ? 1 : 0, std::memory_order_relaxed);
  }
  const uint64_t ranked = ranked_.load(std::memory_order_relaxed);
  ranked_.store(std::max(ranked, inputs.page_id_limit), std::memory_order_release);
}

}  // namespace latchkey
