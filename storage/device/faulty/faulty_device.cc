#include "storage/device/faulty/faulty_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/device/request_check.h"
#include "storage/runtime/exempt_allocations.h"

namespace latchkey {

class FaultyDevice::Queue final : public IoQueue {
 public:
  Queue(FaultyDevice& device, uint32_t depth) : device_(device), depth_(depth) {}
  ~Queue() override { LATCHKEY_CHECK(flights_.empty()); }

  void Submit(std::span<IoRequest* const> requests) override {
    const ExemptAllocations simulation;
    LATCHKEY_CHECK(flights_.size() + requests.size() <= depth_);
    for (IoRequest* request : requests) Start(*request);
  }

  void Wait(size_t min_completions, std::vector<IoRequest*>& completed) override {
    const ExemptAllocations simulation;
    if (flights_.empty()) return;
    min_completions = std::min(min_completions, flights_.size());
    size_t count = 0;
    if (device_.recorder_.options_.max_latency == 0) {
      count = min_completions + device_.recorder_.Below(flights_.size() - min_completions + 1);
      Shuffle(count);
    } else {
      count = PassTime(min_completions);
    }
    for (size_t i = 0; i < count; ++i) completed.push_back(Finish(flights_[i]));
    flights_.erase(flights_.begin(), flights_.begin() + static_cast<ptrdiff_t>(count));
  }

  size_t in_flight() const override { return flights_.size(); }

 private:
  struct InFlight {
    IoRequest* request;
    CrashRecorder::Flight write;
    Nanos done_at = 0;
    bool refused = false;
  };

  void Start(IoRequest& request) {
    InFlight flight{.request = &request, .write = {}};
    request.status = device_.Check(request.offset, request.length, request.buffer);
    flight.refused = !request.status.ok();
    if (!flight.refused) {
      device_.accounting_.Start(IoBatch::One(request.io_class, request.length));
      if (request.op == IoRequest::Op::kWrite) {
        flight.write = device_.recorder_.StartWrite(device_.disk_, request.offset,
                                                    {request.buffer, request.length});
      }
      const Nanos latency = device_.recorder_.Latency();
      if (latency > 0) flight.done_at = device_.runtime_.Now() + latency;
    }
    flights_.push_back(std::move(flight));
  }

  // Moves a seeded choice of `count` flights to the front.
  void Shuffle(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      std::swap(flights_[i], flights_[i + device_.recorder_.Below(flights_.size() - i)]);
    }
  }

  // Sleeps until `min_completions` are due, and moves all due flights to the front.
  size_t PassTime(size_t min_completions) {
    std::stable_sort(flights_.begin(), flights_.end(),
                     [](const InFlight& a, const InFlight& b) { return a.done_at < b.done_at; });
    Nanos now = device_.runtime_.Now();
    while (min_completions > 0 && flights_[min_completions - 1].done_at > now) {
      device_.runtime_.SleepFor(flights_[min_completions - 1].done_at - now);
      now = device_.runtime_.Now();
    }
    size_t due = min_completions;
    while (due < flights_.size() && flights_[due].done_at <= now) ++due;
    return due;
  }

  IoRequest* Finish(InFlight& flight) {
    IoRequest& request = *flight.request;
    if (flight.refused) return &request;
    request.status =
        request.op == IoRequest::Op::kRead
            ? device_.recorder_.DoRead(device_.disk_, request.offset,
                                       {request.buffer, request.length})
            : device_.recorder_.FinishWrite(device_.disk_, flight.write, request.buffer);
    const bool ok = request.status.ok();
    IoBatch batch = IoBatch::One(request.io_class, request.length, ok ? request.length : 0);
    batch.errors = ok ? 0 : 1;
    device_.accounting_.Finish(batch);
    return &request;
  }

  FaultyDevice& device_;
  const uint32_t depth_;
  std::vector<InFlight> flights_;
};

FaultyDevice::FaultyDevice(Runtime& runtime, CrashRecorder& recorder, uint32_t disk,
                           std::string name)
    : runtime_(runtime),
      recorder_(recorder),
      disk_(disk),
      name_(std::move(name)),
      accounting_(runtime) {}

DeviceGeometry FaultyDevice::geometry() const {
  return {.size_bytes = recorder_.SizeOf(disk_),
          .logical_block = DiskImage::kSector,
          .atomic_write_unit = DiskImage::kSector};
}

absl::Status FaultyDevice::Check(uint64_t offset, uint64_t length, const void* buffer) {
  absl::Status status = CheckRequest(geometry(), name_, offset, length, buffer);
  if (status.ok()) return status;
  accounting_.CountRefused();
  if (absl::IsInvalidArgument(status)) recorder_.Report(std::string(status.message()));
  return status;
}

void FaultyDevice::Pass(Nanos latency) {
  if (latency > 0) runtime_.SleepFor(latency);
}

absl::Status FaultyDevice::Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) {
  const ExemptAllocations simulation;
  LATCHKEY_RETURN_IF_ERROR(Check(offset, out.size(), out.data()));
  accounting_.Start(IoBatch::One(io_class, out.size()));
  Pass(recorder_.Latency());
  const absl::Status status = recorder_.DoRead(disk_, offset, out);
  IoBatch batch = IoBatch::One(io_class, out.size(), status.ok() ? out.size() : 0);
  batch.errors = status.ok() ? 0 : 1;
  accounting_.Finish(batch);
  return status;
}

absl::Status FaultyDevice::Write(uint64_t offset, std::span<const std::byte> data,
                                 IoClass io_class) {
  const ExemptAllocations simulation;
  LATCHKEY_RETURN_IF_ERROR(Check(offset, data.size(), data.data()));
  accounting_.Start(IoBatch::One(io_class, data.size()));
  CrashRecorder::Flight flight = recorder_.StartWrite(disk_, offset, data);
  Pass(recorder_.Latency());
  const absl::Status status = recorder_.FinishWrite(disk_, flight, data.data());
  IoBatch batch = IoBatch::One(io_class, data.size(), status.ok() ? data.size() : 0);
  batch.errors = status.ok() ? 0 : 1;
  accounting_.Finish(batch);
  return status;
}

absl::StatusOr<std::unique_ptr<IoQueue>> FaultyDevice::NewQueue(uint32_t depth) {
  LATCHKEY_RETURN_IF_ERROR(CheckQueueDepth(depth));
  return std::make_unique<Queue>(*this, depth);
}

absl::Status FaultyDevice::Sync() {
  const ExemptAllocations simulation;
  const Nanos start = runtime_.Now();
  const auto covered = recorder_.StartSync(disk_);
  absl::Status status = covered.status();
  if (status.ok()) {
    Pass(recorder_.options_.sync_latency);
    status = recorder_.FinishSync(disk_, *covered);
  }
  accounting_.CountSync(runtime_.Now() - start, status.ok());
  return status;
}

absl::Status FaultyDevice::Resize(uint64_t size_bytes) {
  const ExemptAllocations simulation;
  LATCHKEY_RETURN_IF_ERROR(CheckNewSize(geometry(), name_, size_bytes));
  return recorder_.DoResize(disk_, size_bytes);
}

std::string FaultyDevice::Describe() const { return fmt::format("faulty({})", name_); }

}  // namespace latchkey
