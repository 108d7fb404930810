#include "engine/salvage/tree_rescue.h"

#include <utility>

#include "engine/salvage/overflow_rescue.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

bool IsTreePage(const SurveyedPage& page) {
  return page.type == (page.level == 0 ? PageType::kTreeLeaf : PageType::kTreeInner);
}

bool InRange(std::string_view key, const OwnedFences& fences) {
  return (!fences.has_lower || key >= fences.lower) && (!fences.has_upper || key < fences.upper);
}

/// The part of `fences` between two separators of a page; nullopt where the page is older than its
/// parent and reaches beyond it.
std::optional<OwnedFences> Part(const OwnedFences& fences, const std::string* from,
                                const std::string* to) {
  OwnedFences part = fences;
  if (from != nullptr && (!part.has_lower || *from > part.lower)) {
    part.lower = *from;
    part.has_lower = true;
  }
  if (to != nullptr && (!part.has_upper || *to < part.upper)) {
    part.upper = *to;
    part.has_upper = true;
  }
  if (part.has_lower && part.has_upper && part.lower >= part.upper) return std::nullopt;
  return part;
}

}  // namespace

absl::StatusOr<bool> TreeRescue::EmitLeaf(const LatchedNodeView& leaf, const OwnedFences& fences,
                                          RescuedTree* tree, RecordSink sink) {
  bool any = false;
  std::string key;
  for (uint32_t slot = 0; slot < leaf.count(); ++slot) {
    key.clear();
    if (!leaf.AppendKey(slot, &key) || !InRange(key, fences)) continue;
    any = true;
    if (leaf.is_ghost(slot)) continue;
    if ((leaf.flags(slot) & kOverflow) == 0) {
      LATCHKEY_RETURN_IF_ERROR(sink(key, leaf.Value(slot)));
      ++tree->records;
      continue;
    }
    const absl::StatusOr<std::string> value = RescueOverflowValue(survey_, leaf.Value(slot));
    if (!value.ok()) {
      ++tree->lost_values;
      continue;
    }
    LATCHKEY_RETURN_IF_ERROR(sink(key, *value));
    ++tree->records;
  }
  return any;
}

absl::Status TreeRescue::WalkChildren(const LatchedNodeView& node, const OwnedFences& fences,
                                      RescuedTree* tree, RecordSink sink) {
  std::string lower, upper;
  for (uint32_t slot = 0; slot <= node.count(); ++slot) {
    upper.clear();
    if (slot < node.count() && !node.AppendKey(slot, &upper)) {
      return MakeStatus(absl::StatusCode::kDataLoss, "an inner page has a damaged separator");
    }
    const std::optional<OwnedFences> part =
        Part(fences, slot > 0 ? &lower : nullptr, slot < node.count() ? &upper : nullptr);
    if (part) {
      LATCHKEY_RETURN_IF_ERROR(WalkPage(node.Child(slot), *part, node.level() - 1, tree, sink));
    }
    lower.swap(upper);
  }
  return absl::OkStatus();
}

absl::Status TreeRescue::WalkPage(PageId id, const OwnedFences& fences,
                                  std::optional<uint32_t> level, RescuedTree* tree,
                                  RecordSink sink) {
  const Gap gap{.range = fences, .page = id, .level = level};
  const SurveyedPage* page = survey_.Find(id);
  const size_t index = page == nullptr ? 0 : page - survey_.pages().data();
  AlignedBuffer buffer;
  if (page == nullptr || used_[index] || !IsTreePage(*page) || (level && page->level != *level) ||
      !survey_.Load(*page, &buffer).ok()) {
    tree->gaps.push_back(gap);
    return absl::OkStatus();
  }
  const LatchedNodeView node(buffer.data(), survey_.page_size());
  if (!node.is_leaf()) {
    used_[index] = true;
    tree->outdated_pages += page->outdated ? 1 : 0;
    return WalkChildren(node, fences, tree, sink);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const bool any, EmitLeaf(node, fences, tree, sink));
  if (!any && node.count() > 0) {
    tree->gaps.push_back(gap);  // it is a leaf of another place by now
    return absl::OkStatus();
  }
  used_[index] = true;
  tree->outdated_pages += page->outdated ? 1 : 0;
  return absl::OkStatus();
}

absl::Status TreeRescue::Walk(PageId root, RescuedTree* tree, RecordSink sink) {
  return WalkPage(root, OwnedFences{}, std::nullopt, tree, sink);
}

absl::Status TreeRescue::TakeLeaf(const SurveyedPage& leaf, RescuedTree* tree, RecordSink sink) {
  AlignedBuffer buffer;
  LATCHKEY_RETURN_IF_ERROR(survey_.Load(leaf, &buffer));
  used_[&leaf - survey_.pages().data()] = true;
  tree->outdated_pages += leaf.outdated ? 1 : 0;
  const LatchedNodeView node(buffer.data(), survey_.page_size());
  return EmitLeaf(node, OwnedFences{}, tree, sink).status();
}

absl::StatusOr<std::vector<bool>> FindChildren(const PageSurvey& survey) {
  std::vector<bool> children(survey.pages().size());
  AlignedBuffer buffer;
  for (const SurveyedPage& page : survey.pages()) {
    if (page.type != PageType::kTreeInner) continue;
    LATCHKEY_RETURN_IF_ERROR(survey.Load(page, &buffer));
    const LatchedNodeView node(buffer.data(), survey.page_size());
    for (uint32_t slot = 0; slot <= node.count(); ++slot) {
      const SurveyedPage* child = survey.Find(node.Child(slot));
      if (child != nullptr) children[child - survey.pages().data()] = true;
    }
  }
  return children;
}

absl::StatusOr<std::optional<std::pair<std::string, std::string>>> KeySpan(
    const PageSurvey& survey, const SurveyedPage& leaf) {
  AlignedBuffer buffer;
  LATCHKEY_RETURN_IF_ERROR(survey.Load(leaf, &buffer));
  const LatchedNodeView node(buffer.data(), survey.page_size());
  if (node.count() == 0) return std::nullopt;
  std::pair<std::string, std::string> span;
  node.AppendKey(0, &span.first);
  node.AppendKey(node.count() - 1, &span.second);
  return span;
}

}  // namespace latchkey
