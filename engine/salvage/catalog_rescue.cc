#include "engine/salvage/catalog_rescue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/catalog_entry.h"
#include "engine/latchkey.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// The client root names the catalogue's root page at byte 8, in every version so far.
constexpr size_t kClientRootPage = 8;
constexpr PageId kFirstPage{0};  // the catalogue is the first page that a database makes

PageId PageIdAt(const void* bytes) {
  uint64_t id;
  std::memcpy(&id, bytes, sizeof(id));
  return PageId{id};
}

/// The catalogue below `root`, if all its records may be entries of one.
absl::StatusOr<std::optional<FoundCatalog>> ReadCatalog(TreeRescue& rescue, PageId root) {
  FoundCatalog catalog{.trees = {}, .root = root, .complete = false};
  RescuedTree tree;
  const absl::Status walked =
      rescue.Walk(root, &tree, [&](std::string_view name, std::string_view bytes) {
        const std::optional<CatalogEntry> entry = DecodeCatalogEntry(bytes);
        if (!entry || name.empty() || name.size() > Database::kMaxTreeNameSize) {
          return absl::OutOfRangeError("no entry of a catalogue");
        }
        catalog.trees.push_back({std::string(name), entry->root, entry->tree});
        return absl::OkStatus();
      });
  if (absl::IsOutOfRange(walked)) return std::nullopt;
  LATCHKEY_RETURN_IF_ERROR(walked);
  const bool nothing = catalog.trees.empty() && !tree.gaps.empty();
  if (tree.lost_values > 0 || nothing) return std::nullopt;
  catalog.complete = tree.gaps.empty();
  return catalog;
}

/// Number of the catalogue's trees whose root is present and no other page's child.
size_t CountRoots(const PageSurvey& survey, const std::vector<bool>& children,
                  const FoundCatalog& catalog) {
  return std::count_if(catalog.trees.begin(), catalog.trees.end(), [&](const FoundTree& tree) {
    const SurveyedPage* page = survey.Find(tree.root);
    return page != nullptr && tree.root != catalog.root &&
           (page->type == PageType::kTreeLeaf || page->type == PageType::kTreeInner) &&
           !children[page - survey.pages().data()];
  });
}

/// The page without a parent that looks most like a catalogue's root.
absl::StatusOr<std::optional<PageId>> SearchRoot(const PageSurvey& survey,
                                                 const std::vector<bool>& children) {
  std::optional<PageId> best;
  size_t most = 0;
  TreeRescue attempt(survey);
  for (size_t i = 0; i < survey.pages().size(); ++i) {
    const SurveyedPage& page = survey.pages()[i];
    if (children[i] || page.type == PageType::kOverflow) continue;
    LATCHKEY_ASSIGN_OR_RETURN(const auto catalog, ReadCatalog(attempt, page.id));
    if (!catalog) continue;
    const size_t roots = CountRoots(survey, children, *catalog);
    // A real catalogue may have lost roots, but most of the roots that it names are present.
    if (roots * 2 <= catalog->trees.size() || roots <= most) continue;
    most = roots;
    best = page.id;
  }
  return best;
}

}  // namespace

absl::StatusOr<std::optional<FoundCatalog>> FindCatalog(const PageSurvey& survey,
                                                        const std::optional<Superblock>& superblock,
                                                        const std::vector<bool>& children,
                                                        TreeRescue& rescue) {
  std::optional<PageId> root;
  if (superblock && superblock->client_root.size() >= kClientRootPage + sizeof(uint64_t)) {
    const PageId named = PageIdAt(superblock->client_root.data() + kClientRootPage);
    TreeRescue attempt(survey);
    LATCHKEY_ASSIGN_OR_RETURN(const auto catalog, ReadCatalog(attempt, named));
    if (catalog) root = named;
  }
  if (!root) {
    TreeRescue attempt(survey);
    LATCHKEY_ASSIGN_OR_RETURN(const auto catalog, ReadCatalog(attempt, kFirstPage));
    if (catalog && CountRoots(survey, children, *catalog) > 0) root = kFirstPage;
  }
  if (!root) {
    LATCHKEY_ASSIGN_OR_RETURN(root, SearchRoot(survey, children));
  }
  if (!root) return std::nullopt;
  return ReadCatalog(rescue, *root);
}

}  // namespace latchkey
