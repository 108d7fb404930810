// The records of a tree from surveyed pages: a walk from its root around lost pages.
//
// If a child is lost, or has another place in the tree by now, the walk notes a *gap*: the key
// range that stays empty. Pages hold no mark of their tree, so only keys tell where leaves below a
// lost inner page belong: see salvage.cc.
//
// Thread-safety: not thread-safe.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/btree/node.h"
#include "engine/btree/tree.h"
#include "engine/salvage/page_survey.h"

namespace latchkey {

/// A place where a tree's structure breaks off.
struct Gap {
  OwnedFences range;
  PageId page = kInvalidPageId;   ///< the lost page
  std::optional<uint32_t> level;  ///< nullopt = it was the root
};

struct RescuedTree {
  uint64_t records = 0;
  uint64_t lost_values = 0;     ///< records left out because their overflow chain is lost
  uint64_t outdated_pages = 0;  ///< pages read from an older copy because the newest is damaged
  std::vector<Gap> gaps;
};

/// Called with the records of a page in key order. An error ends the rescue.
using RecordSink = absl::FunctionRef<absl::Status(std::string_view key, std::string_view value)>;

class TreeRescue {
 public:
  explicit TreeRescue(const PageSurvey& survey) : survey_(survey), used_(survey.pages().size()) {}

  /// Calls `sink` for every record reachable from `root`, in key order, and adds to *tree.
  absl::Status Walk(PageId root, RescuedTree* tree, RecordSink sink);
  /// The same for one leaf that no walk has used.
  absl::Status TakeLeaf(const SurveyedPage& leaf, RescuedTree* tree, RecordSink sink);

  /// Whether a walk has reached the page. `index`: within survey.pages().
  bool used(size_t index) const { return used_[index]; }

 private:
  absl::Status WalkPage(PageId page, const OwnedFences& fences, std::optional<uint32_t> level,
                        RescuedTree* tree, RecordSink sink);
  absl::Status WalkChildren(const LatchedNodeView& node, const OwnedFences& fences,
                            RescuedTree* tree, RecordSink sink);
  /// Returns whether any record, deleted ones included, lies in `fences`.
  absl::StatusOr<bool> EmitLeaf(const LatchedNodeView& leaf, const OwnedFences& fences,
                                RescuedTree* tree, RecordSink sink);

  const PageSurvey& survey_;
  std::vector<bool> used_;
};

/// The pages that a surveyed inner page names as its child. Index: within survey.pages().
absl::StatusOr<std::vector<bool>> FindChildren(const PageSurvey& survey);

/// First and last key of a leaf; nullopt = it is empty.
absl::StatusOr<std::optional<std::pair<std::string, std::string>>> KeySpan(
    const PageSurvey& survey, const SurveyedPage& leaf);

}  // namespace latchkey
