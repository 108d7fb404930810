// What a trace of fixes tells: which fixes there are (Table 3.3), how deep in the LRU stack their
// pages are (Figures 3.8 to 3.14), and how unevenly the pages are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/trace/fix_trace.h"
#include "tools/trace/stack_depth.h"

namespace latchkey {

/// The pages of a tree: leaves of a table are data; inner pages, and all pages of a secondary tree,
/// are index. Overflow pages are data of their table.
enum class TracedObject : uint8_t { kAll, kData, kIndex };
std::string NameOf(TracedObject object);

/// A part of a trace.
struct FixSelection {
  std::optional<uint8_t> tree = std::nullopt;  ///< FixRecord::tree; nullopt: all
  TracedObject object = TracedObject::kAll;
  /// The first `users` actors in the order of their first record; 0: all.
  uint32_t users = 0;
  /// The first fixes of each of these users; 0: all.
  uint64_t fixes_per_user = 0;
};

/// Whether `record` is of the selection's tree and object.
bool IsOf(const FixTraceHeader& header, const FixSelection& selection, const FixRecord& record);

/// The number of actors with a fix.
uint32_t CountUsers(const FixTrace& trace);

struct DepthResult {
  StackDepths depths;
  uint32_t users = 0;
  uint64_t immediate = 0;  ///< references that were removed, see DepthsOf
};
/// The stack depths of the selected fixes. First a fix is removed if the fix before it, among those
/// of the selected users, is of the same page ("immediate re-reference"). Then the tree and the
/// object are selected.
DepthResult DepthsOf(const FixTrace& trace, const FixSelection& selection);

/// The numbers of fixes of the selected pages, each page's own, in descending order.
std::vector<uint64_t> FixesOfPages(const FixTrace& trace, const FixSelection& selection);
/// The share of the fixes that the hottest `share` of the pages get. A part of a page counts in
/// proportion. `fixes` as from FixesOfPages.
double ShareOfHottest(const std::vector<uint64_t>& fixes, double share);
/// The smallest share of the pages that gets `share` of the fixes.
double PagesForShare(const std::vector<uint64_t>& fixes, double share);

struct FixCounts {
  uint64_t fixes[3] = {};  ///< by FixKind: shared, exclusive, new
  uint64_t upgrades = 0, modified = 0, missed = 0;
  uint64_t pages = 0;
  uint64_t all() const { return fixes[0] + fixes[1] + fixes[2]; }
};
FixCounts CountFixes(const FixTrace& trace, const FixSelection& selection);

}  // namespace latchkey
