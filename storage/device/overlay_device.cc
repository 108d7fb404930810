#include "storage/device/overlay_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/racy_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/request_check.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 50;

}  // namespace

class OverlayDevice::Queue final : public IoQueue {
 public:
  Queue(OverlayDevice& device, std::unique_ptr<IoQueue> base, uint32_t depth)
      : device_(device), base_(std::move(base)), depth_(depth) {
    finished_.reserve(depth);
    to_base_.reserve(depth);
    from_base_.reserve(depth);
  }
  ~Queue() override { LATCHKEY_CHECK(in_flight() == 0); }

  void Submit(std::span<IoRequest* const> requests) override {
    LATCHKEY_CHECK(in_flight() + requests.size() <= depth_);
    to_base_.clear();
    for (IoRequest* const request : requests) {
      if (GoesToBase(*request)) {
        device_.accounting_.Start(IoBatch::One(request->io_class, request->length));
        to_base_.push_back(request);
      } else {
        RunHere(*request);
        finished_.push_back(request);
      }
    }
    if (!to_base_.empty()) base_->Submit(to_base_);
  }

  void Wait(size_t min_completions, std::vector<IoRequest*>& completed) override {
    const size_t here = finished_.size();
    completed.insert(completed.end(), finished_.begin(), finished_.end());
    finished_.clear();
    from_base_.clear();
    base_->Wait(min_completions > here ? min_completions - here : 0, from_base_);
    for (IoRequest* const request : from_base_) {
      IoBatch done = IoBatch::One(request->io_class, request->length,
                                  request->status.ok() ? request->length : 0);
      done.errors = request->status.ok() ? 0 : 1;
      device_.accounting_.Finish(done);
      completed.push_back(request);
    }
  }

  size_t in_flight() const override { return finished_.size() + base_->in_flight(); }

 private:
  bool GoesToBase(const IoRequest& request) {
    return request.op == IoRequest::Op::kRead &&
           CheckRequest(device_.geometry(), "overlay", request.offset, request.length,
                        request.buffer)
               .ok() &&
           device_.IsOfBase(request.offset, request.length);
  }
  void RunHere(IoRequest& request) {
    const std::span<std::byte> bytes(request.buffer, request.length);
    request.status = request.op == IoRequest::Op::kRead
                         ? device_.Read(request.offset, bytes, request.io_class)
                         : device_.Write(request.offset, bytes, request.io_class);
  }

  OverlayDevice& device_;
  const std::unique_ptr<IoQueue> base_;
  const uint32_t depth_;
  std::vector<IoRequest*> finished_;             // here, and not waited for
  std::vector<IoRequest*> to_base_, from_base_;  // kept: no allocation per call
};

OverlayDevice::OverlayDevice(Runtime& runtime, std::unique_ptr<BlockDevice> base)
    : base_(std::move(base)),
      base_geometry_(base_->geometry()),
      size_bytes_(base_geometry_.size_bytes),
      mutex_(runtime),
      base_end_(base_geometry_.size_bytes),
      accounting_(runtime) {}

DeviceGeometry OverlayDevice::geometry() const {
  DeviceGeometry geometry = base_geometry_;
  geometry.size_bytes = size_bytes_.load(std::memory_order_acquire);
  return geometry;
}

absl::Status OverlayDevice::Check(uint64_t offset, uint64_t length, const void* buffer) {
  absl::Status status = CheckRequest(geometry(), "overlay", offset, length, buffer);
  if (!status.ok()) accounting_.CountRefused();
  return status;
}

bool OverlayDevice::IsOfBase(uint64_t offset, uint64_t length) {
  MutexLock lock(mutex_);
  const auto first = blocks_.lower_bound(offset);
  const bool is_unwritten = first == blocks_.end() || first->first >= offset + length ||
                            LATCHKEY_CANARY("overlay-reads-below");
  return offset + length <= base_end_ && is_unwritten;
}

absl::Status OverlayDevice::Read(uint64_t offset, std::span<std::byte> out, IoClass io_class) {
  LATCHKEY_RETURN_IF_ERROR(Check(offset, out.size(), out.data()));
  accounting_.Start(IoBatch::One(io_class, out.size()));
  absl::Status status = ReadHere(offset, out, io_class);
  IoBatch done = IoBatch::One(io_class, out.size(), status.ok() ? out.size() : 0);
  done.errors = status.ok() ? 0 : 1;
  accounting_.Finish(done);
  return status;
}

// The other device's bytes first, then the blocks over them: a write that comes in between is seen or
// not, as on any device.
absl::Status OverlayDevice::ReadHere(uint64_t offset, std::span<std::byte> out, IoClass io_class) {
  uint64_t from_base = 0;
  {
    MutexLock lock(mutex_);
    if (base_end_ > offset) from_base = std::min<uint64_t>(out.size(), base_end_ - offset);
  }
  if (from_base > 0) {
    LATCHKEY_RETURN_IF_ERROR(base_->Read(offset, out.first(from_base), io_class));
  }
  RacyZero(out.data() + from_base, out.size() - from_base);
  if (LATCHKEY_CANARY("overlay-reads-below")) return absl::OkStatus();
  const uint32_t size = base_geometry_.logical_block;
  MutexLock lock(mutex_);
  for (auto at = blocks_.lower_bound(offset);
       at != blocks_.end() && at->first < offset + out.size(); ++at) {
    RacyCopyIn(out.data() + (at->first - offset), at->second.get(), size);
  }
  return absl::OkStatus();
}

absl::Status OverlayDevice::Write(uint64_t offset, std::span<const std::byte> data,
                                  IoClass io_class) {
  LATCHKEY_RETURN_IF_ERROR(Check(offset, data.size(), data.data()));
  accounting_.Start(IoBatch::One(io_class, data.size()));
  absl::Status status = CatchOutOfMemory([&] { return WriteHere(offset, data); });
  IoBatch done = IoBatch::One(io_class, data.size(), status.ok() ? data.size() : 0);
  done.errors = status.ok() ? 0 : 1;
  accounting_.Finish(done);
  return status;
}

absl::Status OverlayDevice::WriteHere(uint64_t offset, std::span<const std::byte> data) {
  const uint32_t size = base_geometry_.logical_block;
  MutexLock lock(mutex_);
  for (uint64_t at = 0; at < data.size(); at += size) {
    std::unique_ptr<std::byte[]>& block = blocks_[offset + at];
    if (block == nullptr) block = std::make_unique<std::byte[]>(size);
    std::memcpy(block.get(), data.data() + at, size);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<IoQueue>> OverlayDevice::NewQueue(uint32_t depth) {
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<IoQueue> base, base_->NewQueue(depth));
  return std::make_unique<Queue>(*this, std::move(base), depth);
}

absl::Status OverlayDevice::Sync() {
  accounting_.CountSync(0, true);
  return absl::OkStatus();
}

absl::Status OverlayDevice::Resize(uint64_t size_bytes) {
  LATCHKEY_RETURN_IF_ERROR(CheckNewSize(base_geometry_, "overlay", size_bytes));
  if (size_bytes > kMostBytes) {
    return MakeStatus(absl::StatusCode::kResourceExhausted, "{}: {} bytes exceed its limit of {}",
                      Describe(), size_bytes, kMostBytes);
  }
  MutexLock lock(mutex_);
  size_bytes_.store(size_bytes, std::memory_order_release);
  base_end_ = std::min(base_end_, size_bytes);
  blocks_.erase(blocks_.lower_bound(size_bytes), blocks_.end());
  return absl::OkStatus();
}

std::string OverlayDevice::Describe() const {
  return fmt::format("overlay({}, writes stay in memory)", base_->Describe());
}

}  // namespace latchkey
