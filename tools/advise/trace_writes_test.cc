#include "tools/advise/trace_writes.h"

#include <catch2/catch.hpp>
#include <set>

#include "storage/base/rng.h"
#include "tools/layout_lab/write_back_filter.h"

namespace latchkey::trace_writes_test {
namespace {

// `requests` requests of `pages` pages drawn alike; each page occurs once at least.
PageTrace RandomTrace(uint64_t seed, uint32_t pages, size_t requests, double write_share) {
  Rng rng(seed);
  PageTrace trace;
  trace.unique_pages = pages;
  for (size_t i = 0; i < requests; ++i) {
    trace.pages.push_back(static_cast<uint32_t>(i < pages ? i : rng.Below(pages)));
    trace.writes.push_back(rng.Unit() < write_share);
  }
  return trace;
}

TEST_CASE("Without a cache every request of a trace reaches the store") {
  const PageTrace trace = RandomTrace(1, 100, 1000, 0.5);
  const PageTrace requests = BehindCache(trace, 0);
  CHECK(requests.pages == trace.pages);
  CHECK(requests.writes == trace.writes);
}

TEST_CASE("Behind a cache a trace keeps the write-backs and the misses, in their order") {
  const PageTrace trace{
      .pages = {0, 0, 1, 2, 0}, .writes = {true, true, false, false, false}, .unique_pages = 3};
  const PageTrace requests = BehindCache(trace, 1);
  CHECK(requests.pages == std::vector<uint32_t>{0, 0, 1, 2, 0});
  CHECK(requests.writes == std::vector<bool>{false, true, false, false, false});
}

TEST_CASE("What a store can foresee of the writes leaves out hot pages that cool down") {
  PageTrace trace;
  trace.unique_pages = 10;
  for (const uint32_t hot : {3u, 7u}) {
    for (int i = 0; i < 50; ++i) {
      trace.pages.push_back(hot);
      trace.writes.push_back(true);
    }
  }
  const TraceWrites counted = CountWrites(trace, 0);
  CHECK(counted.writes == 100);
  CHECK(counted.reads == 0);
  CHECK(counted.pages == 10);
  CHECK(counted.writes_per_page() == Approx(10));
  CHECK(counted.written_pages == 2);
  CHECK(counted.in_hindsight->Share(0.1) == Approx(0.5));
  CHECK(counted.in_hindsight->Share(0.2) == Approx(1));
  CHECK(counted.foreseen->Share(0.1) == 0);
  // Page 7 is one of nine pages that the first half does not tell apart.
  CHECK(counted.foreseen->Share(0.2) == Approx(1.0 / 9));
}

TEST_CASE("Chance makes uniform writes look skewed in hindsight, but not to a store") {
  const uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  const TraceWrites counted = CountWrites(RandomTrace(seed, 5000, 15'000, 1), 0);
  CHECK(counted.in_hindsight->Share(0.2) > 0.33);
  CHECK(counted.foreseen->Share(0.2) == Approx(0.2).margin(0.03));
}

TEST_CASE("Pages of the store that the trace does not have are cold") {
  const PageTrace trace = RandomTrace(4, 1000, 50'000, 1);
  const TraceWrites counted = CountWrites(trace, 10'000);
  CHECK(counted.pages == 10'000);
  CHECK(counted.traced_pages == 1000);
  CHECK(counted.writes_per_page() == Approx(50));
  CHECK(counted.in_hindsight->Share(0.1) == Approx(1));
  CHECK(counted.foreseen->Share(0.1) == Approx(1).margin(0.01));
}

TEST_CASE("A sample has all requests of its pages, in their order, and only these") {
  const uint64_t seed = GENERATE(1, 42);
  const PageTrace trace = RandomTrace(7, 2000, 20'000, 0.4);
  const PageTrace sample = SamplePages(trace, 500, seed);
  CHECK(sample.unique_pages == 500);
  CHECK(sample.pages.size() == sample.writes.size());
  CHECK(std::set<uint32_t>(sample.pages.begin(), sample.pages.end()).size() == 500);
  CHECK(sample.pages.size() == Approx(5000).epsilon(0.1));
  CHECK(SamplePages(trace, 500, seed).pages == sample.pages);
  CHECK(SamplePages(trace, 500, seed + 1).pages != sample.pages);
  CHECK(SamplePages(trace, 2000, seed).pages == trace.pages);
}

}  // namespace
}  // namespace latchkey::trace_writes_test
