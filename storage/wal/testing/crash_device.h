// CrashDevice: a BlockDevice in memory that tracks the writes that no sync has covered. A test can
// take the images that a power failure may leave, and can make a call fail.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/block_device.h"
#include "storage/device/request_check.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

using DeviceImage = std::vector<std::byte>;

/// How a power failure treats the writes that no sync has covered.
enum class Damage { kNone, kAll, kWrites, kSectors, kSectorsAndGarbage };
inline constexpr Damage kAllDamages[] = {Damage::kNone, Damage::kAll, Damage::kWrites,
                                         Damage::kSectors, Damage::kSectorsAndGarbage};

/// The state of a CrashDevice; outlives it, so that a log may own the device.
struct CrashMedium {
  struct PendingWrite {
    uint64_t offset;
    DeviceImage bytes;
  };

  /// A possible content of the medium after a power failure now. kNone loses all unsynced writes,
  /// kAll keeps them, the others keep some of them, or some of their sectors of 512 bytes, or write
  /// garbage into one of the lost sectors.
  DeviceImage Crash(Damage damage, Rng& rng) const {
    DeviceImage image = durable;
    image.resize(current.size());
    std::vector<uint64_t> lost;  // offsets of sectors
    for (const PendingWrite& write : pending) {
      const bool keeps = damage == Damage::kAll || (damage == Damage::kWrites && rng.Below(2) == 0);
      const bool by_sector = damage == Damage::kSectors || damage == Damage::kSectorsAndGarbage;
      for (size_t i = 0; i < write.bytes.size(); i += 512) {
        if (by_sector ? rng.Below(2) == 0 : keeps) {
          std::memcpy(image.data() + write.offset + i, write.bytes.data() + i, 512);
        } else {
          lost.push_back(write.offset + i);
        }
      }
    }
    if (damage == Damage::kSectorsAndGarbage && !lost.empty()) {
      std::byte* sector = image.data() + lost[rng.Below(lost.size())];
      for (int i = 0; i < 512; ++i) sector[i] = static_cast<std::byte>(rng.Next());
    }
    return image;
  }

  DeviceImage current, durable;
  std::vector<PendingWrite> pending;
  uint64_t capacity = UINT64_MAX;
  uint64_t calls = 0;  ///< writes, syncs and resizes so far
  uint64_t fails_at =
      UINT64_MAX;  ///< the call with this number fails, and all later ones of its kind
  bool has_failed = false;
  bool has_queues = true;
  bool fails_queued = false;  ///< requests of queues fail
  uint64_t queued = 0;        ///< requests of queues so far
  /// Called before every write, sync and resize, with the latch held: for crashes at that instant.
  std::function<void()> before_call;
  SpinLatch latch;
};

/// Thread-safe. Asynchronous requests complete when they are submitted, and are reported in reverse
/// order.
class CrashDevice final : public BlockDevice {
 public:
  CrashDevice(std::shared_ptr<CrashMedium> medium, uint32_t block = 512)
      : medium_(std::move(medium)), block_(block) {}
  /// A device whose medium holds `image`, all of it durable.
  static std::shared_ptr<CrashMedium> MediumOf(DeviceImage image) {
    auto medium = std::make_shared<CrashMedium>();
    medium->durable = medium->current = std::move(image);
    return medium;
  }

  DeviceGeometry geometry() const override {
    SpinLatchGuard guard(medium_->latch, ThreadRuntime());
    return {.size_bytes = medium_->current.size(), .logical_block = block_};
  }
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass) override {
    LATCHKEY_RETURN_IF_ERROR(CheckRequest(geometry(), "crash", offset, out.size(), out.data()));
    SpinLatchGuard guard(medium_->latch, ThreadRuntime());
    std::memcpy(out.data(), medium_->current.data() + offset, out.size());
    return absl::OkStatus();
  }
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass) override {
    LATCHKEY_RETURN_IF_ERROR(CheckRequest(geometry(), "crash", offset, data.size(), data.data()));
    SpinLatchGuard guard(medium_->latch, ThreadRuntime());
    if (Fails()) return absl::UnavailableError("crash: write failed");
    std::memcpy(medium_->current.data() + offset, data.data(), data.size());
    medium_->pending.push_back({offset, DeviceImage(data.begin(), data.end())});
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t) override {
    if (!medium_->has_queues) return absl::ResourceExhaustedError("crash: no queues");
    return std::make_unique<Queue>(*this);
  }
  absl::Status Sync() override {
    SpinLatchGuard guard(medium_->latch, ThreadRuntime());
    if (Fails()) return absl::UnavailableError("crash: sync failed");
    for (const auto& write : medium_->pending) {
      std::copy(write.bytes.begin(), write.bytes.end(), medium_->durable.begin() + write.offset);
    }
    medium_->pending.clear();
    return absl::OkStatus();
  }
  absl::Status Resize(uint64_t size_bytes) override {
    SpinLatchGuard guard(medium_->latch, ThreadRuntime());
    if (size_bytes > medium_->capacity) return absl::ResourceExhaustedError("crash: device full");
    if (Fails()) return absl::UnavailableError("crash: resize failed");
    medium_->current.resize(size_bytes);
    medium_->durable.resize(size_bytes);
    return absl::OkStatus();
  }
  DeviceStats stats() const override { return {}; }
  void SetPositioningBytes(uint64_t) override {}
  std::string Describe() const override { return "crash"; }

 private:
  class Queue final : public IoQueue {
   public:
    explicit Queue(CrashDevice& device) : device_(device) {}
    void Submit(std::span<IoRequest* const> requests) override {
      for (IoRequest* request : requests) {
        request->status = Do(*request);
        done_.push_back(request);
      }
    }
    void Wait(size_t, std::vector<IoRequest*>& completed) override {
      completed.insert(completed.end(), done_.rbegin(), done_.rend());
      done_.clear();
    }
    size_t in_flight() const override { return done_.size(); }

   private:
    absl::Status Do(const IoRequest& request) {
      ++device_.medium_->queued;
      if (device_.medium_->fails_queued) return absl::UnavailableError("crash: request failed");
      const std::span<std::byte> bytes(request.buffer, request.length);
      return request.op == IoRequest::Op::kRead
                 ? device_.Read(request.offset, bytes, request.io_class)
                 : device_.Write(request.offset, bytes, request.io_class);
    }

    CrashDevice& device_;
    std::vector<IoRequest*> done_;
  };

  bool Fails() {
    if (medium_->before_call) medium_->before_call();
    if (++medium_->calls > medium_->fails_at) medium_->has_failed = true;
    return medium_->has_failed;
  }

  const std::shared_ptr<CrashMedium> medium_;
  const uint32_t block_;
};

}  // namespace latchkey
