#include "tools/layout_lab/lab_workload.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/replacement/trace_replay.h"
#include "storage/base/rng.h"
#include "tools/layout_lab/page_chooser.h"
#include "tools/layout_lab/steady_state.h"
#include "tools/layout_lab/write_back_filter.h"

namespace latchkey::lab_workload_test {
namespace {

constexpr uint64_t kPages = 10'000;

// The share of the requests that go to the hottest `share` of the pages.
double ShareOfHottest(PageChooser& chooser, double share, uint64_t pages = kPages) {
  constexpr uint64_t kDraws = 2'000'000;
  Rng rng(3);
  std::vector<uint64_t> counts(pages);
  for (uint64_t i = 0; i < kDraws; ++i) ++counts.at(chooser.Next(rng));
  std::sort(counts.rbegin(), counts.rend());
  uint64_t hot = 0;
  for (size_t i = 0; i < static_cast<size_t>(share * static_cast<double>(pages)); ++i)
    hot += counts[i];
  return static_cast<double>(hot) / kDraws;
}

TEST_CASE("The hottest pages get the share of the requests that the workload's law gives them") {
  CHECK(ShareOfHottest(*NewHotColdPages(kPages, 90, 10, 1), 0.1) == Approx(0.9).margin(0.01));
  CHECK(ShareOfHottest(*NewKnuthPages(kPages, 80, 20, 1), 0.2) == Approx(0.8).margin(0.01));
  // Self-similar: of the hottest 20 %, the hottest 20 % get 80 % again.
  CHECK(ShareOfHottest(*NewKnuthPages(kPages, 80, 20, 1), 0.04) == Approx(0.64).margin(0.01));
  CHECK(ShareOfHottest(*NewZipfPages(kPages, 0.99, 1), 0.0001) == Approx(0.0977).margin(0.002));
  // TPC-C's items: 14.5 % of them get 80 %.
  CHECK(ShareOfHottest(*NewNuRandPages(100'000, 1, 1), 0.145, 100'000) == Approx(0.8).margin(0.02));
}

TEST_CASE("The moving hot set passes over all pages once in a lap") {
  const auto chooser = NewMovingHotSet(kPages, 90, 10, /*lap=*/20);
  Rng rng(5);
  const auto hot_begin = [&] {
    std::vector<uint64_t> counts(10);
    for (int i = 0; i < 2000; ++i) ++counts[chooser->Next(rng) / (kPages / 10)];
    return std::max_element(counts.begin(), counts.end()) - counts.begin();
  };
  CHECK(hot_begin() == 0);
  for (uint64_t i = 0; i < 10 * kPages - 2000; ++i) chooser->Next(rng);
  CHECK(hot_begin() == 5);  // half a lap later
}

TEST_CASE("The write-back filter lets through the misses and the dirty writes of LRU") {
  Rng rng(7);
  std::vector<uint32_t> pages;
  std::vector<bool> writes;
  for (int i = 0; i < 50'000; ++i) {
    pages.push_back(static_cast<uint32_t>(rng.Below(30) * rng.Below(30)));
    writes.push_back(rng.Below(3) == 0);
  }
  const uint32_t frames = 40;
  WriteBackFilter filter(900, frames);
  uint64_t reads = 0, written = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    const WriteBackFilter::Effect effect = filter.Access(pages[i], writes[i]);
    reads += effect.read.has_value();
    written += effect.write.has_value();
  }
  const TraceReplayResult expected =
      ReplayTrace(ReplacementAlgorithms().Named("lru"), {.frames = frames}, pages, writes);
  CHECK(reads == expected.misses);
  CHECK(written == expected.dirty_writes);
}

TEST_CASE("A block trace reaches the store as it is, again and again") {
  const PageTrace trace{.pages = {3, 1, 2}, .writes = {true, false, true}, .unique_pages = 4};
  const auto stream = LabWorkloads().Named("blocks").Make(LabStreamConfig{.trace = &trace});
  for (int lap = 0; lap < 2; ++lap) {
    for (size_t i = 0; i < 3; ++i) {
      const LabOperation operation = stream->Next();
      CHECK(operation.page == trace.pages[i]);
      CHECK(operation.write == trace.writes[i]);
    }
  }
}

TEST_CASE("A workload whose parameters make no sense together is refused with the remedy") {
  const auto error = [](std::string_view workload, const LabStreamConfig& config) {
    return std::string(CheckLabWorkload(LabWorkloads().Named(workload), config).message());
  };
  CHECK_THAT(error("knuth:20:80", {.pages = 1000}), Catch::Contains("give writes from 80"));
  CHECK_THAT(error("nurand:rows=4096", {.pages = 1 << 24}), Catch::Contains("fewer rows"));
  const PageTrace reads_only{.pages = {1}, .writes = {}, .unique_pages = 2};
  CHECK_THAT(error("blocks", {.trace = &reads_only}), Catch::Contains("no request of the trace"));
  CHECK(error("zipf:0.99", {.pages = 1000}).empty());
}

TEST_CASE("A series trends only if its halves differ by more than the tolerance and the noise") {
  CHECK(!Trends({10, 10, 10, 10}, 0.1));
  CHECK(Trends({10, 10, 12, 12}, 0.1));
  CHECK(!Trends({10, 10, 12, 12}, 3));
  CHECK(!Trends({6, 14, 8, 16}, 0.1));  // noise
}

TEST_CASE("A store is steady once its log has gone round and nothing changes any more") {
  SteadyState steady({.free_slots = 1000, .tuning_interval = 10});
  LabInterval interval;
  interval.operations_per_s = 100;
  interval.user_writes = 100;
  interval.log_slots = 200;
  for (size_t i = 0; i < 14; ++i) steady.Add(interval);
  CHECK_THAT(steady.WhyNot(), Catch::Contains("2.8 times"));
  steady.Add(interval);
  CHECK(steady.WhyNot().empty());
  LabInterval faster = interval;
  faster.operations_per_s = 120;
  for (int i = 0; i < 6; ++i) steady.Add(faster);
  CHECK_THAT(steady.WhyNot(), Catch::Contains("throughput"));
  SteadyState tuning({.free_slots = 100, .tuning_interval = 100});
  for (size_t i = 0; i < 15; ++i) tuning.Add(interval);
  CHECK_THAT(tuning.WhyNot(), Catch::Contains("tuned itself 15 times"));
}

}  // namespace
}  // namespace latchkey::lab_workload_test
