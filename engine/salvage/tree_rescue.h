// The records of a tree out of surveyed pages: a walk from its root that goes around what is lost.
//
// Where a child is lost, or is no longer what its parent took it for, the walk notes a *gap*: the
// range of keys that stays empty. Pages hold no mark of their tree, so leaves below a lost inner
// page can only be told by their keys: see salvage.cc.
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

/// Where a tree's structure breaks off.
struct Gap {
  OwnedFences range;
  PageId page = kInvalidPageId;   ///< that is lost
  std::optional<uint32_t> level;  ///< nullopt: it was the root
};

struct RescuedTree {
  uint64_t records = 0;
  uint64_t lost_values = 0;     ///< records whose overflow chain is lost: left out
  uint64_t outdated_pages = 0;  ///< read from an older copy, since the newest is damaged
  std::vector<Gap> gaps;
};

/// Called with the records of a page in key order. An error ends the rescue.
using RecordSink = absl::FunctionRef<absl::Status(std::string_view key, std::string_view value)>;

class TreeRescue {
 public:
  explicit TreeRescue(const PageSurvey& survey) : survey_(survey), used_(survey.pages().size()) {}

  /// Tells `sink` every record that is reachable from `root`, in key order, and adds to *tree.
  absl::Status Walk(PageId root, RescuedTree* tree, RecordSink sink);
  /// The same for one leaf that no walk has used.
  absl::Status TakeLeaf(const SurveyedPage& leaf, RescuedTree* tree, RecordSink sink);

  /// Whether a walk has come to the page. `index`: within survey.pages().
  bool used(size_t index) const { return used_[index]; }

 private:
  absl::Status WalkPage(PageId page, const OwnedFences& fences, std::optional<uint32_t> level,
                        RescuedTree* tree, RecordSink sink);
  absl::Status WalkChildren(const LatchedNodeView& node, const OwnedFences& fences,
                            RescuedTree* tree, RecordSink sink);
  /// Whether any record, deleted ones included, lies in `fences`.
  absl::StatusOr<bool> EmitLeaf(const LatchedNodeView& leaf, const OwnedFences& fences,
                                RescuedTree* tree, RecordSink sink);

  const PageSurvey& survey_;
  std::vector<bool> used_;
};

/// Which pages some surveyed inner page names as its child; index: within survey.pages().
absl::StatusOr<std::vector<bool>> FindChildren(const PageSurvey& survey);

/// First and last key of a leaf; nullopt when it is empty.
absl::StatusOr<std::optional<std::pair<std::string, std::string>>> KeySpan(
    const PageSurvey& survey, const SurveyedPage& leaf);

}  // namespace latchkey
