#include "tools/contention/query_access.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace latchkey::query_access_test {
namespace {

// Which share of many accesses the thousand most frequent pages of 100,000 get.
double ShareOfThousand(double skew) {
  constexpr int kAccesses = 500'000;
  const auto stream = MakeBrowsingMix({.pages = 100'000}, skew);
  std::map<uint64_t, uint64_t> counts;
  for (int i = 0; i < kAccesses; ++i) ++counts[stream->Next()];
  std::vector<uint64_t> sorted;
  for (const auto& [page, count] : counts) sorted.push_back(count);
  std::sort(sorted.rbegin(), sorted.rend());
  REQUIRE(sorted.size() > 3000);  // customers, of whom each is as frequent as another
  return static_cast<double>(std::accumulate(sorted.begin(), sorted.begin() + 1000, uint64_t{0})) /
         kAccesses;
}

TEST_CASE("The browsing mix reads few pages most of the time, the fewer the larger its skew") {
  const double even = ShareOfThousand(0.01), usual = ShareOfThousand(0.86);
  const double skewed = ShareOfThousand(1.5);
  CAPTURE(even, usual, skewed);
  CHECK(even < usual - 0.02);
  CHECK(usual < skewed - 0.02);
}

TEST_CASE("Threads of the browsing mix read the same popular pages, each in an order of its own") {
  const auto one = MakeBrowsingMix({.pages = 10'000, .thread = 0, .threads = 2}, 0.86);
  const auto two = MakeBrowsingMix({.pages = 10'000, .thread = 1, .threads = 2}, 0.86);
  int alike = 0;
  std::map<uint64_t, int> of_one, of_two;
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t a = one->Next(), b = two->Next();
    alike += a == b ? 1 : 0;
    ++of_one[a];
    ++of_two[b];
  }
  CHECK(alike < 25'000);
  int popular = 0;
  for (const auto& [page, count] : of_one) {
    if (count < 500) continue;
    ++popular;
    CHECK(of_two[page] > count / 2);
  }
  CHECK(popular > 3);
}

TEST_CASE("A query of the table scans reads one table from its first page to its last") {
  const auto stream = MakeTableScans({.pages = 100, .seed = 3}, 3);
  const auto is_last = [](uint64_t page) { return page == 32 || page == 65 || page == 99; };
  for (uint64_t page = stream->Next(); !is_last(page);) {  // the first query, from its middle on
    const uint64_t next = stream->Next();
    REQUIRE(next == page + 1);
    page = next;
  }
  std::set<uint64_t> tables;
  for (int query = 0; query < 50; ++query) {
    uint64_t page = stream->Next();
    REQUIRE((page == 0 || is_last(page - 1)));
    tables.insert(page);
    for (; !is_last(page); ++page) REQUIRE(stream->Next() == page + 1);
  }
  CHECK(tables.size() == 3);
}

TEST_CASE("Threads of an index join scan customers of their own and meet in the indexes") {
  // The first 2 % of the pages hold customers only.
  constexpr uint64_t kPages = 100'000, kCustomerPages = kPages / 50;
  std::set<uint64_t> customers[2];
  std::map<uint64_t, int> counts[2];
  for (uint32_t thread = 0; thread < 2; ++thread) {
    const auto stream = MakeIndexJoin({.pages = kPages, .thread = thread, .threads = 2});
    for (int i = 0; i < 1'000'000; ++i) {
      const uint64_t page = stream->Next();
      ++counts[thread][page];
      if (page < kCustomerPages) customers[thread].insert(page);
    }
  }
  CHECK(customers[0].size() > 100);
  std::vector<uint64_t> both;
  std::set_intersection(customers[0].begin(), customers[0].end(), customers[1].begin(),
                        customers[1].end(), std::back_inserter(both));
  CHECK(both.size() <= 1);
  int roots = 0;
  for (const auto& [page, count] : counts[0]) {
    roots += count > 10'000 && counts[1][page] > 10'000 ? 1 : 0;
  }
  CHECK(roots >= 2);
}

TEST_CASE("A database of one page is accessed there alone") {
  const std::unique_ptr<AccessStream> streams[] = {MakeBrowsingMix({}, 0.86), MakeTableScans({}, 8),
                                                   MakeIndexJoin({})};
  for (const auto& stream : streams) {
    for (int i = 0; i < 1000; ++i) REQUIRE(stream->Next() == 0);
  }
}

}  // namespace
}  // namespace latchkey::query_access_test
