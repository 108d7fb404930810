#include "layout/clean/cost_explorer.h"

#include <algorithm>

#include "layout/clean/probe_places.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using Op = IoRequest::Op;

constexpr CostKind kKinds[] = {CostKind::kPageRead, CostKind::kPageWrite, CostKind::kSegmentWrite,
                               CostKind::kSegmentRead, CostKind::kProtection};
constexpr uint32_t kPages = 16;  // of a probe of single pages
constexpr uint32_t kPagesNow =
    4;  // the same of a device that tells service times, beside other I/O
constexpr uint32_t kTogether = 4;  // of its pages on a file after the open: as evictions write them
constexpr uint32_t kSegments = 4;  // the most that such a probe spreads its writes over

bool IsPage(CostKind kind) { return kind == CostKind::kPageRead || kind == CostKind::kPageWrite; }

}  // namespace

CostExplorer::CostExplorer(PageDirectory& directory, CostMeter& costs, bool protects)
    : directory_(directory),
      core_(directory.core()),
      costs_(costs),
      protects_(protects),
      rng_(directory.core().database_id) {}

// The memory has the size of a segment.
uint32_t CostExplorer::PagesAtOnce(bool at_open) const {
  const uint32_t pages = std::min(kPages, core_.geometry.pages_per_segment());
  return at_open || !TellsService() ? pages : std::min(pages, kPagesNow);
}

uint32_t CostExplorer::ProtectedPages() const {
  return std::min(DoublewriteCapacity(core_.geometry.page_size),
                  core_.geometry.pages_per_segment());
}

double CostExplorer::ProbeNanosOf(CostKind kind) const {
  const PageCosts costs = costs_.costs();
  const double slots = core_.geometry.pages_per_segment();
  switch (kind) {
    case CostKind::kPageRead:
      return PagesAtOnce(/*at_open=*/false) * costs.page_read_ns;
    case CostKind::kPageWrite:
      return PagesAtOnce(/*at_open=*/false) * costs.page_write_ns;
    case CostKind::kSegmentWrite:
      return slots * costs.segment_write_ns;
    case CostKind::kSegmentRead:
      return costs.page_read_ns + slots * costs.slot_read_ns;
    case CostKind::kProtection:
      return ProtectedPages() * costs.protection_ns;
  }
  return 0;
}

std::vector<uint64_t> CostExplorer::PlacesToRead(uint32_t length, uint32_t count) {
  const uint64_t places =
      uint64_t{directory_.segments().total()} * core_.geometry.segment_size / length;
  std::vector<uint64_t> offsets;
  for (uint32_t i = 0; places > 0 && i < count; ++i) {
    offsets.push_back(core_.geometry.first_segment_offset + rng_.Below(places) * length);
  }
  return offsets;
}

bool CostExplorer::TellsService() const {
  const DeviceStats stats = core_.device.stats();
  return std::ranges::any_of(stats.by_class, [](const IoClassStats& c) { return c.service > 0; });
}

// Without its places.
ProbeBurst CostExplorer::ShapeOf(CostKind kind, uint32_t pages, bool at_open) const {
  ProbeBurst burst;
  burst.memory = memory_;
  burst.op = kind == CostKind::kPageRead || kind == CostKind::kSegmentRead ? Op::kRead : Op::kWrite;
  burst.then_sync = kind == CostKind::kProtection;
  burst.length = kind == CostKind::kProtection ? ProtectedPages() * core_.geometry.page_size
                 : IsPage(kind)                ? core_.geometry.page_size
                                               : core_.geometry.segment_size;
  if (!IsPage(kind)) return burst;
  const auto in_flight = static_cast<uint32_t>(core_.device.stats().in_flight);
  burst.depth = TellsService() ? std::clamp(in_flight / 4, 1u, pages)
                : at_open      ? pages
                               : std::min(kTogether, pages);
  return burst;
}

void CostExplorer::AddPlacesIn(const std::vector<SegmentId>& segments, bool are_pages,
                               uint32_t count, std::vector<uint64_t>& offsets) {
  for (uint32_t i = 0; offsets.size() < count && !segments.empty(); ++i) {
    const uint64_t slot = are_pages ? rng_.Below(core_.geometry.pages_per_segment()) : 0;
    offsets.push_back(core_.geometry.OffsetOf(segments[i % segments.size()]) +
                      slot * core_.geometry.page_size);
  }
}

// ResourceExhausted: there is no place. Errors of the device change nothing, so they are no errors of
// the store.
absl::StatusOr<ProbeResult> CostExplorer::Probe(CostKind kind, uint32_t requests, bool at_open) {
  ProbeBurst burst = ShapeOf(kind, requests, at_open);
  const bool is_write = burst.op == Op::kWrite;
  const BorrowedHoles holes(directory_, kind == CostKind::kPageWrite ? requests : 0, rng_);
  std::vector<uint64_t> offsets = is_write ? holes.Offsets() : PlacesToRead(burst.length, requests);
  // For another kind of write, and in a file with too few holes.
  const uint32_t missing = is_write ? requests - static_cast<uint32_t>(offsets.size()) : 0;
  const BorrowedSegments segments(directory_, std::min(missing, IsPage(kind) ? kSegments : 1));
  AddPlacesIn(segments.ids(), IsPage(kind), is_write ? requests : 0, offsets);
  if (offsets.size() < requests) return absl::ResourceExhaustedError("no place for a probe");
  burst.offsets = offsets;
  return at_open ? MeasureRounds(core_.runtime, core_.device, burst, kRoundsOfOpen)
                 : MeasureBurst(core_.runtime, core_.device, burst);
}

bool CostExplorer::Measure(CostKind kind, bool at_open) {
  const uint32_t requests = IsPage(kind) ? PagesAtOnce(at_open) : 1;
  ProbeResult result;
  const absl::Status probed = CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(result, Probe(kind, requests, at_open));
    return absl::OkStatus();
  });
  if (!probed.ok()) return false;
  if (kind == CostKind::kProtection) result.request_ns /= ProtectedPages();
  costs_.AddProbe(kind, result, /*replaces=*/at_open);
  // Costs measured beside other I/O depend on these times. So once an open has measured them, later
  // probes do not change them. A small file is not measured at an open.
  if (result.alone && (at_open || !times_are_of_open_)) {
    times_are_of_open_ = at_open;
    core_.device.SetRequestTimes(RequestTimesOf(costs_.costs(), core_.geometry.page_size,
                                                core_.geometry.pages_per_segment()));
  }
  return true;
}

void CostExplorer::MeasureAll() {
  for (const CostKind kind : kKinds) {
    if (kind != CostKind::kProtection || protects_) Measure(kind, /*at_open=*/true);
  }
}

bool CostExplorer::ExploreOne() {
  if (core_.poisoned()) return false;
  for (const CostKind kind : kKinds) {
    if (kind == CostKind::kProtection && !protects_) continue;
    if (costs_.NanosSinceSample(kind) < kRest * ProbeNanosOf(kind)) continue;
    return Measure(kind, /*at_open=*/false);
  }
  return false;
}

}  // namespace latchkey
