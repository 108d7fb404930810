// The write cost model of the thesis, (6.1)-(6.8), with what it leaves out: hole-plugging's own u,
// segments of few pages, the way in which victims are read, protection of in-place writes,
// compressed pages. HyLog's own decision (layout/separate) uses the same formulas.
//
// Pure functions. Costs C' are device time per user write, in units of a page's share of a segment
// write, as in the thesis.
#pragma once

#include <cstdint>
#include <memory>

#include "layout/separate/write_cost_model.h"
#include "tools/layout_model/victim_reads.h"
#include "tools/layout_model/write_distribution.h"

namespace latchkey {

struct LayoutModel {
  PageCosts costs;                 ///< of the device; protection_ns: 0 without protection
  double space_utilization = 0.9;  ///< u_d, in (0, 1): live pages over slots, the reserve left out
  WriteDistribution distribution = WriteDistributions().Named("uniform");
  std::shared_ptr<const CountedWrites> counted =
      nullptr;  ///< in place of `distribution`, unless null
  /// Groups of pages alike in frequency, 1 to 64, each in segments of its own: equal shares of the
  /// log's writes, and the free slots divided among them at the least cost. A cleaner that must learn
  /// the frequencies costs more.
  uint32_t log_groups = 1;
  VictimReadsChoice victim_reads = VictimReads().Named("thesis");
  bool few_slots = false;  ///< u of segments of costs.slots_per_segment pages; else (6.2)
  /// HyLog's log is cleaned or plugged, whichever costs less; else it is cleaned.
  bool hylog_may_plug = false;
  /// Where protection is dear and pages are not compressed, HyLog writes cold pages into holes, unprotected
  /// (decision 0028); else in place, as published.
  bool hylog_uses_holes = false;
  double compression = 1;      ///< bytes of an appended page over those of a page, (0, 1]
  double idle = 0;             ///< P_idle, [0, 1): page I/O leaves other disks idle
  double reads_per_write = 0;  ///< page reads of users beside each write
};

/// One figure for each layout.
struct ByLayout {
  double overwrite = 0, lfs_cleaning = 0, lfs_plugging = 0, hylog = 0;
};

struct LayoutCosts {
  double eta = 0;  ///< (6.1), divided by 1 - P_idle; without protection
  double cleaning_utilization = 0, plugging_utilization = 0;  ///< u of LFS's victims
  ByLayout cost;                                              ///< C'
  /// Page writes of the device per user write, of data alone.
  ByLayout write_amplification;
  /// User reads and writes per time, over those of Overwrite.
  ByLayout relative_throughput;
  double hot_pages = 0, hot_writes = 0;   ///< h and w(h) of the best HyLog
  double crossing_utilization = 0;        ///< u at which cleaning costs as much as Overwrite
  double crossing_space_utilization = 0;  ///< and u_d
};

/// REQUIRES: the ranges above; costs.page_write_ns, segment_write_ns, page_read_ns, slot_read_ns and
/// slots_per_segment (2 or more) are set.
LayoutCosts PredictCosts(const LayoutModel& model);

/// The costs of pages that need only the share `compression` of a slot.
PageCosts OfCompressedPages(const PageCosts& costs, double compression);

}  // namespace latchkey
