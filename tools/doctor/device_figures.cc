#include "tools/doctor/device_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/io_window.h"

namespace latchkey {
namespace {

using Op = IoRequest::Op;

constexpr uint64_t kSeed = 42;
constexpr uint64_t kGrowthStep = uint64_t{8} << 20;
// Shares of the time. The probe takes what is left.
constexpr double kFillShare = 0.2, kReadShare = 0.3, kWriteShare = 0.25, kSegmentShare = 0.12,
                 kSyncShare = 0.08;
constexpr uint64_t kMostSyncs = 20'000;

double Percentile(std::vector<Nanos>& times, double share) {
  if (times.empty()) return 0;
  const auto at = times.begin() + static_cast<ptrdiff_t>(share * (times.size() - 1));
  std::nth_element(times.begin(), at, times.end());
  return static_cast<double>(*at) / kNanosPerMicro;
}

Timing Summarize(uint32_t depth, uint32_t bytes, Nanos took, std::vector<Nanos> times) {
  Timing timing{.depth = depth, .bytes = bytes, .requests = times.size()};
  timing.per_second =
      static_cast<double>(times.size()) * kNanosPerSecond / std::max<double>(1, took);
  timing.p50_us = Percentile(times, 0.5);
  timing.p99_us = Percentile(times, 0.99);
  return timing;
}

class Examination {
 public:
  Examination(Runtime& runtime, BlockDevice& device, const ExaminationPlan& plan)
      : runtime_(runtime), device_(device), plan_(plan), memory_(kMemory) {
    // Content that does not compress: some devices would write less.
    for (size_t i = 0; i + 8 <= memory_.size(); i += 8) {
      *reinterpret_cast<uint64_t*>(memory_.data() + i) = rng_.Next();
    }
  }

  absl::StatusOr<DeviceFigures> Run() {
    DeviceFigures figures;
    LATCHKEY_RETURN_IF_ERROR(Fill(&figures));
    for (const uint32_t depth : kDepths) {
      LATCHKEY_ASSIGN_OR_RETURN(Timing timing, Pages(Op::kRead, depth, kReadShare));
      figures.page_reads.push_back(timing);
    }
    for (const uint32_t depth : kDepths) {
      LATCHKEY_ASSIGN_OR_RETURN(Timing timing, Pages(Op::kWrite, depth, kWriteShare));
      figures.page_writes.push_back(timing);
    }
    for (const uint32_t bytes : kSegments) {
      LATCHKEY_ASSIGN_OR_RETURN(Timing timing, Segments(bytes));
      figures.segment_writes.push_back(timing);
    }
    LATCHKEY_ASSIGN_OR_RETURN(figures.sync_after_write, Syncs(/*write=*/true));
    LATCHKEY_ASSIGN_OR_RETURN(figures.empty_sync, Syncs(/*write=*/false));
    Tell("probes as a new database does");
    LATCHKEY_ASSIGN_OR_RETURN(figures.probe,
                              ProbeDevice(runtime_, device_, kExaminedPage, {}, kSeed));
    LATCHKEY_RETURN_IF_ERROR(CheckStop());
    return figures;
  }

 private:
  static constexpr uint32_t kSegmentDepth = 2;
  static constexpr size_t kMemory = size_t{kSegmentDepth} * (4 << 20);

  void Tell(std::string_view what) {
    if (plan_.progress) plan_.progress(what);
  }
  bool IsStopped() const {
    return plan_.stop != nullptr && plan_.stop->load(std::memory_order_relaxed);
  }
  absl::Status CheckStop() const {
    return IsStopped() ? absl::CancelledError("interrupted: nothing is left behind")
                       : absl::OkStatus();
  }
  Nanos Slice(double share, size_t parts) const {
    return static_cast<Nanos>(static_cast<double>(plan_.time) * share / parts);
  }

  absl::Status Fill(DeviceFigures* figures) {
    const Nanos began = runtime_.Now();
    const Nanos until = began + Slice(kFillShare, 1);
    uint64_t size = 0;
    while (size < plan_.bytes && (size < kLeastExamined || runtime_.Now() < until)) {
      LATCHKEY_RETURN_IF_ERROR(CheckStop());
      size = std::min(size + kGrowthStep, plan_.bytes / kExaminedPage * kExaminedPage);
      Tell(fmt::format("fills a file: {} MiB", size >> 20));
      LATCHKEY_RETURN_IF_ERROR(device_.Resize(size));
    }
    figures->file_bytes = size_ = size;
    const double seconds = static_cast<double>(runtime_.Now() - began) / kNanosPerSecond;
    figures->fill_mb_per_second = static_cast<double>(size) / 1e6 / std::max(1e-9, seconds);
    return absl::OkStatus();
  }

  absl::StatusOr<Timing> Pages(Op op, uint32_t depth, double share) {
    const char* const verb = op == Op::kRead ? "reads" : "writes";
    Tell(fmt::format("{} pages, {} in flight", verb, depth));
    const uint64_t pages = size_ / kExaminedPage;
    return Requests(op, depth, kExaminedPage, Slice(share, std::size(kDepths)),
                    [&] { return rng_.Below(pages) * kExaminedPage; });
  }

  absl::StatusOr<Timing> Segments(uint32_t bytes) {
    Tell(fmt::format("writes segments of {} KiB", bytes >> 10));
    const uint64_t segments = size_ / bytes;
    uint64_t next = 0;
    return Requests(Op::kWrite, kSegmentDepth, bytes, Slice(kSegmentShare, std::size(kSegments)),
                    [&] { return next++ % segments * bytes; });
  }

  /// Requests at the places that `place` tells, for `slice`; at least one.
  template <typename Place>
  absl::StatusOr<Timing> Requests(Op op, uint32_t depth, uint32_t bytes, Nanos slice, Place place) {
    LATCHKEY_RETURN_IF_ERROR(CheckStop());
    LATCHKEY_ASSIGN_OR_RETURN(const auto queue, device_.NewQueue(depth));
    std::vector<Nanos> times;
    times.reserve(1 << 16);
    std::byte* unused = memory_.data();  // each request keeps the part that it gets first
    absl::Status status;
    uint64_t started = 0;
    const Nanos began = runtime_.Now();
    IoWindow<Nanos> window(depth);
    window.Run(
        *queue,
        [&](TaggedRequest<Nanos>& request) {
          const Nanos now = runtime_.Now();
          if (started > 0 && (now - began >= slice || IsStopped() || !status.ok())) return false;
          if (request.buffer == nullptr) request.buffer = std::exchange(unused, unused + bytes);
          request.op = op;
          request.io_class = ProbeClassOf(op);
          request.offset = place();
          request.length = bytes;
          request.tag = now;
          ++started;
          return true;
        },
        [&](const IoRequest& request, Nanos begun) {
          if (!request.status.ok()) status = request.status;
          times.push_back(runtime_.Now() - begun);
        });
    LATCHKEY_RETURN_IF_ERROR(status);
    LATCHKEY_RETURN_IF_ERROR(CheckStop());
    return Summarize(depth, bytes, runtime_.Now() - began, std::move(times));
  }

  // One page after the other is written, as a log writes its groups.
  absl::StatusOr<Timing> Syncs(bool write) {
    Tell(write ? "writes and syncs" : "syncs");
    const Nanos began = runtime_.Now();
    const Nanos slice = Slice(kSyncShare, 2);
    std::vector<Nanos> times;
    Nanos took = 0;
    for (uint64_t i = 0; i == 0 || (runtime_.Now() - began < slice && i < kMostSyncs); ++i) {
      LATCHKEY_RETURN_IF_ERROR(CheckStop());
      if (write) {
        const uint64_t place = i % (size_ / kExaminedPage) * kExaminedPage;
        LATCHKEY_RETURN_IF_ERROR(
            device_.Write(place, memory_.span().first(kExaminedPage), IoClass::kProbeWrite));
      }
      const Nanos before = runtime_.Now();
      LATCHKEY_RETURN_IF_ERROR(device_.Sync());
      times.push_back(runtime_.Now() - before);
      took += times.back();
    }
    return Summarize(1, write ? kExaminedPage : 0, took, std::move(times));
  }

  Runtime& runtime_;
  BlockDevice& device_;
  const ExaminationPlan& plan_;
  Rng rng_{kSeed};
  AlignedBuffer memory_;
  uint64_t size_ = 0;
};

}  // namespace

absl::StatusOr<DeviceFigures> MeasureDevice(Runtime& runtime, BlockDevice& device,
                                            const ExaminationPlan& plan) {
  if (plan.bytes < kLeastExamined) {
    return InvalidArgument("a file of {} bytes: an examination needs {} or more", plan.bytes,
                           kLeastExamined);
  }
  return Examination(runtime, device, plan).Run();
}

}  // namespace latchkey
