#include "layout/clean/cost_explorer.h"

#include <algorithm>
#include <optional>

#include "layout/space/space_manager.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using Op = IoRequest::Op;

constexpr CostKind kKinds[] = {CostKind::kPageRead, CostKind::kPageWrite, CostKind::kSegmentWrite,
                               CostKind::kSegmentRead, CostKind::kProtection};
constexpr uint32_t kPages = 16;    // of a probe of single pages, all in flight
constexpr uint32_t kSegments = 4;  // the most that such a probe spreads its writes over

// Free segments, held as if for a checkpoint. The first may be one of those that only the cleaner
// takes: under full load no others are free.
class BorrowedSegments {
 public:
  BorrowedSegments(PageDirectory& directory, uint32_t most) : directory_(directory) {
    while (taken_.size() < most) {
      const uint32_t keep = taken_.empty() ? 1 : SpaceManager::kHardWatermark;
      const std::optional<SegmentId> segment = directory_.segments().TakeMeta(keep);
      if (!segment) break;
      taken_.push_back(*segment);
    }
  }
  ~BorrowedSegments() {
    for (const SegmentId segment : taken_) directory_.ReleaseMeta(segment);
  }
  BorrowedSegments(const BorrowedSegments&) = delete;
  BorrowedSegments& operator=(const BorrowedSegments&) = delete;
  const std::vector<SegmentId>& ids() const { return taken_; }

 private:
  PageDirectory& directory_;
  std::vector<SegmentId> taken_;
};

}  // namespace

CostExplorer::CostExplorer(PageDirectory& directory, CostMeter& costs, bool protects)
    : directory_(directory),
      core_(directory.core()),
      costs_(costs),
      protects_(protects),
      rng_(directory.core().database_id) {}

uint32_t CostExplorer::PagesAtOnce() const {
  return std::min(kPages, core_.geometry.pages_per_segment());
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
      return PagesAtOnce() * costs.page_read_ns;
    case CostKind::kPageWrite:
      return PagesAtOnce() * costs.page_write_ns;
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

// ResourceExhausted: there is no free segment. Errors of the device change nothing, so they are no
// errors of the store.
absl::StatusOr<ProbeResult> CostExplorer::Probe(CostKind kind, bool many_rounds) {
  const bool is_write = kind != CostKind::kPageRead && kind != CostKind::kSegmentRead;
  const bool is_page = kind == CostKind::kPageRead || kind == CostKind::kPageWrite;
  ProbeBurst burst;
  burst.memory = memory_;
  burst.op = is_write ? Op::kWrite : Op::kRead;
  burst.length = is_page                         ? core_.geometry.page_size
                 : kind == CostKind::kProtection ? ProtectedPages() * core_.geometry.page_size
                                                 : core_.geometry.segment_size;
  burst.depth = is_page ? PagesAtOnce() : 1;
  burst.then_sync = kind == CostKind::kProtection;
  const BorrowedSegments room(directory_, is_write ? is_page ? kSegments : 1 : 0);
  std::vector<uint64_t> offsets;
  if (!is_write) {
    offsets = PlacesToRead(burst.length, burst.depth);
  } else if (!room.ids().empty()) {
    for (uint32_t i = 0; i < burst.depth; ++i) {
      const uint64_t slot = is_page ? rng_.Below(core_.geometry.pages_per_segment()) : 0;
      offsets.push_back(core_.geometry.OffsetOf(room.ids()[i % room.ids().size()]) +
                        slot * core_.geometry.page_size);
    }
  }
  if (offsets.empty()) return absl::ResourceExhaustedError("no place for a probe");
  burst.offsets = offsets;
  return many_rounds ? MeasureRounds(core_.runtime, core_.device, burst)
                     : MeasureBurst(core_.runtime, core_.device, burst);
}

bool CostExplorer::Measure(CostKind kind, bool replaces) {
  ProbeResult result;
  const absl::Status probed = CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(result, Probe(kind, replaces));
    return absl::OkStatus();
  });
  if (!probed.ok()) return false;
  const bool is_batch = kind == CostKind::kProtection;
  costs_.AddProbe(kind, is_batch ? result.request_ns / ProtectedPages() : result.request_ns,
                  replaces);
  // Costs measured beside other I/O rest on the positioning cost; only others may correct it.
  if (result.alone) {
    core_.device.SetPositioningBytes(PositioningBytes(costs_.costs(), core_.geometry.page_size,
                                                      core_.geometry.pages_per_segment()));
  }
  return true;
}

void CostExplorer::MeasureAll() {
  for (const CostKind kind : kKinds) {
    if (kind != CostKind::kProtection || protects_) Measure(kind, /*replaces=*/true);
  }
}

bool CostExplorer::ExploreOne() {
  if (core_.poisoned()) return false;
  for (const CostKind kind : kKinds) {
    if (kind == CostKind::kProtection && !protects_) continue;
    if (costs_.NanosSinceSample(kind) < kRest * ProbeNanosOf(kind)) continue;
    return Measure(kind, /*replaces=*/false);
  }
  return false;
}

}  // namespace latchkey
