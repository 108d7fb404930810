// Which layout suits a stream of page writes on a device: what the write cost model predicts for
// every layout, segment cleaning, space utilisation and page size, and the choice among them.
//
// Invariants
// 1. Every prediction is of LayoutModel (tools/layout_model); nothing here computes a cost.
// 2. u_d of the model is that of the file which the store would make (layout/space), with its reserve.
// 3. Of choices within kTie the simplest layout is advised, then the fuller file, then the first way.
//
// Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/advise/device_pages.h"
#include "tools/layout_model/layout_model.h"

namespace latchkey {

/// A layout with its segment cleaning, and what the model computes for the two.
struct AdvisedWay {
  std::string_view layout;
  std::string_view cleaning;      ///< empty: the layout cleans no segments
  double ByLayout::*by_cleaning;  ///< the model's figure
  double ByLayout::*by_plugging;  ///< in place of the figure if it is less; nullptr: never
  uint32_t log_groups = 1;        ///< LayoutModel::log_groups
};
/// From the simplest to the most complex one. cost-benefit has no formula, so it is not among them.
std::span<const AdvisedWay> AdvisedWays();

struct AdviceQuestion {
  std::vector<DevicePages> page_sizes;     ///< one or more
  std::vector<double> space_utilizations;  ///< of the flag, 0.5 to 0.98; one or more
  uint64_t data_bytes = 0;                 ///< of all live pages
  double reads_per_write = 0;
  WriteDistribution distribution = WriteDistributions().Named("uniform");
  std::shared_ptr<const CountedWrites> counted =
      nullptr;  ///< in place of `distribution`, unless null

  /// Live pages of this size; at least 1.
  uint64_t PagesOf(uint32_t page_bytes) const {
    return std::max<uint64_t>(1, data_bytes / page_bytes);
  }
};

/// One way to run the store, and its prediction.
struct Candidate {
  const AdvisedWay* way = nullptr;
  double space_utilization = 0;  ///< of the flag
  DevicePages pages;
  double model_utilization = 0;  ///< u_d of the whole file, without what never holds pages
  double write_us = 0;           ///< device time per user write
  double operation_us = 0;       ///< the same with the reads beside it
  double relative = 0;           ///< user requests per time, over those of Overwrite
  double hot_pages = 0;          ///< h of HyLog; 0 of other layouts
};

/// u_d of a file of `pages` live pages, without the slots that never hold pages: the cleaner's two
/// segments and the checkpoints'. `space_utilization`: of the flag.
double ModelUtilization(uint64_t pages, uint32_t page_bytes, uint64_t segment_bytes,
                        double space_utilization, uint64_t reserve_bytes);

/// The prediction of one way at u_d `utilization` of the model.
Candidate PredictWay(const AdviceQuestion& question, const AdvisedWay& way,
                     const DevicePages& pages, double utilization);
/// Predictions of all ways: page sizes, then space utilisations, then ways.
std::vector<Candidate> PredictAll(const AdviceQuestion& question);

/// Differences that count for nothing: shares of the device time or of the throughput.
inline constexpr double kTie = 0.03;

struct AdviceChoice {
  size_t best = 0;     ///< the simplest candidate within kTie of the fastest
  size_t fastest = 0;  ///< the least device time per user request
  /// Overwrite, and the best of the layouts that are neither: at the page size of the best.
  size_t overwrite = 0;
  std::optional<size_t> runner_up;
};
/// REQUIRES: candidates of PredictAll.
AdviceChoice Choose(std::span<const Candidate> candidates);

/// The flags of `candidate`, as the engine's verbs take them. `with_page_size`: also --page-size.
std::string FlagsOf(const Candidate& candidate, bool with_page_size);

}  // namespace latchkey
