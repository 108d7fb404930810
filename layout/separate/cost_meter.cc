#include "layout/separate/cost_meter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace latchkey {
namespace {

constexpr double kWeightOfNew = 0.3;
// A probe of so many pages forgets a tenth of what other I/O has told.
constexpr double kPagesToForget = 16;
constexpr uint64_t kEnough = 256;  // pages of a sample
// Requests of a sample. Time and bytes of those in flight at its ends are not counted at the same
// instant, so these must be few among them.
constexpr uint64_t kEnoughRequests = 32;
constexpr uint64_t kOfThoseInFlight = 4;
// While the store appends nothing, each probe of a whole segment forgets a tenth of what writing
// segments in parts has cost.
constexpr double kPartsKept = 0.9;
// The garbage collection that one page written by itself causes, in page writes: the estimate before
// the first sample, and its upper bound. The bound is needed because the device may still collect what
// earlier pages have left, while few new ones are there to be charged.
constexpr double kFirstCollection = 4, kMostCollection = 16;
// The same if all pages are written by themselves, before the first sample.
constexpr double kFirstColdCollection = 1;
// While the store writes no page by itself, probes of kPagesToForget pages move the estimate a tenth of
// the way back to the first one.
constexpr double kCollectionKept = 0.9;
// If the cleaner has plugged nothing since the probe before, they move what a plugged page costs as much
// towards a page written by itself, so that an old estimate does not count for ever.
constexpr double kPlugKept = 0.9;

double Blend(double old_value, double fresh, double weight) {
  return old_value <= 0 ? fresh : (1 - weight) * old_value + weight * fresh;
}

// A simulated device knows what its disks did for the class; others divide their busy time.
Nanos TimeOf(const IoClassStats& of_class) {
  return of_class.service > 0 ? of_class.service : of_class.busy;
}

// Not those of doublewrite areas: they are written in sequence and die at once, so the device moves
// none of them.
uint64_t PagesWritten(const DeviceStats& stats, uint32_t page_size) {
  uint64_t bytes = 0;
  for (const IoClass io_class : kSlotWrites) bytes += stats.of(io_class).bytes;
  return bytes / page_size;
}

uint64_t PagesAlone(const DeviceStats& stats, uint32_t page_size) {
  return (stats.of(IoClass::kPageWrite).bytes + stats.of(IoClass::kPlugWrite).bytes) / page_size;
}

Nanos CollectionOf(const DeviceStats& stats) {
  Nanos sum = 0;
  for (const IoClassStats& of_class : stats.by_class) sum += of_class.collection;
  return sum;
}

bool ErasesAtMost(const DeviceGeometry& device, uint32_t segment_size) {
  return device.erase_unit_bytes > 0 && device.erase_unit_bytes <= segment_size;
}

double DeviceNanos(const DeviceStats& stats) {
  Nanos sum = 0;
  for (const IoClassStats& of_class : stats.by_class) sum += TimeOf(of_class);
  return static_cast<double>(sum);
}

}  // namespace

CostMeter::CostMeter(Runtime& runtime, const BlockDevice& device, const StoreGeometry& geometry,
                     const PageCosts& first_estimate)
    : device_(device),
      page_size_(geometry.page_size),
      charges_collection_(ErasesAtMost(device.geometry(), geometry.segment_size)),
      mutex_(runtime),
      estimate_(first_estimate) {
  estimate_.slots_per_segment = geometry.pages_per_segment();
  if (charges_collection_) {
    estimate_.collection_ns = kFirstCollection * estimate_.page_write_ns;
    estimate_.cold_collection_ns = kFirstColdCollection * estimate_.page_write_ns;
  }
  const DeviceStats now = device.stats();
  collected_ = CollectionOf(now);
  pages_alone_ = PagesAlone(now, page_size_);
  pages_written_ = PagesWritten(now, page_size_);
  for (size_t c = 0; c < kIoClasses; ++c) windows_[c].device = now.by_class[c];
  sampled_at_.fill(DeviceNanos(now));
}

IoClassStats CostMeter::Since(IoClass io_class, const DeviceStats& now) const {
  const IoClassStats& end = now.of(io_class);
  const IoClassStats& begin = Last(io_class).device;
  IoClassStats since;
  since.requests = end.requests - begin.requests;
  const bool is_exact = end.service > 0;
  since.bytes = is_exact ? end.serviced_bytes - begin.serviced_bytes : end.bytes - begin.bytes;
  since.busy = is_exact ? end.service - begin.service : end.busy - begin.busy;
  if (charges_collection_) since.busy -= std::min(since.busy, end.collection - begin.collection);
  return since;
}

void CostMeter::End(IoClass io_class, const DeviceStats& now, const CostCounts& counts) {
  windows_[static_cast<size_t>(io_class)] = {now.of(io_class), counts};
}

void CostMeter::NoteSample(CostKind kind, double* estimate, double fresh, double device_ns) {
  const auto k = static_cast<size_t>(kind);
  *estimate = Blend(*estimate, fresh, is_sampled_[k] ? kWeightOfNew : 1);
  probed_[k].Restart(*estimate);
  is_sampled_[k] = true;
  sampled_at_[k] = device_ns;
}

void CostMeter::NoteProbe(CostKind kind, double* estimate, const ProbeResult& probe, double fresh,
                          bool replaces, double device_ns) {
  const auto k = static_cast<size_t>(kind);
  if (replaces) {
    probed_[k].Restart(fresh);
  } else {
    probed_[k].Add(fresh, probe.exact);
  }
  *estimate = probed_[k].ns();
  is_sampled_[k] = true;
  sampled_at_[k] = device_ns;
}

void CostMeter::Sample(const CostCounts& counts) {
  const DeviceStats now = device_.stats();
  MutexLock lock(mutex_);
  SampleParts(now, counts);
  struct Row {
    IoClass io_class;
    std::optional<CostKind> kind;  // nullopt: never probed
    double* cost;
  };
  const Row rows[] = {
      {IoClass::kPlugWrite, std::nullopt, &estimate_.plug_write_ns},
      {IoClass::kPageWrite, CostKind::kPageWrite, &estimate_.page_write_ns},
      {IoClass::kSegmentWrite, CostKind::kSegmentWrite, &estimate_.segment_write_ns},
      {IoClass::kPageRead, CostKind::kPageRead, &estimate_.page_read_ns}};
  for (const Row& row : rows) {
    const IoClassStats window = Since(row.io_class, now);
    const uint64_t pages = window.bytes / page_size_;
    const bool enough = pages >= kEnough && window.requests >= kEnoughRequests &&
                        window.requests >= kOfThoseInFlight * now.in_flight;
    if (!enough || window.busy == 0) continue;  // keeps the window open
    const double fresh = static_cast<double>(window.busy) / static_cast<double>(pages);
    if (row.kind) {
      NoteSample(*row.kind, row.cost, fresh, DeviceNanos(now));
    } else {
      *row.cost = Blend(*row.cost, fresh, kWeightOfNew);
    }
    End(row.io_class, now, counts);
  }
  SampleReads(now, counts);
  SampleProtection(now, counts);
  SampleCollection(now);
}

// What appended pages cost, whole segments and parts together.
void CostMeter::SampleParts(const DeviceStats& now, const CostCounts& counts) {
  const IoClassStats parts = Since(IoClass::kSegmentPartWrite, now);
  const IoClassStats whole = Since(IoClass::kSegmentWrite, now);
  const uint64_t part_pages = parts.bytes / page_size_, whole_pages = whole.bytes / page_size_;
  if (part_pages + whole_pages < kEnough || estimate_.segment_write_ns <= 0) return;
  // The window of whole segments ends in Sample, which needs kEnough of them alone.
  if (part_pages < kEnough && whole_pages < kEnough) return;
  const double mean =
      static_cast<double>(parts.busy + whole.busy) / static_cast<double>(part_pages + whole_pages);
  estimate_.part_factor =
      Blend(estimate_.part_factor, std::max(1.0, mean / estimate_.segment_write_ns), kWeightOfNew);
  End(IoClass::kSegmentPartWrite, now, counts);
}

// Reads of the cleaner: single pages, runs and whole victims.
void CostMeter::SampleReads(const DeviceStats& now, const CostCounts& counts) {
  const IoClassStats window = Since(IoClass::kSegmentRead, now);
  const CostCounts& before = Last(IoClass::kSegmentRead).counts;
  const uint64_t live = counts.live_pages_read - before.live_pages_read;
  const uint64_t copied = counts.live_pages_copied - before.live_pages_copied;
  if (live + copied < kEnough) return;
  estimate_.read_share = static_cast<double>(live) / static_cast<double>(live + copied);
  const auto busy = static_cast<double>(window.busy);
  if (live >= kEnough && window.busy > 0) {
    estimate_.segment_read_ns =
        Blend(estimate_.segment_read_ns, busy / static_cast<double>(live), kWeightOfNew);
    const uint64_t pages = window.bytes / page_size_;
    const uint64_t further = pages - std::min(pages, window.requests);
    const double first = static_cast<double>(window.requests) * estimate_.page_read_ns;
    if (further >= kEnough && busy > first) {
      NoteSample(CostKind::kSegmentRead, &estimate_.slot_read_ns,
                 (busy - first) / static_cast<double>(further), DeviceNanos(now));
    }
  }
  End(IoClass::kSegmentRead, now, counts);
}

void CostMeter::SampleProtection(const DeviceStats& now, const CostCounts& counts) {
  const CostCounts& before = Last(IoClass::kProtection).counts;
  const uint64_t pages = counts.protected_pages - before.protected_pages;
  if (pages < kEnough) return;
  const auto busy = static_cast<double>(Since(IoClass::kProtection, now).busy);
  const auto syncs = static_cast<double>(counts.protection_sync_ns - before.protection_sync_ns);
  NoteSample(CostKind::kProtection, &estimate_.protection_ns,
             (busy + syncs) / static_cast<double>(pages), DeviceNanos(now));
  End(IoClass::kProtection, now, counts);
}

void CostMeter::SampleCollection(const DeviceStats& now) {
  const uint64_t pages = PagesAlone(now, page_size_) - pages_alone_;
  if (!charges_collection_ || pages < kEnough) return;
  const Nanos collected = CollectionOf(now) - collected_;
  const uint64_t written = PagesWritten(now, page_size_) - pages_written_;
  const double most = kMostCollection * estimate_.page_write_ns;
  const auto note = [&](double* estimate, uint64_t among) {
    const double fresh =
        std::min(static_cast<double>(collected) / static_cast<double>(among), most);
    *estimate = (1 - kWeightOfNew) * *estimate + kWeightOfNew * fresh;
  };
  note(&estimate_.cold_collection_ns, written);
  // If most pages are written by themselves, each causes less than a few among segments would.
  if (2 * pages < written) note(&estimate_.collection_ns, pages);
  collected_ += collected;
  pages_alone_ += pages;
  pages_written_ += written;
}

// After a probe of `pages` pages written by themselves.
void CostMeter::ForgetPagesAlone(uint32_t pages, uint64_t plugged) {
  const double page = estimate_.page_write_ns;
  if (std::exchange(plugged_, plugged) == plugged && estimate_.plug_write_ns > 0) {
    const double kept = std::pow(kPlugKept, pages / kPagesToForget);
    estimate_.plug_write_ns = page + kept * (estimate_.plug_write_ns - page);
  }
  if (!charges_collection_) return;
  const double first = kFirstCollection * page;
  const double kept = std::pow(kCollectionKept, pages / kPagesToForget);
  estimate_.collection_ns = first + kept * (estimate_.collection_ns - first);
}

void CostMeter::AddProbe(CostKind kind, const ProbeResult& probe, bool replaces) {
  const DeviceStats now = device_.stats();
  MutexLock lock(mutex_);
  const double slots = estimate_.slots_per_segment;
  const auto note = [&](double* estimate, double fresh) LATCHKEY_REQUIRES(mutex_) {
    NoteProbe(kind, estimate, probe, fresh, replaces, DeviceNanos(now));
  };
  const double ns = probe.request_ns;
  switch (kind) {
    case CostKind::kPageWrite:
      ForgetPagesAlone(probe.requests, now.of(IoClass::kPlugWrite).requests);
      return note(&estimate_.page_write_ns, ns);
    case CostKind::kSegmentWrite:
      estimate_.part_factor = 1 + kPartsKept * (estimate_.part_factor - 1);
      return note(&estimate_.segment_write_ns, ns / slots);
    case CostKind::kPageRead:
      if (estimate_.segment_read_ns <= 0) estimate_.segment_read_ns = ns;
      return note(&estimate_.page_read_ns, ns);
    case CostKind::kSegmentRead:
      return note(&estimate_.slot_read_ns,
                  std::max(1.0, (ns - estimate_.page_read_ns) / (slots - 1)));
    case CostKind::kProtection:
      return note(&estimate_.protection_ns, ns);
  }
}

double CostMeter::NanosSinceSample(CostKind kind) const {
  const double now = DeviceNanos(device_.stats());
  MutexLock lock(mutex_);
  return now - sampled_at_[static_cast<size_t>(kind)];
}

PageCosts CostMeter::costs() const {
  MutexLock lock(mutex_);
  return estimate_;
}

}  // namespace latchkey
