// The write cost model of thesis 6.1: the cost of a page write under each layout, in closed form.
// Pure functions. The formulas contain two corrections: (6.7) uses the disk's u_d, and
// hole-plugging has its own relation between u_d and u.
//
// Units: scaled costs C' are in segment writes per segment of user data (C * S / T_seg);
// utilisations and proportions are in [0, 1].
#pragma once

#include <absl/functional/function_ref.h>

#include <cstdint>

namespace latchkey {

/// A disk as the analytic model sees it. KB = 1024 bytes, MB/s = 1000 KB/s (as the thesis
/// computes).
struct DiskParameters {
  double positioning_ms = 0;       ///< T_pos: mean seek plus half a rotation
  double bandwidth_kb_per_ms = 0;  ///< B; numerically the bandwidth in MB/s
};

/// (6.1): eta = T_pg / (T_seg / S), the gain of writing a page as part of a segment.
double SegmentIoEfficiency(const DiskParameters& disk, double page_kb, double segment_kb);
/// (6.3): 4 * T_pos * B, in KB: a segment of this size reaches 80 % of the limit of eta.
double PreferredSegmentKb(const DiskParameters& disk);
/// The nearest power of two of a positive number.
double NearestPowerOfTwo(double x);

/// (6.2): the utilisation u_d of the disk at which cleaned segments have utilisation `u` in (0, 1).
double DiskUtilizationFromCleaning(double u);
/// Its inverse: u of the segments that greedy cleaning finds under uniform updates.
double CleaningUtilization(double disk_utilization);
/// u of the victims of fullest-first hole-plugging under uniform updates: 1/u_d = u - ln u.
double PluggingUtilization(double disk_utilization);
/// Its inverse.
double DiskUtilizationFromPlugging(double u);

/// (6.4)-(6.6).
double ScaledOverwriteCost(double eta);
double ScaledCleaningCost(double u);
double ScaledPluggingCost(double u, double eta);
/// The cleaning utilisation at which all three cross: 1 - 2/eta.
double CrossingUtilization(double eta);

/// (6.7), with u_d: utilisation of the hot partition when all free space is in it.
double HotPartitionUtilization(double disk_utilization, double hot_proportion);
/// (6.8): C' of HyLog with hot pages `h` that take the share `w` of the writes.
double ScaledHylogCost(double eta, double disk_utilization, double h, double w);

struct HotChoice {
  double h = 0;
  double cost = 0;
};
/// The h on the grid 0, 1/steps, ..., 1 with the least `cost(h)`; of equal ones the smallest.
HotChoice LeastCost(absl::FunctionRef<double(double h)> cost, int steps = 1000);
/// The h on the grid 0, 1/steps, ..., 1 with the least (6.8), where w(h) is the CDF of the writes.
HotChoice BestHotProportion(double eta, double disk_utilization,
                            absl::FunctionRef<double(double)> w, int steps = 1000);

/// CDFs of writes over pages, hottest first.
double UniformWriteShare(double h);
/// Knuth(a, b): a % of the writes go to b % of the pages.
double KnuthWriteShare(double a_percent, double b_percent, double h);
/// Hill(105, .528, .546), argument and result in percent inside; clamped to 1.
double HillWriteShare(double h);

/// From this share of a page write on, protection against tearing is dear: a hole is the better place for a
/// cold page (decision 0028).
inline constexpr double kDearProtection = 0.2;

/// Measured device busy time per page. The functions below are the closed forms above for the case
/// that reads and writes differ in cost, and that the cleaner reads what is cheapest: live pages one
/// by one or whole victims.
struct PageCosts {
  double page_write_ns = 0;     ///< T_pg: one page written by itself
  double segment_write_ns = 0;  ///< T_seg / S: one page written as part of a whole segment
  double segment_read_ns = 0;   ///< one live page read for cleaning
  double page_read_ns = 0;      ///< one page read by itself; 0: not known
  double slot_read_ns = 0;      ///< each further slot of a longer read; 0: not known
  double plug_write_ns = 0;     ///< one page that the cleaner writes into a hole; 0: not known
  double protection_ns = 0;     ///< added to a page written over its slot: copy and share of a sync
  /// Added to a page written by itself, on flash: the garbage collection that it causes there. The
  /// pages of an erase unit die at different times if single pages are written, and together if
  /// whole segments are. A few such pages among segments cause more of it each than if there were
  /// no others: `collection_ns` and `cold_collection_ns`.
  double collection_ns = 0, cold_collection_ns = 0;
  uint32_t slots_per_segment = 0;  ///< the thesis's S; 0: not known
  double part_factor = 1;  ///< cost of an appended page / segment_write_ns: segments go in parts
  double read_share = 1;   ///< of the cleaner's live pages; the others are copied from memory

  double eta() const { return segment_write_ns > 0 ? page_write_ns / segment_write_ns : 0; }
  /// One page appended, in segments that are written whole or in parts.
  double append_ns() const { return segment_write_ns * part_factor; }
  /// A page written by itself, with the garbage collection that it causes.
  double alone_ns() const { return page_write_ns + collection_ns; }
  /// A page that the cleaner writes into a hole, with the same. It writes many at once, so SCAN
  /// makes them cheaper than pages written by themselves.
  double plug_ns() const {
    return (plug_write_ns > 0 ? plug_write_ns : page_write_ns) + collection_ns;
  }
  /// A page written over its present slot, with its protection against tearing.
  double in_place_ns() const { return alone_ns() + protection_ns; }
  /// The same if all pages are written so.
  double all_in_place_ns() const { return page_write_ns + cold_collection_ns + protection_ns; }
};
/// Device time to read one live page of a victim of utilisation `u`: by itself, or as its share of a
/// whole victim, whatever is cheaper. Pages copied from memory lower both alike (read_share).
double LiveReadNanos(const PageCosts& costs, double u);
/// Device time per user page of a log whose victims have utilisation `u`: (a + u r) / (1 - u), where
/// a is append_ns.
double CleaningCostNanos(const PageCosts& costs, double u);
/// The same with hole-plugging: a + u (r + pw), where pw is plug_ns.
double PluggingCostNanos(const PageCosts& costs, double u);

}  // namespace latchkey
