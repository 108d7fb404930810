// The catalogue of a damaged database: the tree whose root the superblock names, else page 0, else
// the page without a parent whose records name the most roots of other trees.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/salvage/page_survey.h"
#include "engine/salvage/tree_rescue.h"
#include "layout/checkpoint/superblock.h"

namespace latchkey {

struct FoundTree {
  std::string name;
  PageId root = kInvalidPageId;
  TreeId id{0};
};

struct FoundCatalog {
  std::vector<FoundTree> trees;  ///< by name
  PageId root = kInvalidPageId;
  bool complete = false;  ///< true = no page of it is lost
};

/// nullopt = no page can be a catalogue. `children` is FindChildren(survey). Afterwards the
/// catalogue's pages count as used by `rescue`.
absl::StatusOr<std::optional<FoundCatalog>> FindCatalog(const PageSurvey& survey,
                                                        const std::optional<Superblock>& superblock,
                                                        const std::vector<bool>& children,
                                                        TreeRescue& rescue);

}  // namespace latchkey
