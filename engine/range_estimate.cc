#include "engine/range_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/btree/node.h"
#include "engine/log/log_record.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Pages that are followed on each level. With more children they are chosen evenly, the first and
// the last included: only those may lie partly outside the range.
constexpr size_t kFollowed = 48;

// A page whose keys overlap the range, with the bounds that its parents know.
struct Place {
  PageId page;
  bool cut_below = false, cut_above = false;  ///< it may have keys below or above the range
  double weight = 1;                          ///< pages that it stands for
};

class Estimator {
 public:
  Estimator(const BTree& tree, const KeyRange& range)
      : tree_(tree), pool_(tree.pool()), range_(range) {}

  // False: a structure change moved a page away; the caller starts again.
  absl::StatusOr<bool> Run(RangeEstimate* estimate) {
    std::vector<Place> level{
        {.page = tree_.root(), .cut_below = range_.from.has_value(), .cut_above = range_.to.has_value()}};
    records_ = bytes_ = 0;
    for (uint32_t height = 0; !level.empty(); ++height) {
      if (height > kMostLevels) return false;
      std::vector<Place> below;
      for (const Place& place : Choose(std::move(level))) {
        LATCHKEY_ASSIGN_OR_RETURN(const bool done, Visit(place, &below));
        if (!done) return false;
      }
      level = std::move(below);
    }
    estimate->records = static_cast<uint64_t>(std::llround(records_));
    estimate->bytes = static_cast<uint64_t>(std::llround(bytes_));
    return true;
  }

 private:
  static constexpr uint32_t kMostLevels = 40;

  static std::vector<Place> Choose(std::vector<Place> all) {
    if (all.size() <= kFollowed) return all;
    std::vector<Place> chosen{all.front()};
    double inside = 0;
    for (size_t i = 1; i + 1 < all.size(); ++i) inside += all[i].weight;
    double weight = 0;
    for (size_t i = 1; i + 1 < kFollowed; ++i) {
      const size_t at = 1 + (i - 1) * (all.size() - 2) / (kFollowed - 2);
      chosen.push_back(all[at]);
      weight += all[at].weight;
    }
    for (size_t i = 1; i < chosen.size(); ++i) chosen[i].weight *= inside / weight;
    chosen.push_back(all.back());
    return chosen;
  }

  absl::StatusOr<bool> Visit(const Place& place, std::vector<Place>* below) {
    if (Raw(place.page) >= pool_.store().page_id_limit()) return false;
    PoolActor& actor = pool_.Here();
    tree_.Enter(actor);
    SharedGuard guard;
    if (absl::Status fixed = pool_.FixShared(actor, place.page, &guard); !fixed.ok()) {
      if (place.page == tree_.root()) return fixed;
      return false;
    }
    const LatchedNodeView node(guard.data(), tree_.page_size());
    if (node.is_leaf()) {
      if (!BTree::IsLeafPage(node)) return false;
      CountLeaf(place, node);
      return true;
    }
    if (node.type() != PageType::kTreeInner) return false;
    const uint32_t first = place.cut_below ? node.ChildSlotFor(*range_.from) : 0;
    const uint32_t last = place.cut_above ? node.LowerBound(*range_.to).slot : node.count();
    for (uint32_t slot = first; slot <= last && slot <= node.count(); ++slot) {
      below->push_back({.page = node.Child(slot),
                        .cut_below = place.cut_below && slot == first,
                        .cut_above = place.cut_above && slot == last,
                        .weight = place.weight});
    }
    return true;
  }

  void CountLeaf(const Place& place, const LatchedNodeView& leaf) {
    const uint32_t begin = place.cut_below ? leaf.LowerBound(*range_.from).slot : 0;
    const uint32_t end = place.cut_above ? leaf.LowerBound(*range_.to).slot : leaf.count();
    double records = 0, chains = 0;
    for (uint32_t slot = begin; slot < end; ++slot) {
      records += !leaf.is_ghost(slot);
      if (leaf.flags(slot) & kOverflow) chains += ChainBytes(leaf.Value(slot));
    }
    const double share = leaf.count() == 0 ? 0 : static_cast<double>(end - begin) / leaf.count();
    records_ += place.weight * records;
    bytes_ += place.weight * (share * tree_.page_size() + chains);
  }

  // In whole pages.
  double ChainBytes(std::string_view reference) const {
    const OverflowChain chain = ChainOf(reference);
    if (chain.first_page == kInvalidPageId || chain.size > Database::kMaxValueSize) return 0;
    const double page = tree_.page_size();
    return std::ceil(static_cast<double>(chain.size) / page + 0.01) * page;
  }

  const BTree& tree_;
  BufferPool& pool_;
  const KeyRange& range_;
  double records_ = 0, bytes_ = 0;
};

}  // namespace

absl::StatusOr<RangeEstimate> EstimateRange(const BTree& tree, const KeyRange& range) {
  constexpr int kAttempts = 8;
  RangeEstimate estimate;
  if (range.from && range.to && *range.from >= *range.to) return estimate;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    LATCHKEY_ASSIGN_OR_RETURN(const bool done, Estimator(tree, range).Run(&estimate));
    if (done) return estimate;
  }
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the tree rooted at page {} leads to pages that are none of a tree",
                    Raw(tree.root()));
}

}  // namespace latchkey
