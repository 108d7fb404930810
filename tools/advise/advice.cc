#include "tools/advise/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "layout/map/location_word.h"
#include "layout/segment_store.h"
#include "layout/space/space_sizing.h"
#include "storage/base/check.h"

namespace latchkey {
namespace {

// Logs that a layout fills at a time: death-time has eight streams. WOLF has two. The adaptive cleaner
// appends the pages that it moves to a log apart from the users'.
constexpr uint32_t kStreams = 8;
constexpr uint32_t kTwoStreams = 2;

constexpr AdvisedWay kAdvisedWays[] = {
    {"overwrite", "", &ByLayout::overwrite, nullptr},
    {"lfs", "adaptive", &ByLayout::lfs_cleaning, &ByLayout::lfs_plugging, kTwoStreams},
    {"lfs", "greedy", &ByLayout::lfs_cleaning, nullptr},
    {"lfs", "hole-plugging", &ByLayout::lfs_plugging, nullptr},
    {"lfs", "death-time", &ByLayout::lfs_cleaning, &ByLayout::lfs_plugging, kStreams},
    {"wolf", "adaptive", &ByLayout::lfs_cleaning, &ByLayout::lfs_plugging, kTwoStreams},
    {"hylog", "adaptive", &ByLayout::hylog, nullptr, kTwoStreams},
    {"hylog", "death-time", &ByLayout::hylog, nullptr, kStreams},
};

// Simpler first: by the order of the ways' layouts, then the fuller file, then the ways' order.
auto Simplicity(const Candidate& candidate) {
  const std::span<const AdvisedWay> ways = AdvisedWays();
  const auto rank = candidate.way - ways.data();
  const auto layout =
      std::find_if(ways.begin(), ways.end(),
                   [&](const AdvisedWay& way) { return way.layout == candidate.way->layout; }) -
      ways.begin();
  return std::tuple(layout, -candidate.space_utilization, rank);
}

// The simplest of those within kTie of the fastest, among the ones that `counts` accepts.
template <typename Counts>
std::optional<size_t> SimplestBest(std::span<const Candidate> candidates, Counts counts) {
  double least = HUGE_VAL;
  for (const Candidate& candidate : candidates) {
    if (counts(candidate)) least = std::min(least, candidate.operation_us);
  }
  std::optional<size_t> best;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!counts(candidate) || candidate.operation_us > least * (1 + kTie)) continue;
    if (!best || Simplicity(candidate) < Simplicity(candidates[*best])) best = i;
  }
  return best;
}

}  // namespace

std::span<const AdvisedWay> AdvisedWays() { return kAdvisedWays; }

double ModelUtilization(uint64_t pages, uint32_t page_bytes, uint64_t segment_bytes,
                        double space_utilization, uint64_t reserve_bytes) {
  const auto geometry = StoreGeometry::Of(page_bytes, static_cast<uint32_t>(segment_bytes));
  const SpaceSizing sizing = SpaceSizing::Make(geometry, space_utilization, reserve_bytes);
  constexpr uint32_t kOfCleaner = 2;
  const uint64_t map_bytes = sizeof(LocationWord) * pages;
  const uint32_t all = sizing.TargetSegments(pages, map_bytes);
  const uint32_t without = 2 * sizing.CheckpointSegments(map_bytes, all) + kOfCleaner;
  LATCHKEY_CHECK(all > without);
  return static_cast<double>(pages) /
         (static_cast<double>(all - without) * geometry.slots_per_segment);
}

Candidate PredictWay(const AdviceQuestion& question, const AdvisedWay& way,
                     const DevicePages& pages, double utilization) {
  const LayoutModel model{.costs = pages.costs,
                          .space_utilization = utilization,
                          .distribution = question.distribution,
                          .counted = question.counted,
                          .log_groups = way.log_groups,
                          .victim_reads = VictimReads().Named("gaps"),
                          .few_slots = true,
                          .hylog_may_plug = true,
                          .hylog_uses_holes = true,
                          .reads_per_write = question.reads_per_write};
  const LayoutCosts predicted = PredictCosts(model);
  const bool plugs = way.by_plugging != nullptr &&
                     predicted.cost.*way.by_plugging < predicted.cost.*way.by_cleaning;
  double ByLayout::*const figure = plugs ? way.by_plugging : way.by_cleaning;
  Candidate candidate{.way = &way, .pages = pages, .model_utilization = utilization};
  candidate.write_us = predicted.cost.*figure * pages.costs.segment_write_ns / 1e3;
  candidate.operation_us =
      candidate.write_us + question.reads_per_write * pages.costs.page_read_ns / 1e3;
  candidate.relative = predicted.relative_throughput.*figure;
  if (way.layout == "hylog") candidate.hot_pages = predicted.hot_pages;
  return candidate;
}

std::vector<Candidate> PredictAll(const AdviceQuestion& question) {
  std::vector<Candidate> all;
  for (const DevicePages& pages : question.page_sizes) {
    for (const double space_utilization : question.space_utilizations) {
      const double utilization = ModelUtilization(
          question.PagesOf(pages.page_bytes), pages.page_bytes, pages.segment_bytes,
          space_utilization, SegmentStoreOptions().reserve_bytes);
      for (const AdvisedWay& way : AdvisedWays()) {
        all.push_back(PredictWay(question, way, pages, utilization));
        all.back().space_utilization = space_utilization;
      }
    }
  }
  return all;
}

AdviceChoice Choose(std::span<const Candidate> candidates) {
  AdviceChoice choice;
  const auto all = [](const Candidate&) { return true; };
  choice.best = *SimplestBest(candidates, all);
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].operation_us < candidates[choice.fastest].operation_us) choice.fastest = i;
  }
  const Candidate& best = candidates[choice.best];
  const auto of_its_pages = [&](const Candidate& candidate) {
    return candidate.pages.page_bytes == best.pages.page_bytes;
  };
  choice.overwrite = *SimplestBest(candidates, [&](const Candidate& candidate) {
    return of_its_pages(candidate) && candidate.way->layout == "overwrite";
  });
  choice.runner_up = SimplestBest(candidates, [&](const Candidate& candidate) {
    return of_its_pages(candidate) && candidate.way->layout != "overwrite" &&
           candidate.way->layout != best.way->layout;
  });
  return choice;
}

std::string FlagsOf(const Candidate& candidate, bool with_page_size) {
  std::string flags = fmt::format("--layout={} --space-utilization={}", candidate.way->layout,
                                  candidate.space_utilization);
  if (!candidate.way->cleaning.empty()) {
    flags += fmt::format(" --segment-cleaning={}", candidate.way->cleaning);
  }
  if (with_page_size) flags += fmt::format(" --page-size={}", candidate.pages.page_bytes);
  return flags;
}

}  // namespace latchkey
