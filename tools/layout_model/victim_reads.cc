#include "tools/layout_model/victim_reads.h"

#include <algorithm>

#include "layout/clean/read_plan.h"

namespace latchkey {
namespace {

// (6.5), (6.6): a segment read takes as long as a segment write.
double AsThesis(const PageCosts& costs, double) { return costs.segment_write_ns; }

double Whole(const PageCosts& costs, double) {
  const SlotReadCosts read = ReadCostsOf(costs);
  return (read.first_ns - read.next_ns) / costs.slots_per_segment + read.next_ns;
}

double LiveOnly(const PageCosts& costs, double u) { return u * Whole(costs, u); }

double Single(const PageCosts& costs, double u) { return u * ReadCostsOf(costs).first_ns; }

// What PlanReads does with live pages at random slots: the gap before a page has g dead slots with
// probability u (1 - u)^g, and is read if that costs no more than another request.
double AcrossGaps(const PageCosts& costs, double u) {
  const SlotReadCosts read = ReadCostsOf(costs);
  double further = 0, probability = u, left = 1;
  for (uint32_t gap = 0; gap < costs.slots_per_segment; ++gap) {
    const double across = (gap + 1) * read.next_ns;
    if (across > read.first_ns) break;
    further += probability * across;
    left -= probability;
    probability *= 1 - u;
  }
  further += left * read.first_ns;
  const double live = u * costs.slots_per_segment;
  if (live <= 1) return live * read.first_ns / costs.slots_per_segment;
  return (read.first_ns + (live - 1) * further) / costs.slots_per_segment;
}

// As HyLog and adaptive cleaning decide.
double Cheapest(const PageCosts& costs, double u) { return u * LiveReadNanos(costs, u); }

// The live pages are read while the last segment is written. Only the longer of the two counts.
double Overlapped(const PageCosts& costs, double u) {
  return std::max(0.0, LiveOnly(costs, u) - costs.segment_write_ns);
}

double None(const PageCosts&, double) { return 0; }

constexpr VictimReadsInfo kVictimReads[] = {
    {{"thesis", "whole victims, each as dear as a segment write: (6.5)", {}}, AsThesis},
    {{"whole", "whole victims", {}}, Whole},
    {{"live", "live pages, each at the share of a whole victim", {}}, LiveOnly},
    {{"single", "live pages, each by itself", {}}, Single},
    {{"gaps", "live pages, in runs across short gaps, as the store reads", {}}, AcrossGaps},
    {{"cheapest", "single or whole, as HyLog's own decision counts", {}}, Cheapest},
    {{"overlapped", "live pages, beside the segment writes", {}}, Overlapped},
    {{"none", "the pool has all live pages", {}}, None},
};

}  // namespace

const Registry<VictimReadsInfo>& VictimReads() {
  static constexpr Registry<VictimReadsInfo> registry("way of reading victims", kVictimReads);
  return registry;
}

}  // namespace latchkey
