#include "storage/device/simulated/simulated_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/device/request_check.h"

namespace latchkey {
namespace {

DeviceGeometry ShapeOf(const SimulatedMedium& medium) {
  DeviceGeometry geometry;
  medium.DescribeGeometry(geometry);
  return geometry;
}

}  // namespace

class SimulatedDisk::Queue final : public IoQueue, public CompletionSource {
 public:
  Queue(SimulatedDisk& disk, uint32_t depth) : disk_(disk), depth_(depth) {
    flights_.reserve(depth);
  }
  ~Queue() override { LATCHKEY_CHECK(flights_.empty()); }

  void Submit(std::span<IoRequest* const> requests) override {
    LATCHKEY_CHECK(flights_.size() + requests.size() <= depth_);
    for (IoRequest* request : requests) Start(*request);
  }

  void Wait(size_t min_completions, std::vector<IoRequest*>& completed) override {
    if (flights_.empty()) return;
    min_completions = std::min(min_completions, flights_.size());
    const size_t due = PassTime(min_completions);
    std::vector<Flight> done;
    {
      SpinLatchGuard guard(latch_, disk_.runtime_);
      const auto end = flights_.begin() + static_cast<ptrdiff_t>(due);
      done.assign(std::move_iterator(flights_.begin()), std::move_iterator(end));
      flights_.erase(flights_.begin(), end);
    }
    for (Flight& flight : done) {
      Finish(flight);
      completed.push_back(flight.request);
    }
  }

  size_t in_flight() const override { return flights_.size(); }

  void TakeCompleted(IoBatch& completed) override {
    if (!disk_.decides_at_once_) disk_.Advance();
    SpinLatchGuard guard(latch_, disk_.runtime_);
    if (flights_.empty()) return;
    const Nanos now = disk_.runtime_.Now();
    for (Flight& flight : flights_) {
      if (flight.refused || flight.taken) continue;
      if (DoneAt(flight) > now) continue;
      flight.taken = true;
      completed.Add(flight.request->io_class, flight.request->length);
    }
  }

 private:
  struct Flight {
    IoRequest* request;
    std::unique_ptr<MediumRequest> progress;  // null: refused, or done_at is known
    Nanos done_at = 0;                        // kForever: not known yet
    bool refused = false;
    bool taken = false;  // the accounting has seen it completed
  };

  void Start(IoRequest& request) {
    request.status = disk_.Check(request.offset, request.length, request.buffer);
    Flight flight{.request = &request, .progress = nullptr, .refused = !request.status.ok()};
    if (!flight.refused) {
      PrepareFor(flight);
      disk_.accounting_.Start(IoBatch::One(request.io_class, request.length), this);
      StartOnMedium(flight);
      if (request.op == IoRequest::Op::kWrite) {
        request.status = disk_.content_->Write(request.offset, {request.buffer, request.length},
                                               request.io_class);
      }
    }
    SpinLatchGuard guard(latch_, disk_.runtime_);
    Insert(std::move(flight));
  }

  static MediumIo IoOf(const IoRequest& request) {
    return {.op = request.op,
            .io_class = request.io_class,
            .stream = request.stream,
            .offset = request.offset,
            .length = request.length};
  }

  // Takes memory, so it comes before the accounting counts the request as in flight.
  void PrepareFor(Flight& flight) {
    if (disk_.decides_at_once_) return;
    flight.progress = std::make_unique<MediumRequest>(IoOf(*flight.request));
    flight.done_at = kForever;
  }

  void StartOnMedium(Flight& flight) {
    if (flight.progress != nullptr) return disk_.Start(*flight.progress);
    MediumRequest progress(IoOf(*flight.request));
    disk_.Start(progress);
    flight.done_at = progress.done_at;
  }

  // In the order of completion; equal times in the order of insertion.
  void Insert(Flight flight) LATCHKEY_REQUIRES(latch_) {
    const auto behind = std::upper_bound(
        flights_.begin(), flights_.end(), flight.done_at,
        [](Nanos done_at, const Flight& other) { return done_at < other.done_at; });
    flights_.insert(behind, std::move(flight));
  }

  Nanos DoneAt(const Flight& flight) const {
    if (flight.done_at != kForever) return flight.done_at;
    SpinLatchGuard guard(disk_.medium_latch_, disk_.runtime_);
    return flight.progress->done_at;
  }

  // Moves the flights whose ends have become known to their places in the order. Returns the
  // earliest time at which more may be known; kForever if all is known.
  Nanos Sort() {
    if (disk_.decides_at_once_) return kForever;
    disk_.Advance();
    Nanos news = kForever;
    bool changed = false;
    SpinLatchGuard guard(latch_, disk_.runtime_);
    for (size_t i = flights_.size(); i > 0 && flights_[i - 1].done_at == kForever; --i) {
      SpinLatchGuard medium_guard(disk_.medium_latch_, disk_.runtime_);
      Flight& flight = flights_[i - 1];
      flight.done_at = flight.progress->done_at;
      changed = changed || flight.done_at != kForever;
      if (flight.done_at == kForever) {
        news = std::min(news, disk_.medium_->NextNews(*flight.progress));
      }
    }
    if (changed) {
      std::stable_sort(flights_.begin(), flights_.end(),
                       [](const Flight& a, const Flight& b) { return a.done_at < b.done_at; });
    }
    return news;
  }

  // Sleeps until `min_completions` are due; returns how many are.
  size_t PassTime(size_t min_completions) {
    Nanos now = disk_.runtime_.Now();
    Nanos news = Sort();
    while (min_completions > 0 && flights_[min_completions - 1].done_at > now) {
      disk_.SleepUntil(std::min(flights_[min_completions - 1].done_at, news));
      now = disk_.runtime_.Now();
      news = Sort();
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
      disk_.accounting_.Finish(batch, this);
    }
  }

  SimulatedDisk& disk_;
  const uint32_t depth_;
  SpinLatch latch_;  // the accounting reads flights_ too; only the owner changes their number
  std::vector<Flight> flights_;
};

SimulatedDisk::SimulatedDisk(Runtime& runtime, std::unique_ptr<BlockDevice> content,
                             std::unique_ptr<SimulatedMedium> medium)
    : runtime_(runtime),
      content_(std::move(content)),
      name_(fmt::format("simulated({})", medium->Describe())),
      decides_at_once_(medium->decides_at_once()),
      shape_(ShapeOf(*medium)),
      capacity_bytes_(medium->capacity_bytes()),
      resize_mutex_(runtime),
      medium_(std::move(medium)),
      accounting_(runtime) {
  ResizeMedium(content_->geometry().size_bytes);
}

DeviceGeometry SimulatedDisk::geometry() const {
  const DeviceGeometry content = content_->geometry();
  DeviceGeometry geometry = shape_;
  geometry.size_bytes = content.size_bytes;
  geometry.logical_block = content.logical_block;
  geometry.atomic_write_unit = content.atomic_write_unit;
  return geometry;
}

absl::Status SimulatedDisk::Check(uint64_t offset, uint64_t length, const void* buffer) {
  absl::Status status = CheckRequest(content_->geometry(), name_, offset, length, buffer);
  if (!status.ok()) accounting_.CountRefused();
  return status;
}

void SimulatedDisk::Start(MediumRequest& request) {
  const Nanos now = runtime_.Now();
  SpinLatchGuard guard(medium_latch_, runtime_);
  medium_->Start(now, request);
}

void SimulatedDisk::Advance() const {
  const Nanos now = runtime_.Now();
  SpinLatchGuard guard(medium_latch_, runtime_);
  medium_->AdvanceTo(now);
}

void SimulatedDisk::Await(const MediumRequest& request) {
  if (decides_at_once_) {
    SleepUntil(request.done_at);
    return;
  }
  for (bool known = false; !known;) {
    Nanos when;
    {
      SpinLatchGuard guard(medium_latch_, runtime_);
      known = request.done_at != kForever;
      when = medium_->NextNews(request);
    }
    SleepUntil(when);
    if (!known) Advance();
  }
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
  MediumRequest request(
      {.op = IoRequest::Op::kRead, .io_class = io_class, .offset = offset, .length = out.size()});
  Start(request);
  Await(request);
  absl::Status status = content_->Read(offset, out, io_class);
  Account(io_class, out.size(), status.ok());
  return status;
}

absl::Status SimulatedDisk::Write(uint64_t offset, std::span<const std::byte> data,
                                  IoClass io_class) {
  LATCHKEY_RETURN_IF_ERROR(Check(offset, data.size(), data.data()));
  accounting_.Start(IoBatch::One(io_class, data.size()));
  MediumRequest request(
      {.op = IoRequest::Op::kWrite, .io_class = io_class, .offset = offset, .length = data.size()});
  Start(request);
  Await(request);
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

// The medium is never smaller than the content, so it knows every page that a request may name.
absl::Status SimulatedDisk::Resize(uint64_t size_bytes) {
  if (size_bytes > capacity_bytes_) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{}: {} bytes exceed its capacity of {} bytes; take more disks, or keep less "
                      "on it",
                      name_, size_bytes, capacity_bytes_);
  }
  MutexLock lock(resize_mutex_);
  const uint64_t old_size = content_->geometry().size_bytes;
  ResizeMedium(std::max(old_size, size_bytes));
  const absl::Status status = content_->Resize(size_bytes);
  ResizeMedium(status.ok() ? size_bytes : old_size);
  return status;
}

void SimulatedDisk::ResizeMedium(uint64_t size_bytes) {
  SpinLatchGuard guard(medium_latch_, runtime_);
  medium_->Resize(size_bytes);
}

absl::Status SimulatedDisk::Discard(uint64_t offset, uint64_t length) {
  LATCHKEY_RETURN_IF_ERROR(Check(offset, length, nullptr));
  SpinLatchGuard guard(medium_latch_, runtime_);
  medium_->Discard(offset, length);
  return absl::OkStatus();
}

DeviceStats SimulatedDisk::stats() const {
  DeviceStats stats = accounting_.Snapshot();
  if (!decides_at_once_) Advance();
  SpinLatchGuard guard(medium_latch_, runtime_);
  const MediumTotals totals = medium_->totals();
  stats.medium = totals.stats;
  for (size_t c = 0; c < kIoClasses; ++c) {
    stats.by_class[c].service = totals.service[c];
    if (!decides_at_once_) stats.by_class[c].serviced_bytes = stats.by_class[c].bytes;
    stats.by_class[c].collection = totals.collection[c];
  }
  return stats;
}

std::string SimulatedDisk::Describe() const { return name_; }

}  // namespace latchkey
