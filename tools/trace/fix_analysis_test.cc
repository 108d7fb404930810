#include "tools/trace/fix_analysis.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace latchkey::fix_analysis_test {
namespace {

FixTrace TraceOf(const std::vector<std::pair<uint16_t, uint32_t>>& fixes) {
  FixTrace trace;
  trace.header.trees = {{PageId{1}, "even", false}, {PageId{2}, "odd", true}};
  for (const auto& [actor, page] : fixes) {
    FixRecord record;
    record.actor = actor;
    record.page = page;
    record.tree = static_cast<uint8_t>(page % 2);
    record.type_bits = static_cast<uint8_t>(page < 4 ? PageType::kTreeInner : PageType::kTreeLeaf);
    trace.records.push_back(record);
  }
  return trace;
}

TEST_CASE("Immediate re-references are removed before trees and users are told apart") {
  // The second fix of page 4 follows another page: it is a reference of depth 0 within its tree.
  const FixTrace trace = TraceOf({{0, 4}, {0, 4}, {0, 7}, {0, 4}, {1, 4}, {1, 6}});
  const DepthResult all = DepthsOf(trace, {});
  CHECK(all.users == 2);
  CHECK(all.immediate == 2);
  CHECK(all.depths.references() == 4);
  CHECK(all.depths.counts() == std::vector<uint64_t>{0, 1});
  const DepthResult even = DepthsOf(trace, {.tree = 0});
  CHECK(even.depths.counts() == std::vector<uint64_t>{1});
  CHECK(even.depths.references() == 3);
  const DepthResult first = DepthsOf(trace, {.users = 1});
  CHECK(first.users == 1);
  CHECK(first.depths.references() == 3);
  CHECK(DepthsOf(trace, {.users = 2, .fixes_per_user = 1}).depths.references() == 1);
}

TEST_CASE("Leaves of tables are data, inner pages and indexes are index") {
  const FixTrace trace = TraceOf({{0, 2}, {0, 4}, {0, 6}, {0, 7}});
  CHECK(CountFixes(trace, {.object = TracedObject::kData}).all() == 2);
  CHECK(CountFixes(trace, {.object = TracedObject::kIndex}).all() == 2);
  CHECK(CountFixes(trace, {.tree = 1, .object = TracedObject::kData}).all() == 0);
}

TEST_CASE("The hottest pages get their fixes, and a part of a page counts in proportion") {
  const std::vector<uint64_t> fixes =
      FixesOfPages(TraceOf({{0, 5}, {0, 5}, {1, 5}, {0, 5}, {0, 8}, {0, 8}, {0, 9}, {0, 3}}), {});
  CHECK(fixes == std::vector<uint64_t>{4, 2, 1, 1});
  CHECK(ShareOfHottest(fixes, 0.25) == Approx(0.5));
  CHECK(ShareOfHottest(fixes, 0.375) == Approx(0.625));
  CHECK(ShareOfHottest(fixes, 1) == Approx(1));
  CHECK(PagesForShare(fixes, 0.5) == Approx(0.25));
  CHECK(PagesForShare(fixes, 0.625) == Approx(0.375));
  CHECK(ShareOfHottest({}, 0.5) == 0);
}

}  // namespace
}  // namespace latchkey::fix_analysis_test
