// Keeps the measured costs true: probes the kinds of I/O that the store itself rarely makes. A
// layout that appends nothing learns so what a segment write costs now, and a log what a page
// written in place would cost. Without this, a HyLog that stopped appending would never begin again.
//
//   at an open   MeasureAll: every kind by itself, before the first change of a large file
//   later        ExploreOne: a kind that has had no sample for kRest times the cost of its probe
//
// So the probes of one kind take at most 1/kRest of the device's time. A store leaves at most three
// kinds to probes: together 1.5 %.
//
// A page is written where the store itself would write one: into a hole of a segment drawn at random.
// On a disk its cost depends on the way of the arm, and on how many requests wait. So a simulated disk,
// which tells the service time of each request, has few of a probe's pages in flight. A file does not
// tell it. There an open has 16 pages in flight, and a later probe four: beside other I/O 16 took twice
// as long each, because all are in flight while the kernel starts one after the other. A page's cost is
// their time divided by their number. Other writes, and pages for which there are too few holes, go to
// free segments, held as if for a checkpoint. A store without places is not probed.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/map/page_directory.h"
#include "layout/separate/cost_meter.h"
#include "layout/separate/device_probe.h"
#include "storage/base/rng.h"

namespace latchkey {

/// Used by the cleaner's actor. REQUIRES: the file is marked unclean, and no clean checkpoint runs.
class CostExplorer {
 public:
  /// `protects`: writes over a slot go through a doublewrite area.
  CostExplorer(PageDirectory& directory, CostMeter& costs, bool protects);

  /// Called once, before any probe. `segment`: memory as long as a segment, which probes may use.
  void Prepare(std::span<std::byte> segment) { memory_ = segment; }
  /// Measures every kind anew, in kRoundsOfOpen.
  void MeasureAll();
  /// Probes the first kind that is due. Returns whether there was one.
  bool ExploreOne();

  static constexpr double kRest = 200;
  /// Smaller files are not measured at an open: their few pages are not worth the time.
  static constexpr uint64_t kLeastFileBytes = uint64_t{64} << 20;

 private:
  bool Measure(CostKind kind, bool at_open);
  double ProbeNanosOf(CostKind kind) const;
  absl::StatusOr<ProbeResult> Probe(CostKind kind, uint32_t requests, bool at_open);
  ProbeBurst ShapeOf(CostKind kind, uint32_t pages, bool at_open) const;
  std::vector<uint64_t> PlacesToRead(uint32_t length, uint32_t count);
  void AddPlacesIn(const std::vector<SegmentId>& segments, bool are_pages, uint32_t count,
                   std::vector<uint64_t>& offsets);
  bool TellsService() const;
  uint32_t PagesAtOnce(bool at_open) const;
  uint32_t ProtectedPages() const;

  PageDirectory& directory_;
  StoreCore& core_;
  CostMeter& costs_;
  const bool protects_;
  std::span<std::byte> memory_;
  bool times_are_of_open_ = false;  // BlockDevice::SetRequestTimes
  Rng rng_;
};

}  // namespace latchkey
