// CrashDevice: a BlockDevice in memory that tracks the writes that no sync has covered. A test can
// take the images that a power failure may leave, can make a call fail, and can let several devices
// lose power at the same instant. Campaigns, which need all events of a run, use a CrashRecorder.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <atomic>
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
#include "storage/runtime/runtime.h"

namespace latchkey {

using DeviceImage = std::vector<std::byte>;

/// How a power failure treats the writes that no sync has covered. kGarbageSector: as
/// kRandomSectors, and one sector of them holds garbage.
enum class Damage { kKeepAll, kLoseAll, kRandomWrites, kRandomSectors, kGarbageSector };
inline constexpr Damage kDamages[] = {Damage::kKeepAll, Damage::kLoseAll, Damage::kRandomWrites,
                                      Damage::kRandomSectors, Damage::kGarbageSector};

/// The durable content of a device, and its later writes.
struct UnsyncedImage {
  struct Pending {
    uint64_t offset = 0;
    DeviceImage bytes;
  };
  DeviceImage durable;
  std::vector<Pending> pending;
  uint64_t size = 0;        ///< now; the durable one is durable.size()
  uint64_t least_size = 0;  ///< smallest size since the last sync: bytes beyond read as zeros

  /// A possible content after a power failure.
  DeviceImage AfterCrash(Damage damage, Rng& rng) const {
    constexpr size_t kSector = 512;
    DeviceImage image = durable;
    if (damage == Damage::kLoseAll) return image;
    if (damage == Damage::kKeepAll || rng.Below(2) == 0) {
      image.resize(least_size);
      image.resize(size);
    }
    const size_t garbage_write = pending.empty() ? 0 : rng.Below(pending.size());
    for (size_t p = 0; p < pending.size(); ++p) {
      const Pending& write = pending[p];
      const size_t sectors = write.bytes.size() / kSector;
      const bool torn = damage == Damage::kGarbageSector && p == garbage_write;
      const size_t garbage = torn ? rng.Below(sectors) : sectors;
      const bool keep = damage == Damage::kKeepAll || rng.Below(2) == 0;
      for (size_t s = 0; s < sectors; ++s) {
        const bool by_sector = damage == Damage::kRandomSectors || damage == Damage::kGarbageSector;
        if (by_sector ? rng.Below(2) == 0 && s != garbage : !keep) continue;
        const uint64_t to = write.offset + s * kSector;
        if (to + kSector > image.size()) continue;
        std::memcpy(image.data() + to, write.bytes.data() + s * kSector, kSector);
        if (s != garbage) continue;
        for (size_t i = 0; i < kSector; ++i) image[to + i] = static_cast<std::byte>(rng.Next());
      }
    }
    return image;
  }
};

/// The state of a CrashDevice; outlives it, so that a store may own the device.
struct CrashMedium : UnsyncedImage {
  DeviceImage current;  ///< the content that a reader sees
  uint64_t capacity = UINT64_MAX;
  uint64_t calls = 0;  ///< writes, syncs and resizes so far
  /// The call with this number fails, and all later ones of its kind.
  uint64_t fails_at = UINT64_MAX;
  bool has_failed = false;
  bool has_queues = true;
  std::atomic<bool> fails_queued{false};  ///< requests of queues fail
  std::atomic<uint64_t> queued{0};        ///< requests of queues so far
  /// Called before every write, sync and resize, with the mutex held: for crashes at that instant.
  std::function<void()> before_call;
  /// Devices that lose power together share one. Nothing yields while it is held.
  std::shared_ptr<Mutex> mutex = std::make_shared<Mutex>(ThreadRuntime());

  void Resize(uint64_t size_bytes) {
    const bool grows = size_bytes > current.size();
    current.resize(size_bytes);
    size = size_bytes;
    least_size = std::min(least_size, size_bytes);
    if (!grows) return;
    // Resize makes a growth durable before it returns (see BlockDevice::Resize).
    durable.resize(least_size);
    durable.resize(size_bytes);
    least_size = size_bytes;
  }
  void Sync() {
    durable.resize(least_size);
    durable.resize(current.size());
    least_size = current.size();
    for (const Pending& write : pending) {
      if (write.offset + write.bytes.size() > current.size()) continue;  // the device was cut since
      std::memcpy(durable.data() + write.offset, write.bytes.data(), write.bytes.size());
    }
    pending.clear();
  }
};

/// Thread-safe. Asynchronous requests complete when they are submitted, and are reported in reverse
/// order.
class CrashDevice final : public BlockDevice {
 public:
  explicit CrashDevice(std::shared_ptr<CrashMedium> medium, uint32_t block = 512)
      : medium_(std::move(medium)), block_(block) {}
  /// A device whose medium holds `image`, all of it durable.
  static std::shared_ptr<CrashMedium> MediumOf(DeviceImage image) {
    auto medium = std::make_shared<CrashMedium>();
    medium->size = medium->least_size = image.size();
    medium->durable = medium->current = std::move(image);
    return medium;
  }

  DeviceGeometry geometry() const override {
    MutexLock lock(*medium_->mutex);
    return {.size_bytes = medium_->current.size(),
            .logical_block = block_,
            .atomic_write_unit = block_};
  }
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass) override {
    LATCHKEY_RETURN_IF_ERROR(CheckRequest(geometry(), "crash", offset, out.size(), out.data()));
    MutexLock lock(*medium_->mutex);
    std::memcpy(out.data(), medium_->current.data() + offset, out.size());
    return absl::OkStatus();
  }
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass) override {
    LATCHKEY_RETURN_IF_ERROR(CheckRequest(geometry(), "crash", offset, data.size(), data.data()));
    MutexLock lock(*medium_->mutex);
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
    MutexLock lock(*medium_->mutex);
    if (Fails()) return absl::UnavailableError("crash: sync failed");
    medium_->Sync();
    return absl::OkStatus();
  }
  absl::Status Resize(uint64_t size_bytes) override {
    MutexLock lock(*medium_->mutex);
    if (size_bytes > medium_->capacity) return absl::ResourceExhaustedError("crash: device full");
    if (Fails()) return absl::UnavailableError("crash: resize failed");
    medium_->Resize(size_bytes);
    return absl::OkStatus();
  }
  DeviceStats stats() const override { return {}; }
  void SetRequestTimes(const RequestTimes&) override {}
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

/// Counts the calls of its devices, and at a chosen call takes the images of all of them. The
/// devices go on working, so that the software above can shut down; only the images count.
/// Thread-safe. REQUIRES: outlives its devices.
class PowerSupply {
 public:
  /// A device that holds `content`, all of it durable.
  std::unique_ptr<CrashDevice> NewDevice(DeviceImage content) {
    std::shared_ptr<CrashMedium> medium = CrashDevice::MediumOf(std::move(content));
    medium->mutex = mutex_;
    medium->before_call = [this] { CountCall(); };
    MutexLock lock(*mutex_);
    media_.push_back(medium);
    return std::make_unique<CrashDevice>(std::move(medium));
  }
  /// Power fails at the `calls`-th call of a device from now, before it has any effect.
  void FailAfter(uint64_t calls) {
    MutexLock lock(*mutex_);
    left_ = calls;
    failed_.store(false);
  }
  bool failed() const { return failed_.load(); }
  /// What device number `index`, in the order of creation, held.
  const UnsyncedImage& image(size_t index) const { return images_[index]; }

 private:
  // REQUIRES: mutex_.
  void CountCall() {
    if (left_ == UINT64_MAX || left_-- > 0) return;
    left_ = UINT64_MAX;
    images_.clear();
    for (const std::shared_ptr<CrashMedium>& medium : media_) images_.push_back(*medium);
    failed_.store(true);
  }

  const std::shared_ptr<Mutex> mutex_ = std::make_shared<Mutex>(ThreadRuntime());
  std::vector<std::shared_ptr<CrashMedium>> media_;
  std::vector<UnsyncedImage> images_;
  uint64_t left_ = UINT64_MAX;
  std::atomic<bool> failed_{false};
};

}  // namespace latchkey
