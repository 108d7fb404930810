#include "layout/separate/device_probe.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/io_window.h"

namespace latchkey {
namespace {

using Op = IoRequest::Op;

constexpr uint32_t kLongBytes = uint32_t{512} << 10;
constexpr uint32_t kBurstPages = 32;  // of a burst, all in flight

// Starts the requests of `burst`, and returns when all of them are done.
absl::Status RunBurst(BlockDevice& device, const ProbeBurst& burst) {
  LATCHKEY_ASSIGN_OR_RETURN(auto queue, device.NewQueue(burst.depth));
  LATCHKEY_CHECK(burst.memory.size() >= size_t{burst.depth} * burst.length);
  Rng rng(burst.length);
  for (size_t i = 0; i + 8 <= burst.memory.size(); i += 512) {
    *reinterpret_cast<uint64_t*>(burst.memory.data() + i) = rng.Next();
  }
  std::byte* unused = burst.memory.data();  // each request keeps the part that it gets first
  size_t started = 0;
  absl::Status status;
  IoWindow<uint32_t> window(burst.depth);
  window.Run(
      *queue,
      [&](IoRequest& request) {
        if (started == burst.offsets.size()) return false;
        if (request.buffer == nullptr)
          request.buffer = std::exchange(unused, unused + burst.length);
        request.op = burst.op;
        request.io_class = ProbeClassOf(burst.op);
        request.offset = burst.offsets[started++];
        request.length = burst.length;
        return true;
      },
      [&](const IoRequest& request, uint32_t) {
        if (!request.status.ok()) status = request.status;
      });
  return status;
}

// (6.3): 4 * T_pos * B in bytes, where T = T_pos + n/B for a page and for a long request. A device
// that writes pages faster than any disk can position gets the least size without that formula: on a
// busy machine delays of threads look like positioning, and a new file of large segments is large.
uint32_t PreferredSegmentBytes(double page_ns, double slot_ns, uint32_t page_size) {
  constexpr double kLeast = 131072.0, kMost = 4194304.0, kFastestPositioning = 250'000;
  const double positioning_ns = std::max(0.0, page_ns - slot_ns);
  if (positioning_ns < kFastestPositioning) return static_cast<uint32_t>(kLeast);
  const double preferred = std::max(1.0, 4 * positioning_ns * page_size / std::max(1.0, slot_ns));
  return static_cast<uint32_t>(std::clamp(NearestPowerOfTwo(preferred), kLeast, kMost));
}

/// The multiple of `unit` at or above `bytes`.
uint64_t WholeUnits(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Of `slots` pages: the first one's cost, and what each further one adds.
struct RunCosts {
  double page_ns, slot_ns;
  double Of(uint32_t slots) const { return page_ns + slot_ns * (slots - 1); }
};

// The measurements at creation, all on the same bytes behind the header area.
class CreationProbe {
 public:
  CreationProbe(Runtime& runtime, BlockDevice& device, uint32_t page_size, uint64_t start,
                uint32_t long_bytes, uint64_t seed)
      : runtime_(runtime),
        device_(device),
        page_size_(page_size),
        start_(start),
        long_bytes_(long_bytes),
        memory_(std::max({size_t{kBurstPages} * page_size, size_t{kLongDepth} * long_bytes,
                          size_t{DoublewriteCapacity(page_size)} * page_size})) {
    Rng rng(seed);
    for (uint32_t i = 0; i < kBurstPages; ++i) {
      pages_.push_back(start + rng.Below(long_bytes / page_size) * uint64_t{page_size});
    }
  }

  absl::StatusOr<RunCosts> Measure(Op op) {
    LATCHKEY_ASSIGN_OR_RETURN(const ProbeResult page, Repeat({.op = op,
                                                              .length = page_size_,
                                                              .offsets = pages_,
                                                              .memory = memory_.span(),
                                                              .depth = kBurstPages}));
    LATCHKEY_ASSIGN_OR_RETURN(const double run, Long(op, long_bytes_, /*then_sync=*/false));
    const double slot = (run - page.request_ns) / (long_bytes_ / page_size_ - 1);
    return RunCosts{page.request_ns, std::clamp(slot, 1.0, std::max(1.0, page.request_ns))};
  }
  // A doublewrite batch and its sync.
  absl::StatusOr<double> Batch(uint32_t bytes) {
    return Long(Op::kWrite, bytes, /*then_sync=*/true);
  }

 private:
  absl::StatusOr<double> Long(Op op, uint32_t bytes, bool then_sync) {
    const uint64_t place[kLongDepth] = {start_, start_};
    const std::span<const uint64_t> places(place, then_sync ? 1 : kLongDepth);
    LATCHKEY_ASSIGN_OR_RETURN(const ProbeResult result,
                              Repeat({.op = op,
                                      .length = bytes,
                                      .offsets = places,
                                      .memory = memory_.span(),
                                      .depth = static_cast<uint32_t>(places.size()),
                                      .then_sync = then_sync}));
    return result.request_ns;
  }
  absl::StatusOr<ProbeResult> Repeat(const ProbeBurst& burst) {
    return MeasureRounds(runtime_, device_, burst, kRoundsOfCreation);
  }

  Runtime& runtime_;
  BlockDevice& device_;
  static constexpr uint32_t kLongDepth = 2;
  const uint32_t page_size_;
  const uint64_t start_;
  const uint32_t long_bytes_;
  AlignedBuffer memory_;
  std::vector<uint64_t> pages_;
};

}  // namespace

absl::StatusOr<ProbeResult> MeasureBurst(Runtime& runtime, BlockDevice& device,
                                         const ProbeBurst& burst) {
  const DeviceStats before = device.stats();
  LATCHKEY_RETURN_IF_ERROR(RunBurst(device, burst));
  const DeviceStats after = device.stats();
  const IoClassStats& begin = before.of(ProbeClassOf(burst.op));
  const IoClassStats& end = after.of(ProbeClassOf(burst.op));
  ProbeResult result;
  result.exact = end.service > begin.service;
  // Flash may collect meanwhile what other writes have left: not at the cost of the probe.
  const Nanos collection = end.collection - begin.collection;
  const Nanos charged =
      result.exact ? end.service - begin.service - collection : end.busy - begin.busy;
  double time = static_cast<double>(charged) / static_cast<double>(burst.offsets.size());
  // Charged times are rounded to a nanosecond per class.
  result.alone = end.busy - begin.busy + 2 >= after.busy - before.busy;
  if (burst.then_sync) {
    const Nanos start = runtime.Now();
    LATCHKEY_RETURN_IF_ERROR(device.Sync());
    time += static_cast<double>(runtime.Now() - start);
  }
  result.request_ns = std::max(1.0, time);
  result.requests = static_cast<uint32_t>(burst.offsets.size());
  return result;
}

ProbeResult Together(std::span<ProbeResult> rounds, bool takes_median) {
  if (!rounds.front().exact) {
    const auto others = std::partition(rounds.begin(), rounds.end(),
                                       [](const ProbeResult& round) { return round.alone; });
    const auto alone = static_cast<size_t>(others - rounds.begin());
    const std::span<ProbeResult> counted = alone > 0 ? rounds.first(alone) : rounds;
    std::ranges::sort(counted, {}, &ProbeResult::request_ns);
    return counted[takes_median ? (counted.size() - 1) / 2 : 0];
  }
  ProbeResult mean = rounds.front();
  for (size_t i = 1; i < rounds.size(); ++i) {
    mean.request_ns += (rounds[i].request_ns - mean.request_ns) / static_cast<double>(i + 1);
    mean.requests += rounds[i].requests;
  }
  return mean;
}

absl::StatusOr<ProbeResult> MeasureRounds(Runtime& runtime, BlockDevice& device,
                                          const ProbeBurst& burst, const ProbeRounds& rounds) {
  const Nanos start = runtime.Now();
  std::vector<ProbeResult> results;
  const auto goes_on = [&] {
    const ProbeRounds& limits = results.front().exact ? kRoundsOfCreation : rounds;
    // A sync takes long on many devices, and less depends on its cost.
    const size_t most = burst.then_sync ? kSyncRounds : limits.most;
    const Nanos passed = runtime.Now() - start;
    const bool is_sure = results.size() >= kSureRounds || passed >= kSureNanos;
    return results.size() < most && (passed < limits.nanos || !is_sure);
  };
  do {
    LATCHKEY_ASSIGN_OR_RETURN(results.emplace_back(), MeasureBurst(runtime, device, burst));
  } while (goes_on());
  return Together(results, rounds.takes_median);
}

absl::StatusOr<DeviceProbe> ProbeDevice(Runtime& runtime, BlockDevice& device, uint32_t page_size,
                                        const ProbedSegment& segment, uint64_t seed) {
  const uint64_t stripe = device.geometry().full_stripe_bytes();
  // Whole stripes, if they are whole pages and no longer than the largest segment.
  const bool has_stripes = stripe > 0 && stripe <= kMaxSegmentSize && stripe % page_size == 0;
  const uint64_t unit = has_stripes ? stripe : 1;
  const auto long_bytes = static_cast<uint32_t>(WholeUnits(kLongBytes, unit));
  const uint64_t start = WholeUnits(kHeaderAreaBytes, unit);
  const uint64_t needed = start + long_bytes;
  if (device.geometry().size_bytes < needed) LATCHKEY_RETURN_IF_ERROR(device.Resize(needed));
  CreationProbe probe(runtime, device, page_size, start, long_bytes, seed);
  LATCHKEY_ASSIGN_OR_RETURN(const RunCosts write, probe.Measure(Op::kWrite));
  LATCHKEY_ASSIGN_OR_RETURN(const RunCosts read, probe.Measure(Op::kRead));
  const uint32_t batch = DoublewriteCapacity(page_size);
  LATCHKEY_ASSIGN_OR_RETURN(const double protection, probe.Batch(batch * page_size));
  uint32_t bytes = segment.segment_bytes;
  if (bytes == 0) {
    bytes = std::max(std::min(PreferredSegmentBytes(write.page_ns, write.slot_ns, page_size),
                              segment.most_segment_bytes),
                     segment.least_segment_bytes);
    // On flash the pages of a segment die together in their erase units, if it fills those.
    const uint64_t erased = std::bit_ceil(device.geometry().erase_unit_bytes);
    if (erased > bytes && erased <= segment.most_erased_bytes) {
      bytes = static_cast<uint32_t>(erased);
    }
    // A write of part of a stripe reads old data and parity on RAID-5, and loads the disks unequally.
    const uint64_t whole = WholeUnits(bytes, unit);
    if (whole <= segment.most_segment_bytes) bytes = static_cast<uint32_t>(whole);
  }
  const uint32_t slots = bytes / page_size;
  return DeviceProbe{.costs = {.page_write_ns = write.page_ns,
                               .segment_write_ns = write.Of(slots) / slots,
                               .segment_read_ns = read.page_ns,
                               .page_read_ns = read.page_ns,
                               .slot_read_ns = read.slot_ns,
                               .protection_ns = protection / batch,
                               .slots_per_segment = slots},
                     .segment_bytes = bytes,
                     .aligned = bytes % unit == 0 && kHeaderAreaBytes % unit != 0};
}

// Costs measured beside other I/O depend on these times, so a wrong ratio could confirm itself.
constexpr double kMostDifference = 8;

// A page takes `fixed` and its bytes, a segment `fixed` and those of all its pages.
RequestTimes RequestTimesOf(const PageCosts& costs, uint32_t page_size, uint32_t slots) {
  if (costs.page_write_ns <= 0 || costs.segment_write_ns <= 0) return {};
  const double slot = std::max(1.0, costs.segment_write_ns);
  const double page = std::clamp(costs.page_write_ns, slot, std::max(slot, .9 * slots * slot));
  const double further = slots > 1 ? (slots * slot - page) / (slots - 1) : page;
  RequestTimes times;
  times.write = {.fixed = page - further, .per_byte = further / page_size};
  times.read = times.write;
  if (costs.page_read_ns > 0 && costs.slot_read_ns > 0) {
    const double read =
        std::clamp(costs.page_read_ns, page / kMostDifference, page * kMostDifference);
    const double further_read = std::clamp(costs.slot_read_ns, .01 * read, read);
    times.read = {.fixed = read - further_read, .per_byte = further_read / page_size};
  }
  return times;
}

}  // namespace latchkey
