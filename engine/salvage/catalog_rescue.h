// Which trees a damaged database had: its catalogue, found by the superblock or by its looks.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/salvage/page_survey.h"
#include "engine/salvage/tree_rescue.h"
#include "layout/superblock.h"

namespace latchkey {

struct FoundTree {
  std::string name;
  PageId root = kInvalidPageId;
  TreeId id{0};
};

struct FoundCatalog {
  std::vector<FoundTree> trees;  ///< by name
  PageId root = kInvalidPageId;
  bool complete = false;  ///< no page of it is lost
};

/// nullopt when there is none that could be it. `children` is FindChildren(survey). The pages of
/// the catalogue count as used by `rescue` afterwards.
absl::StatusOr<std::optional<FoundCatalog>> FindCatalog(const PageSurvey& survey,
                                                        const std::optional<Superblock>& superblock,
                                                        const std::vector<bool>& children,
                                                        TreeRescue& rescue);

}  // namespace latchkey
