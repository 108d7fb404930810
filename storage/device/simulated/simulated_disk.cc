#include "storage/device/simulated/simulated_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/device/request_check.h"

namespace latchkey {

class SimulatedDisk::Queue final : public IoQueue, public CompletionSource {
 public:
  Queue(SimulatedDisk& disk, uint32_t depth) : disk_(disk), depth_(depth) {
    disk_.accounting_.AddSource(*this);
  }
  ~Queue() override {
    LATCHKEY_CHECK(flights_.empty());
    disk_.accounting_.RemoveSource(*this);
  }

  void Submit(std::span<IoRequest* const> requests) override {
    LATCHKEY_CHECK(flights_.size() + requests.size() <= depth_);
    for (IoRequest* request : requests) Start(*request);
  }

  void Wait(size_t min_completions, std::vector<IoRequest*>& completed) override {
    if (flights_.empty()) return;
    min_completions = std::min(min_completions, flights_.size());
    Nanos now = disk_.runtime_.Now();
    const size_t due = PassTime(min_completions, now);
    std::vector<Flight> done;
    {
      SpinLatchGuard guard(latch_, disk_.runtime_);
      done.assign(flights_.begin(), flights_.begin() + static_cast<ptrdiff_t>(due));
      flights_.erase(flights_.begin(), flights_.begin() + static_cast<ptrdiff_t>(due));
    }
    for (Flight& flight : done) {
      Finish(flight);
      completed.push_back(flight.request);
    }
  }

  size_t in_flight() const override { return flights_.size(); }

  void TakeCompleted(IoBatch& completed) override {
    SpinLatchGuard guard(latch_, disk_.runtime_);
    if (flights_.empty()) return;
    const Nanos now = disk_.runtime_.Now();
    for (Flight& flight : flights_) {
      if (flight.refused || flight.taken || flight.done_at > now) continue;
      flight.taken = true;
      completed.Add(flight.request->io_class, flight.request->length);
    }
  }

 private:
  struct Flight {
    IoRequest* request;
    Nanos done_at = 0;
    bool refused = false;
    bool taken = false;  // the accounting has seen it completed
  };

  void Start(IoRequest& request) {
    request.status = disk_.Check(request.offset, request.length, request.buffer);
    Flight flight{.request = &request, .refused = !request.status.ok()};
    if (!flight.refused) {
      disk_.accounting_.Start(IoBatch::One(request.io_class, request.length));
      flight.done_at = disk_.Enqueue(request.offset, request.length);
      if (request.op == IoRequest::Op::kWrite) {
        request.status = disk_.content_->Write(request.offset, {request.buffer, request.length},
                                               request.io_class);
      }
    }
    SpinLatchGuard guard(latch_, disk_.runtime_);
    // In the order of completion; equal times in the order of submission.
    const auto behind = std::upper_bound(
        flights_.begin(), flights_.end(), flight.done_at,
        [](Nanos done_at, const Flight& other) { return done_at < other.done_at; });
    flights_.insert(behind, flight);
  }

  // Sleeps until `min_completions` are due; returns how many are.
  size_t PassTime(size_t min_completions, Nanos now) {
    if (min_completions > 0 && flights_[min_completions - 1].done_at > now) {
      disk_.SleepUntil(flights_[min_completions - 1].done_at);
      now = disk_.runtime_.Now();
    }
    size_t due = min_completions;
    while (due < flights_.size() && flights_[due].done_at <= now) ++due;
    return due;
  }

  void Finish(Flight& flight) {
    IoRequest& request = *flight.request;
    if (flight.refused) return;
    if (request.op == IoRequest::Op::kRead) {
      request.status =
          disk_.content_->Read(request.offset, {request.buffer, request.length}, request.io_class);
    }
    const bool ok = request.status.ok();
    IoBatch batch = IoBatch::One(request.io_class, request.length, ok ? request.length : 0);
    batch.errors = ok ? 0 : 1;
    if (flight.taken) {
      disk_.accounting_.FinishTaken(batch);
    } else {
      disk_.accounting_.Finish(batch);
    }
  }

  SimulatedDisk& disk_;
  const uint32_t depth_;
  SpinLatch latch_;  // the accounting reads flights_ too; only the owner changes their number
  std::vector<Flight> flights_;
};

SimulatedDisk::SimulatedDisk(Runtime& runtime, std::unique_ptr<BlockDevice> content,
                             std::unique_ptr<DiskModel> model)
    : runtime_(runtime),
      content_(std::move(content)),
      name_(fmt::format("simulated({})", model->Describe())),
      model_(std::move(model)),
      accounting_(runtime) {}

absl::Status SimulatedDisk::Check(uint64_t offset, uint64_t length, const void* buffer) {
  absl::Status status = CheckRequest(geometry(), name_, offset, length, buffer);
  if (!status.ok()) accounting_.CountRefused();
  return status;
}

Nanos SimulatedDisk::Enqueue(uint64_t offset, uint64_t length) {
  const Nanos now = runtime_.Now();
  SpinLatchGuard guard(model_latch_, runtime_);
  return model_->Enqueue(now, offset, length);
}

void SimulatedDisk::SleepUntil(Nanos when) {
  for (Nanos now = runtime_.Now(); now < when; now = runtime_.Now()) runtime_.SleepFor(when - now);
}

void SimulatedDisk::Account(IoClass io_class, uint64_t length, bool ok) {
  IoBatch batch = IoBatch::One(io_class, length, ok ? length : 0);
  batch.errors = ok ? 0 : 1;
  accounting_.Finish(batch);
}

absl::Status SimulatedDisk::Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) {
  LATCHKEY_RETURN_IF_ERROR(Check(offset, out.size(), out.data()));
  accounting_.Start(IoBatch::One(io_class, out.size()));
  SleepUntil(Enqueue(offset, out.size()));
  absl::Status status = content_->Read(offset, out, io_class);
  Account(io_class, out.size(), status.ok());
  return status;
}

absl::Status SimulatedDisk::Write(uint64_t offset, std::span<const std::byte> data,
                                  IoClass io_class) {
  LATCHKEY_RETURN_IF_ERROR(Check(offset, data.size(), data.data()));
  accounting_.Start(IoBatch::One(io_class, data.size()));
  SleepUntil(Enqueue(offset, data.size()));
  absl::Status status = content_->Write(offset, data, io_class);
  Account(io_class, data.size(), status.ok());
  return status;
}

absl::StatusOr<std::unique_ptr<IoQueue>> SimulatedDisk::NewQueue(uint32_t depth) {
  LATCHKEY_RETURN_IF_ERROR(CheckQueueDepth(depth));
  return std::make_unique<Queue>(*this, depth);
}

absl::Status SimulatedDisk::Sync() {
  absl::Status status = content_->Sync();
  accounting_.CountSync(0, status.ok());
  return status;
}

std::string SimulatedDisk::Describe() const { return name_; }

}  // namespace latchkey
