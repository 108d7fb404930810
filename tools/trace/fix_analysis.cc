#include "tools/trace/fix_analysis.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "storage/runtime/runtime.h"

namespace latchkey {
namespace {

/// Calls `visit` for the fixes of the selection's users, whatever their trees. Returns the number of
/// these users.
template <typename Visit>
uint32_t ForFixesOfUsers(const FixTrace& trace, const FixSelection& selection, Visit visit) {
  constexpr uint64_t kNotSeen = UINT64_MAX;
  std::vector<uint64_t> fixes_of(Runtime::kMaxActors, kNotSeen);
  uint32_t users = 0;
  for (const FixRecord& record : trace.records) {
    if (!record.is_fix()) continue;
    uint64_t& fixes = fixes_of[record.actor];
    if (fixes == kNotSeen) {
      if (selection.users != 0 && users == selection.users) continue;
      fixes = 0;
      ++users;
    }
    if (selection.fixes_per_user != 0 && fixes == selection.fixes_per_user) continue;
    ++fixes;
    visit(record);
  }
  return users;
}

}  // namespace

std::string NameOf(TracedObject object) {
  if (object == TracedObject::kAll) return "all";
  return object == TracedObject::kData ? "data" : "index";
}

bool IsOf(const FixTraceHeader& header, const FixSelection& selection, const FixRecord& record) {
  if (selection.tree && *selection.tree != record.tree) return false;
  if (selection.object == TracedObject::kAll) return true;
  const bool secondary =
      record.tree != FixRecord::kOtherTree && header.trees[record.tree].secondary;
  const bool index = secondary || record.type() == PageType::kTreeInner;
  return index == (selection.object == TracedObject::kIndex);
}

uint32_t CountUsers(const FixTrace& trace) {
  return ForFixesOfUsers(trace, {}, [](const FixRecord&) {});
}

DepthResult DepthsOf(const FixTrace& trace, const FixSelection& selection) {
  DepthResult result;
  std::optional<uint32_t> before;
  result.users = ForFixesOfUsers(trace, selection, [&](const FixRecord& record) {
    const bool immediate = before == record.page;
    before = record.page;
    if (!IsOf(trace.header, selection, record)) return;
    if (immediate) {
      ++result.immediate;
    } else {
      result.depths.Reference(record.page);
    }
  });
  return result;
}

std::vector<uint64_t> FixesOfPages(const FixTrace& trace, const FixSelection& selection) {
  absl::flat_hash_map<uint32_t, uint64_t> of_page;
  ForFixesOfUsers(trace, selection, [&](const FixRecord& record) {
    if (IsOf(trace.header, selection, record)) ++of_page[record.page];
  });
  std::vector<uint64_t> fixes;
  fixes.reserve(of_page.size());
  for (const auto& [page, count] : of_page) fixes.push_back(count);
  std::sort(fixes.begin(), fixes.end(), std::greater<>());
  return fixes;
}

double ShareOfHottest(const std::vector<uint64_t>& fixes, double share) {
  const double wanted = share * static_cast<double>(fixes.size());
  const auto whole = std::min(fixes.size(), static_cast<size_t>(wanted));
  const auto total = static_cast<double>(std::accumulate(fixes.begin(), fixes.end(), uint64_t{0}));
  if (total == 0) return 0;
  auto sum = static_cast<double>(
      std::accumulate(fixes.begin(), fixes.begin() + static_cast<ptrdiff_t>(whole), uint64_t{0}));
  if (whole < fixes.size()) {
    sum += (wanted - static_cast<double>(whole)) * static_cast<double>(fixes[whole]);
  }
  return sum / total;
}

double PagesForShare(const std::vector<uint64_t>& fixes, double share) {
  if (fixes.empty()) return 0;
  const auto total = static_cast<double>(std::accumulate(fixes.begin(), fixes.end(), uint64_t{0}));
  double left = share * total;
  for (size_t i = 0; i < fixes.size(); ++i) {
    const auto here = static_cast<double>(fixes[i]);
    if (left <= here) {
      return (static_cast<double>(i) + left / here) / static_cast<double>(fixes.size());
    }
    left -= here;
  }
  return 1;
}

FixCounts CountFixes(const FixTrace& trace, const FixSelection& selection) {
  FixCounts counts;
  absl::flat_hash_set<uint32_t> pages;
  for (const FixRecord& record : trace.records) {
    if (!IsOf(trace.header, selection, record)) continue;
    counts.missed += record.missed;
    if (record.is_fix()) {
      ++counts.fixes[static_cast<size_t>(record.kind())];
      pages.insert(record.page);
    }
    counts.upgrades += record.kind() == FixKind::kUpgrade ? 1 : 0;
    counts.modified += record.kind() == FixKind::kModified ? 1 : 0;
  }
  counts.pages = pages.size();
  return counts;
}

}  // namespace latchkey
