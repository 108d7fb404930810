#include "tools/layout_lab/loaded_costs.h"

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/io_window.h"
#include "storage/runtime/simulated_runtime.h"
#include "tpcc-lite/kv/virtual_time.h"

namespace latchkey {
namespace {

constexpr uint64_t kPageWrites = 8000;
constexpr uint64_t kSegmentWrites = 400;
constexpr uint32_t kMaxDepth = 1024;

// Random requests at places that are multiples of their length.
class LoadedDevice {
 public:
  LoadedDevice(Runtime& runtime, const LoadedCostsQuestion& question)
      : runtime_(runtime), question_(question), rng_(question.seed) {}

  absl::Status Open() {
    LATCHKEY_ASSIGN_OR_RETURN(device_, OpenDeviceOf(runtime_, question_.device, "costs"));
    LATCHKEY_RETURN_IF_ERROR(device_->Resize(Span()));
    if (question_.device.kind != DeviceSpec::Kind::kFlash) return absl::OkStatus();
    return FillFlash();
  }

  // Writes `pages` pages, with reads in between.
  absl::Status RunPages(uint64_t pages) {
    const double write_share = 1 / (1 + question_.reads_per_write);
    return Run(pages, IoClass::kPageWrite, [&] {
      const bool write = write_share >= 1 || rng_.Unit() < write_share;
      return write ? IoClass::kPageWrite : IoClass::kPageRead;
    });
  }
  // One segment write in flight at any time; the other users read pages.
  absl::Status RunSegments(uint64_t segments) {
    return Run(segments, IoClass::kSegmentWrite, [&] {
      return counted_in_flight_ == 0 ? IoClass::kSegmentWrite : IoClass::kPageRead;
    });
  }

  double ServicePerPage(IoClass io_class) const {
    const IoClassStats before = before_.of(io_class), now = device_->stats().of(io_class);
    const uint64_t pages = (now.bytes - before.bytes) / question_.page_bytes;
    return static_cast<double>(now.service - before.service) / static_cast<double>(pages);
  }

 private:
  uint64_t Span() const {
    return std::max(question_.span_bytes, question_.segment_bytes) / question_.segment_bytes *
           question_.segment_bytes;
  }

  // So that garbage collection runs as after a long time.
  absl::Status FillFlash() {
    for (uint64_t offset = 0; offset < Span(); offset += question_.segment_bytes) {
      AlignedBuffer segment(question_.segment_bytes);
      LATCHKEY_RETURN_IF_ERROR(device_->Write(offset, segment.span(), IoClass::kMeta));
    }
    LATCHKEY_RETURN_IF_ERROR(RunPages(2 * Span() / question_.page_bytes));
    before_ = device_->stats();
    return absl::OkStatus();
  }

  // Until `wanted` requests of class `counted` are done. `next` chooses the class of a request.
  absl::Status Run(uint64_t wanted, IoClass counted, absl::FunctionRef<IoClass()> next) {
    const uint32_t depth = std::min(question_.users, kMaxDepth);
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<IoQueue> queue, device_->NewQueue(depth));
    AlignedBuffer memory(question_.segment_bytes);  // of all requests: content does not matter
    uint64_t done = 0;
    absl::Status status;
    IoWindow<uint32_t> window(depth);
    window.Run(
        *queue,
        [&](IoRequest& request) {
          if (done >= wanted || !status.ok()) return false;
          request.io_class = next();
          const bool segment = request.io_class == IoClass::kSegmentWrite;
          const uint64_t length = segment ? question_.segment_bytes : question_.page_bytes;
          const bool read = request.io_class == IoClass::kPageRead;
          request.op = read ? IoRequest::Op::kRead : IoRequest::Op::kWrite;
          const double share = segment ? 1 : question_.page_share;
          const auto places = static_cast<uint64_t>(share * static_cast<double>(Span() / length));
          request.offset = rng_.Below(std::max<uint64_t>(places, 1)) * length;
          request.length = static_cast<uint32_t>(length);
          request.buffer = memory.data();
          counted_in_flight_ += request.io_class == counted;
          return true;
        },
        [&](const IoRequest& request, uint32_t) {
          if (!request.status.ok()) status = request.status;
          done += request.io_class == counted;
          counted_in_flight_ -= request.io_class == counted;
        });
    return status;
  }

  Runtime& runtime_;
  const LoadedCostsQuestion& question_;
  Rng rng_;
  std::unique_ptr<BlockDevice> device_;
  DeviceStats before_;  // when the measurement began
  uint64_t counted_in_flight_ = 0;
};

// One phase, in a runtime of its own.
absl::StatusOr<double> CostOf(const LoadedCostsQuestion& question, IoClass io_class,
                              absl::FunctionRef<absl::Status(LoadedDevice&)> run) {
  SimulatedRuntime runtime(VirtualTimeOptions(question.seed));
  absl::StatusOr<double> cost;
  const auto phase = [&]() -> absl::StatusOr<double> {
    LoadedDevice device(runtime, question);
    LATCHKEY_RETURN_IF_ERROR(device.Open());
    LATCHKEY_RETURN_IF_ERROR(run(device));
    return device.ServicePerPage(io_class);
  };
  LATCHKEY_RETURN_IF_ERROR(runtime.Run([&] { cost = phase(); }));
  return cost;
}

}  // namespace

absl::StatusOr<LoadedCosts> MeasureLoadedCosts(const LoadedCostsQuestion& question) {
  LATCHKEY_CHECK(question.device.is_simulated());
  LoadedCosts costs;
  LATCHKEY_ASSIGN_OR_RETURN(costs.page_write_ns,
                            CostOf(question, IoClass::kPageWrite, [](LoadedDevice& device) {
                              return device.RunPages(kPageWrites);
                            }));
  LATCHKEY_ASSIGN_OR_RETURN(costs.segment_write_ns,
                            CostOf(question, IoClass::kSegmentWrite, [](LoadedDevice& device) {
                              return device.RunSegments(kSegmentWrites);
                            }));
  return costs;
}

}  // namespace latchkey
