#include "layout/separate/cost_meter.h"

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "layout/geometry.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/io_window.h"

namespace latchkey {
namespace {

constexpr uint64_t kProbeBytes = uint64_t{4} << 20;
constexpr uint32_t kLargeBytes = uint32_t{1} << 20;
constexpr uint32_t kSmallRequests = 128;
constexpr int kRounds = 5;
constexpr uint32_t kDepth = 32;
constexpr double kWeightOfNew = 0.3;
constexpr uint64_t kEnough = 256;  // pages of a sample

// Nanoseconds per request: `count` requests of `length` bytes, up to `depth` in flight.
absl::StatusOr<double> TimeRequests(Runtime& runtime, BlockDevice& device, IoRequest::Op op,
                                    uint32_t count, uint32_t length, uint32_t depth,
                                    const std::function<uint64_t(uint32_t)>& offset_of) {
  LATCHKEY_ASSIGN_OR_RETURN(auto queue, device.NewQueue(depth));
  AlignedBuffer buffer(size_t{depth} * length);
  Rng rng(length);
  for (size_t i = 0; i + 8 <= buffer.size(); i += 512) {
    *reinterpret_cast<uint64_t*>(buffer.data() + i) = rng.Next();  // not compressible to nothing
  }
  std::byte* unused = buffer.data();  // each request keeps the part that it gets first
  uint32_t started = 0;
  absl::Status status;
  IoWindow<uint32_t> window(depth);
  const Nanos start = runtime.Now();
  window.Run(
      *queue,
      [&](IoRequest& request) {
        if (started == count) return false;
        if (request.buffer == nullptr) request.buffer = std::exchange(unused, unused + length);
        request.op = op;
        request.io_class = IoClass::kMeta;
        request.offset = offset_of(started++);
        request.length = length;
        return true;
      },
      [&](const IoRequest& request, uint32_t) {
        if (!request.status.ok()) status = request.status;
      });
  LATCHKEY_RETURN_IF_ERROR(status);
  return static_cast<double>(std::max<Nanos>(1, runtime.Now() - start)) / count;
}

// The least time of several rounds, because other load on the machine only adds time.
class Probe {
 public:
  Probe(Runtime& runtime, BlockDevice& device, uint32_t page_size, uint64_t seed)
      : runtime_(runtime), device_(device), page_size_(page_size), rng_(seed) {}

  absl::StatusOr<double> Pages(IoRequest::Op op) {
    return Best([&] {
      return TimeRequests(runtime_, device_, op, kSmallRequests, page_size_, kDepth, [&](uint32_t) {
        return kHeaderAreaBytes + rng_.Below(kProbeBytes / page_size_) * uint64_t{page_size_};
      });
    });
  }
  absl::StatusOr<double> Runs(IoRequest::Op op, uint32_t bytes) {
    const uint64_t places = std::max<uint64_t>(1, kProbeBytes / bytes);
    return Best([&] {
      return TimeRequests(runtime_, device_, op, 4, bytes, 2,
                          [&](uint32_t i) { return kHeaderAreaBytes + i % places * bytes; });
    });
  }
  // A doublewrite batch and its sync.
  absl::StatusOr<double> BatchAndSync(uint32_t bytes) {
    AlignedBuffer batch(bytes);
    return Best([&]() -> absl::StatusOr<double> {
      const Nanos start = runtime_.Now();
      LATCHKEY_RETURN_IF_ERROR(device_.Write(kHeaderAreaBytes, batch.span(), IoClass::kMeta));
      LATCHKEY_RETURN_IF_ERROR(device_.Sync());
      return static_cast<double>(runtime_.Now() - start);
    });
  }

 private:
  absl::StatusOr<double> Best(absl::FunctionRef<absl::StatusOr<double>()> measure) {
    double best = std::numeric_limits<double>::max();
    for (int round = 0; round < kRounds; ++round) {
      LATCHKEY_ASSIGN_OR_RETURN(const double time, measure());
      best = std::min(best, time);
    }
    return best;
  }

  Runtime& runtime_;
  BlockDevice& device_;
  const uint32_t page_size_;
  Rng rng_;
};

// (6.3): T_large = T_pos + G/B and T_page = T_pos + P/B give 4 * T_pos * B in bytes.
uint32_t PreferredSegmentBytes(double large_ns, double page_ns, uint32_t page_size) {
  const double bytes_per_ns = (kLargeBytes - page_size) / std::max(1.0, large_ns - page_ns);
  const double positioning_ns = std::max(0.0, page_ns - page_size / bytes_per_ns);
  const double preferred = std::max(1.0, 4 * positioning_ns * bytes_per_ns);
  return static_cast<uint32_t>(std::clamp(NearestPowerOfTwo(preferred), 262144.0, 4194304.0));
}

double Blend(double old_value, double fresh) {
  return old_value <= 0 ? fresh : (1 - kWeightOfNew) * old_value + kWeightOfNew * fresh;
}

}  // namespace

absl::StatusOr<DeviceProbe> ProbeDevice(Runtime& runtime, BlockDevice& device, uint32_t page_size,
                                        const ProbedSegment& segment, uint64_t seed) {
  const uint64_t needed = kHeaderAreaBytes + std::max<uint64_t>(kProbeBytes, segment.segment_bytes);
  if (device.geometry().size_bytes < needed) LATCHKEY_RETURN_IF_ERROR(device.Resize(needed));
  using Op = IoRequest::Op;
  Probe probe(runtime, device, page_size, seed);
  LATCHKEY_ASSIGN_OR_RETURN(const double write, probe.Pages(Op::kWrite));
  LATCHKEY_ASSIGN_OR_RETURN(const double read, probe.Pages(Op::kRead));
  uint32_t bytes = segment.segment_bytes;
  if (bytes == 0) {
    LATCHKEY_ASSIGN_OR_RETURN(const double large, probe.Runs(Op::kWrite, kLargeBytes));
    bytes = std::max(
        std::min(PreferredSegmentBytes(large, write, page_size), segment.most_segment_bytes),
        segment.least_segment_bytes);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const double whole_write, probe.Runs(Op::kWrite, bytes));
  LATCHKEY_ASSIGN_OR_RETURN(const double whole_read, probe.Runs(Op::kRead, bytes));
  const uint32_t batch = DoublewriteCapacity(page_size);
  LATCHKEY_ASSIGN_OR_RETURN(const double protection, probe.BatchAndSync(batch * page_size));
  const uint32_t slots = bytes / page_size;
  const double further = std::max(1.0, (whole_read - read) / (slots - 1));
  return DeviceProbe{.costs = {.page_write_ns = write,
                               .segment_write_ns = whole_write / slots,
                               .segment_read_ns = read,
                               .page_read_ns = read,
                               .slot_read_ns = std::min(further, read),
                               .protection_ns = protection / batch,
                               .slots_per_segment = slots},
                     .segment_bytes = bytes};
}

// eta = S (p + P) / (S p + P), solved for P.
uint64_t PositioningBytes(const PageCosts& costs, uint32_t page_size, uint32_t slots) {
  const double eta = std::min(costs.eta(), 0.9 * slots);
  if (eta <= 1) return 1;
  return static_cast<uint64_t>(page_size * slots * (eta - 1) / (slots - eta));
}

CostMeter::CostMeter(Runtime& runtime, const BlockDevice& device, const StoreGeometry& geometry,
                     const PageCosts& first_estimate)
    : device_(device), page_size_(geometry.page_size), mutex_(runtime), estimate_(first_estimate) {
  estimate_.slots_per_segment = geometry.slots_per_segment;
  const DeviceStats now = device.stats();
  for (size_t c = 0; c < kIoClasses; ++c) windows_[c].device = now.by_class[c];
}

IoClassStats CostMeter::Since(IoClass io_class, const DeviceStats& now) const {
  const IoClassStats& end = now.of(io_class);
  const IoClassStats& begin = Last(io_class).device;
  IoClassStats since;
  since.requests = end.requests - begin.requests;
  since.bytes = end.bytes - begin.bytes;
  // A simulated device knows what its disks did for the class; others divide their busy time.
  since.busy = end.service > 0 ? end.service - begin.service : end.busy - begin.busy;
  return since;
}

void CostMeter::End(IoClass io_class, const DeviceStats& now, const CostCounts& counts) {
  windows_[static_cast<size_t>(io_class)] = {now.of(io_class), counts};
}

void CostMeter::Sample(const CostCounts& counts) {
  const DeviceStats now = device_.stats();
  MutexLock lock(mutex_);
  for (const auto& [io_class, cost] :
       {std::pair(IoClass::kPageWrite, &PageCosts::page_write_ns),
        std::pair(IoClass::kSegmentWrite, &PageCosts::segment_write_ns),
        std::pair(IoClass::kPageRead, &PageCosts::page_read_ns)}) {
    const IoClassStats window = Since(io_class, now);
    const uint64_t pages = window.bytes / page_size_;
    if (pages < kEnough || window.busy == 0) continue;  // keeps the window open
    estimate_.*cost =
        Blend(estimate_.*cost, static_cast<double>(window.busy) / static_cast<double>(pages));
    End(io_class, now, counts);
  }
  SampleReads(now, counts);
  SampleProtection(now, counts);
}

// Reads of the cleaner: single pages, runs and whole victims.
void CostMeter::SampleReads(const DeviceStats& now, const CostCounts& counts) {
  const IoClassStats window = Since(IoClass::kSegmentRead, now);
  const CostCounts& before = Last(IoClass::kSegmentRead).counts;
  const uint64_t live = counts.live_pages_read - before.live_pages_read;
  const uint64_t copied = counts.live_pages_copied - before.live_pages_copied;
  if (live + copied < kEnough) return;
  copied_share_ = static_cast<double>(copied) / static_cast<double>(live + copied);
  const auto busy = static_cast<double>(window.busy);
  if (live >= kEnough && window.busy > 0) {
    estimate_.segment_read_ns = Blend(estimate_.segment_read_ns, busy / static_cast<double>(live));
    const uint64_t further = window.bytes / page_size_ - window.requests;
    const double first = static_cast<double>(window.requests) * estimate_.page_read_ns;
    if (further >= kEnough && busy > first) {
      estimate_.slot_read_ns =
          Blend(estimate_.slot_read_ns, (busy - first) / static_cast<double>(further));
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
  estimate_.protection_ns =
      Blend(estimate_.protection_ns, (busy + syncs) / static_cast<double>(pages));
  End(IoClass::kProtection, now, counts);
}

PageCosts CostMeter::costs() const {
  MutexLock lock(mutex_);
  PageCosts costs = estimate_;
  const double read_share = 1 - copied_share_;
  costs.segment_read_ns *= read_share;
  return costs;
}

}  // namespace latchkey
