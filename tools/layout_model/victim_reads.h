// How the cleaner reads a victim, and the device time that this takes.
#pragma once

#include "layout/separate/write_cost_model.h"
#include "storage/base/registry.h"

namespace latchkey {

/// One way of the list.
struct VictimReadsInfo {
  ChoiceDescription description;
  /// Nanoseconds of device time to read a victim of utilisation `u`, per slot of the victim (live
  /// or not).
  double (*ns_per_slot)(const PageCosts& costs, double u);
};

/// thesis, whole, live, single, gaps, cheapest, overlapped, none. To add one: a function and one
/// line in victim_reads.cc.
const Registry<VictimReadsInfo>& VictimReads();
using VictimReadsChoice = Choice<VictimReadsInfo>;

}  // namespace latchkey
