// A device that fails writes and syncs on demand.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/device/testing/forwarding_device.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// Thread-safe. A failed write reaches the device all the same; callers must not rely on that.
class FailingWrites final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  std::atomic<bool> fail_writes{false};  ///< all
  std::atomic<bool> fail_syncs{false};
  std::atomic<int> fail_next{0};  ///< this many writes fail
  /// That many bytes at the beginning of the next write go bad: every write of them fails. 0: none.
  std::atomic<uint64_t> go_bad_at_next_write{0};
  std::atomic<std::optional<IoClass>> fail_class{std::nullopt};
  /// The disk is full at this size: it does not grow further, and attempts to grow are counted.
  std::atomic<uint64_t> most_bytes{UINT64_MAX};
  std::shared_ptr<std::atomic<uint64_t>> refusals = std::make_shared<std::atomic<uint64_t>>(0);
  uint64_t failed() const { return failed_; }

  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass c) override {
    const absl::Status written = ForwardingDevice::Write(offset, data, c);
    return Fails(offset, data.size(), c) ? Error() : written;
  }
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) override {
    auto queue = ForwardingDevice::NewQueue(depth);
    return std::make_unique<Queue>(*this, *std::move(queue));
  }
  absl::Status Sync() override { return fail_syncs ? Error() : ForwardingDevice::Sync(); }
  absl::Status Resize(uint64_t size_bytes) override {
    if (size_bytes <= std::max<uint64_t>(most_bytes, geometry().size_bytes)) {
      return ForwardingDevice::Resize(size_bytes);
    }
    refusals->fetch_add(1);
    return absl::ResourceExhaustedError("ENOSPC on purpose");
  }
  std::string Describe() const override { return "failing"; }

 private:
  static absl::Status Error() { return absl::UnavailableError("EIO on purpose"); }

  bool Fails(uint64_t offset, uint64_t length, IoClass io_class) {
    MutexLock lock(mutex_);
    if (const uint64_t bytes = go_bad_at_next_write.exchange(0); bytes > 0) {
      bad_begin_ = offset;
      bad_end_ = offset + bytes;
    }
    bool fails = fail_writes || fail_class.load() == io_class;
    if (offset < bad_end_ && offset + length > bad_begin_) fails = true;
    if (!fails && fail_next > 0) {
      --fail_next;
      fails = true;
    }
    failed_ += fails;
    return fails;
  }

  class Queue final : public IoQueue {
   public:
    Queue(FailingWrites& owner, std::unique_ptr<IoQueue> queue)
        : owner_(owner), queue_(std::move(queue)) {}
    void Submit(std::span<IoRequest* const> requests) override { queue_->Submit(requests); }
    void Wait(size_t minimum, std::vector<IoRequest*>& completed) override {
      const size_t first = completed.size();
      queue_->Wait(minimum, completed);
      for (size_t i = first; i < completed.size(); ++i) {
        IoRequest& request = *completed[i];
        if (request.op == IoRequest::Op::kWrite &&
            owner_.Fails(request.offset, request.length, request.io_class)) {
          request.status = Error();
        }
      }
    }
    size_t in_flight() const override { return queue_->in_flight(); }

   private:
    FailingWrites& owner_;
    std::unique_ptr<IoQueue> queue_;
  };

  Mutex mutex_{ThreadRuntime()};  // guards all below
  uint64_t bad_begin_ = 0, bad_end_ = 0;
  std::atomic<uint64_t> failed_{0};
};

}  // namespace latchkey
