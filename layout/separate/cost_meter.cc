#include "layout/separate/cost_meter.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
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

// Busy time per unit between two snapshots; nullopt for fewer than `enough` units.
std::optional<double> Rate(Nanos busy, uint64_t units, uint64_t enough) {
  if (units < enough || busy == 0) return std::nullopt;
  return static_cast<double>(busy) / static_cast<double>(units);
}

}  // namespace

absl::StatusOr<DeviceProbe> ProbeDevice(Runtime& runtime, BlockDevice& device, uint32_t page_size,
                                        uint64_t seed) {
  if (device.geometry().size_bytes < kHeaderAreaBytes + kProbeBytes) {
    LATCHKEY_RETURN_IF_ERROR(device.Resize(kHeaderAreaBytes + kProbeBytes));
  }
  Rng rng(seed);
  const auto random_page = [&](uint32_t) {
    return kHeaderAreaBytes + rng.Below(kProbeBytes / page_size) * page_size;
  };
  const auto next_large = [](uint32_t i) {
    return kHeaderAreaBytes + i * uint64_t{kLargeBytes} % kProbeBytes;
  };
  // The minimum of several rounds, because other load on the machine only adds time.
  double large = std::numeric_limits<double>::max(), write = large, read = large;
  using Op = IoRequest::Op;
  for (int round = 0; round < kRounds; ++round) {
    LATCHKEY_ASSIGN_OR_RETURN(
        const double l, TimeRequests(runtime, device, Op::kWrite, 4, kLargeBytes, 2, next_large));
    LATCHKEY_ASSIGN_OR_RETURN(
        const double w,
        TimeRequests(runtime, device, Op::kWrite, kSmallRequests, page_size, kDepth, random_page));
    LATCHKEY_ASSIGN_OR_RETURN(
        const double r,
        TimeRequests(runtime, device, Op::kRead, kSmallRequests, page_size, kDepth, random_page));
    large = std::min(large, l);
    write = std::min(write, w);
    read = std::min(read, r);
  }
  DeviceProbe probe;
  const double pages = static_cast<double>(kLargeBytes) / page_size;
  probe.costs = {
      .page_write_ns = write, .segment_write_ns = large / pages, .segment_read_ns = read};
  // T_large = T_pos + G/B and T_page = T_pos + P/B give T_pos * B in bytes.
  const double bytes_per_ns = (kLargeBytes - page_size) / std::max(1.0, large - write);
  const double positioning_ns = std::max(0.0, write - page_size / bytes_per_ns);
  const double preferred = std::max(1.0, 4 * positioning_ns * bytes_per_ns);
  probe.preferred_segment_bytes =
      static_cast<uint32_t>(std::clamp(NearestPowerOfTwo(preferred), 262144.0, 4194304.0));
  return probe;
}

uint64_t PositioningBytes(const PageCosts& costs, uint32_t page_size) {
  if (costs.eta() <= 1) return 1;
  return static_cast<uint64_t>((std::min(costs.eta(), 1000.0) - 1) * page_size);
}

CostMeter::CostMeter(Runtime& runtime, const BlockDevice& device, uint32_t page_size,
                     const PageCosts& first_estimate)
    : device_(device),
      page_size_(page_size),
      mutex_(runtime),
      last_(device.stats()),
      estimate_(first_estimate) {}

void CostMeter::Sample(double copied_share) {
  const DeviceStats now = device_.stats();
  MutexLock lock(mutex_);
  const auto delta = [&](IoClass c) LATCHKEY_REQUIRES(mutex_) {
    return IoClassStats{now.of(c).requests - last_.of(c).requests,
                        now.of(c).bytes - last_.of(c).bytes, now.of(c).busy - last_.of(c).busy};
  };
  const IoClassStats page_write = delta(IoClass::kPageWrite);
  const IoClassStats segment_write = delta(IoClass::kSegmentWrite);
  const IoClassStats segment_read = delta(IoClass::kSegmentRead);
  const IoClassStats page_read = delta(IoClass::kPageRead);
  const auto pages = [&](const IoClassStats& s) { return s.bytes / page_size_; };
  const auto pw = Rate(page_write.busy, pages(page_write), 256);
  const auto sw = Rate(segment_write.busy, pages(segment_write), 256);
  // Without enough reads by the cleaner, other page reads stand for them.
  auto sr = Rate(segment_read.busy, pages(segment_read), 256);
  if (!sr) sr = Rate(page_read.busy, pages(page_read), 256);
  if (!pw && !sw && !sr) return;  // keep the window open until it holds enough

  const PageCosts before = estimate_;
  const auto blend = [](double old_value, double fresh) {
    return old_value <= 0 ? fresh : (1 - kWeightOfNew) * old_value + kWeightOfNew * fresh;
  };
  if (pw) estimate_.page_write_ns = blend(before.page_write_ns, *pw);
  if (sw) estimate_.segment_write_ns = blend(before.segment_write_ns, *sw);
  if (sr) estimate_.segment_read_ns = blend(before.segment_read_ns, *sr);
  if (pw && !sw && before.page_write_ns > 0) {
    estimate_.segment_write_ns *= estimate_.page_write_ns / before.page_write_ns;
  } else if (sw && !pw && before.segment_write_ns > 0) {
    estimate_.page_write_ns *= estimate_.segment_write_ns / before.segment_write_ns;
  }
  copied_share_ = copied_share;
  last_ = now;
}

PageCosts CostMeter::costs() const {
  MutexLock lock(mutex_);
  PageCosts costs = estimate_;
  costs.segment_read_ns *= 1 - copied_share_;
  return costs;
}

}  // namespace latchkey
