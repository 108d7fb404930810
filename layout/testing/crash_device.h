// Devices that can lose power: a test chooses whether writes since the last sync are kept, lost or
// torn. Several devices share one PowerSupply, so that they lose power at the same instant.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// The fate of writes that were not synced.
enum class Damage { kKeepAll, kLoseAll, kRandomWrites, kRandomSectors, kGarbageSector };
inline constexpr Damage kDamages[] = {Damage::kKeepAll, Damage::kLoseAll, Damage::kRandomWrites,
                                      Damage::kRandomSectors, Damage::kGarbageSector};

/// The content of a device, with the writes that are not durable yet.
struct CrashImage {
  struct Pending {
    uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<std::byte> durable;
  std::vector<Pending> pending;
  uint64_t size = 0;        ///< now; the durable one is durable.size()
  uint64_t least_size = 0;  ///< smallest size since the last sync: bytes beyond read as zeros

  /// What the device holds after a power failure.
  std::vector<std::byte> AfterCrash(Damage damage, Rng& rng) const {
    constexpr size_t kSector = 512;
    std::vector<std::byte> image = durable;
    const bool new_size =
        damage == Damage::kKeepAll || (damage != Damage::kLoseAll && rng.Below(2) == 0);
    if (new_size) {
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
      if (damage == Damage::kLoseAll) continue;
      for (size_t s = 0; s < sectors; ++s) {
        const bool by_sector = damage == Damage::kRandomSectors || damage == Damage::kGarbageSector;
        if (by_sector ? rng.Below(2) == 0 && s != garbage : !keep) continue;
        const uint64_t to = write.offset + s * kSector;
        if (to + kSector > image.size()) continue;
        std::memcpy(image.data() + to, write.bytes.data() + s * kSector, kSector);
        if (s == garbage) std::memset(image.data() + to, static_cast<int>(rng.Below(256)), kSector);
      }
    }
    return image;
  }
};

class CrashDevice;

/// Counts the calls of its devices, and at a chosen call records their content. The devices go on
/// working, so that the software above can shut down; only the recorded content counts.
/// Thread-safe.
class PowerSupply {
 public:
  explicit PowerSupply(Runtime& runtime) : mutex_(runtime) {}
  /// Power fails at the `calls`-th call of a device from now, before it has any effect.
  void FailAfter(uint64_t calls) {
    MutexLock lock(mutex_);
    left_ = calls;
    failed_.store(false);
  }
  bool failed() const { return failed_.load(); }
  /// What device number `index`, in the order of creation, held.
  const CrashImage& image(size_t index) const { return images_[index]; }

 private:
  friend class CrashDevice;
  void CountCall();  // REQUIRES: mutex_

  Mutex mutex_;
  std::vector<CrashDevice*> devices_;
  std::vector<CrashImage> images_;
  uint64_t left_ = UINT64_MAX;
  std::atomic<bool> failed_{false};
};

/// Thread-safe; requests complete at once.
class CrashDevice final : public BlockDevice {
 public:
  CrashDevice(PowerSupply& power, std::vector<std::byte> content)
      : power_(power), now_(std::move(content)) {
    image_.durable = now_;
    image_.size = image_.least_size = now_.size();
    MutexLock lock(power_.mutex_);
    power_.devices_.push_back(this);
  }
  ~CrashDevice() override {
    MutexLock lock(power_.mutex_);
    std::erase(power_.devices_, this);
  }

  DeviceGeometry geometry() const override {
    MutexLock lock(power_.mutex_);
    return {.size_bytes = now_.size(), .logical_block = 512, .atomic_write_unit = 512};
  }
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass) override {
    MutexLock lock(power_.mutex_);
    if (offset + out.size() > now_.size()) return absl::OutOfRangeError("read beyond the end");
    std::memcpy(out.data(), now_.data() + offset, out.size());
    return absl::OkStatus();
  }
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass) override {
    MutexLock lock(power_.mutex_);
    power_.CountCall();
    if (offset + data.size() > now_.size()) return absl::OutOfRangeError("write beyond the end");
    image_.pending.push_back({offset, {data.begin(), data.end()}});
    std::memcpy(now_.data() + offset, data.data(), data.size());
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t) override {
    return std::make_unique<Queue>(*this);
  }
  absl::Status Sync() override {
    MutexLock lock(power_.mutex_);
    power_.CountCall();
    image_.durable.resize(image_.least_size);
    image_.durable.resize(now_.size());
    image_.least_size = now_.size();
    for (const CrashImage::Pending& write : image_.pending) {
      if (write.offset + write.bytes.size() > now_.size()) continue;  // the device was cut since
      std::memcpy(image_.durable.data() + write.offset, write.bytes.data(), write.bytes.size());
    }
    image_.pending.clear();
    return absl::OkStatus();
  }
  absl::Status Resize(uint64_t size_bytes) override {
    MutexLock lock(power_.mutex_);
    power_.CountCall();
    const bool grows = size_bytes > now_.size();
    now_.resize(size_bytes);
    image_.size = size_bytes;
    image_.least_size = std::min(image_.least_size, size_bytes);
    if (!grows) return absl::OkStatus();
    // Resize makes a growth durable before it returns (see BlockDevice::Resize).
    image_.durable.resize(image_.least_size);
    image_.durable.resize(size_bytes);
    image_.least_size = size_bytes;
    return absl::OkStatus();
  }
  DeviceStats stats() const override { return {}; }
  void SetPositioningBytes(uint64_t) override {}
  std::string Describe() const override { return "crash"; }

 private:
  friend class PowerSupply;

  class Queue final : public IoQueue {
   public:
    explicit Queue(CrashDevice& device) : device_(device) {}
    void Submit(std::span<IoRequest* const> requests) override {
      for (IoRequest* r : requests) {
        const std::span<std::byte> bytes(r->buffer, r->length);
        r->status = r->op == IoRequest::Op::kRead ? device_.Read(r->offset, bytes, r->io_class)
                                                  : device_.Write(r->offset, bytes, r->io_class);
        done_.push_back(r);
      }
    }
    void Wait(size_t, std::vector<IoRequest*>& completed) override {
      completed.insert(completed.end(), done_.begin(), done_.end());
      done_.clear();
    }
    size_t in_flight() const override { return done_.size(); }

   private:
    CrashDevice& device_;
    std::vector<IoRequest*> done_;
  };

  PowerSupply& power_;
  std::vector<std::byte> now_;
  CrashImage image_;
};

inline void PowerSupply::CountCall() {
  if (left_ == UINT64_MAX || left_-- > 0) return;
  left_ = UINT64_MAX;
  images_.clear();
  for (const CrashDevice* device : devices_) images_.push_back(device->image_);
  failed_.store(true);
}

}  // namespace latchkey
