// Devices that know which writes were synced, so that a test can cut the power. A seeded choice
// decides which pieces written since the last sync survive.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/open_store.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// How much of the unsynced writes is on the medium after a loss of power.
enum class CrashDamage : uint8_t { kKeepAll, kKeepNone, kSomeWrites, kSomeSectors, kGarbageSector };
inline constexpr std::array kAllCrashDamage = {CrashDamage::kKeepAll, CrashDamage::kKeepNone,
                                               CrashDamage::kSomeWrites, CrashDamage::kSomeSectors,
                                               CrashDamage::kGarbageSector};

/// The content of every device of a group, in the order of their creation.
using CrashImages = std::vector<std::vector<std::byte>>;

/// Several devices that lose their power in the same instant: at the `crash_at`-th write or sync,
/// counted over all of them. Afterwards every call fails with Unavailable. Thread-safe. The devices
/// must be destroyed before the group.
class CrashGroup {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  explicit CrashGroup(Runtime& runtime) : runtime_(runtime), mutex_(runtime) {}

  /// A device with `content`.
  std::unique_ptr<BlockDevice> NewDevice(std::vector<std::byte> content = {});

  /// Cuts the power after this many writes and syncs from now on; kNever = not at all.
  void CrashAfter(uint64_t events) {
    MutexLock lock(mutex_);
    events_left_ = events;
  }
  /// Cuts the power now, if it is still on.
  void Crash() {
    MutexLock lock(mutex_);
    dead_ = true;
  }
  bool crashed() const {
    MutexLock lock(mutex_);
    return dead_;
  }
  uint64_t events() const {
    MutexLock lock(mutex_);
    return events_;
  }
  /// The content that a restarted machine finds. REQUIRES: crashed(), or no device is being
  /// written.
  CrashImages Images(CrashDamage damage, Rng& rng) const {
    MutexLock lock(mutex_);
    CrashImages images;
    for (const auto& disk : disks_) images.push_back(disk->Image(damage, rng));
    return images;
  }

 private:
  static constexpr size_t kSector = 512;
  struct Pending {
    uint64_t offset;
    std::vector<std::byte> bytes;
  };
  struct Disk {
    std::vector<std::byte> now, durable;
    std::vector<Pending> pending;

    std::vector<std::byte> Image(CrashDamage damage, Rng& rng) const;
  };
  class Device;
  class Queue;

  absl::Status Event() {
    if (!dead_ && events_left_ != kNever && events_left_-- == 0) dead_ = true;
    if (dead_) return absl::UnavailableError("the power is gone");
    ++events_;
    return absl::OkStatus();
  }

  Runtime& runtime_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Disk>> disks_;
  uint64_t events_left_ = kNever;
  uint64_t events_ = 0;
  bool dead_ = false;
};

inline std::vector<std::byte> CrashGroup::Disk::Image(CrashDamage damage, Rng& rng) const {
  if (damage == CrashDamage::kKeepAll) return now;
  std::vector<std::byte> image = durable;
  if (damage == CrashDamage::kKeepNone || pending.empty()) return image;
  const auto put = [&](const Pending& write, size_t from, size_t to) {
    const uint64_t end = std::min<uint64_t>(image.size(), write.offset + to);
    const uint64_t begin = write.offset + from;
    if (begin < end) std::memcpy(&image[begin], &write.bytes[from], end - begin);
  };
  for (const Pending& write : pending) {
    if (damage == CrashDamage::kSomeWrites) {
      if (rng.Below(2) == 0) put(write, 0, write.bytes.size());
      continue;
    }
    for (size_t at = 0; at < write.bytes.size(); at += kSector) {
      if (rng.Below(2) == 0) put(write, at, std::min(at + kSector, write.bytes.size()));
    }
  }
  if (damage == CrashDamage::kGarbageSector) {
    const Pending& write = pending[rng.Below(pending.size())];
    const uint64_t at = write.offset + rng.Below(write.bytes.size() / kSector) * kSector;
    for (size_t i = 0; i < kSector && at + i < image.size(); ++i) image[at + i] = std::byte(rng());
  }
  return image;
}

class CrashGroup::Device final : public BlockDevice {
 public:
  Device(CrashGroup& group, Disk& disk) : group_(group), disk_(disk) {}

  DeviceGeometry geometry() const override {
    MutexLock lock(group_.mutex_);
    return {.size_bytes = disk_.now.size(), .logical_block = kSector, .atomic_write_unit = kSector};
  }
  absl::Status Read(uint64_t offset, std::span<std::byte> out, IoClass) override {
    MutexLock lock(group_.mutex_);
    if (group_.dead_) return absl::UnavailableError("the power is gone");
    LATCHKEY_RETURN_IF_ERROR(Check(offset, out.size()));
    std::memcpy(out.data(), &disk_.now[offset], out.size());
    return absl::OkStatus();
  }
  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass) override {
    MutexLock lock(group_.mutex_);
    LATCHKEY_RETURN_IF_ERROR(Check(offset, data.size()));
    LATCHKEY_RETURN_IF_ERROR(group_.Event());
    std::memcpy(&disk_.now[offset], data.data(), data.size());
    disk_.pending.push_back({offset, {data.begin(), data.end()}});
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t) override;
  absl::Status Sync() override {
    MutexLock lock(group_.mutex_);
    LATCHKEY_RETURN_IF_ERROR(group_.Event());
    for (const Pending& write : disk_.pending) {
      const uint64_t end =
          std::min<uint64_t>(disk_.durable.size(), write.offset + write.bytes.size());
      if (write.offset < end) {
        std::memcpy(&disk_.durable[write.offset], write.bytes.data(), end - write.offset);
      }
    }
    disk_.pending.clear();
    return absl::OkStatus();
  }
  absl::Status Resize(uint64_t size_bytes) override {
    MutexLock lock(group_.mutex_);
    LATCHKEY_RETURN_IF_ERROR(group_.Event());
    disk_.now.resize(size_bytes);
    disk_.durable.resize(size_bytes);
    std::erase_if(disk_.pending, [&](const Pending& write) {
      return write.offset + write.bytes.size() > size_bytes;
    });
    return absl::OkStatus();
  }
  DeviceStats stats() const override { return {}; }
  void SetPositioningBytes(uint64_t) override {}
  std::string Describe() const override { return "crash disk"; }

 private:
  absl::Status Check(uint64_t offset, size_t size) const {
    if (offset % kSector != 0 || size % kSector != 0 || offset + size > disk_.now.size()) {
      return InvalidArgument("{} bytes at {} of a device of {} bytes", size, offset,
                             disk_.now.size());
    }
    return absl::OkStatus();
  }

  CrashGroup& group_;
  Disk& disk_;
};

class CrashGroup::Queue final : public IoQueue {
 public:
  explicit Queue(Device& device) : device_(device) {}
  void Submit(std::span<IoRequest* const> requests) override {
    for (IoRequest* request : requests) {
      const std::span<std::byte> bytes(request->buffer, request->length);
      request->status = request->op == IoRequest::Op::kRead
                            ? device_.Read(request->offset, bytes, request->io_class)
                            : device_.Write(request->offset, bytes, request->io_class);
      done_.push_back(request);
    }
  }
  void Wait(size_t, std::vector<IoRequest*>& completed) override {
    completed.insert(completed.end(), done_.begin(), done_.end());
    done_.clear();
  }
  size_t in_flight() const override { return done_.size(); }

 private:
  Device& device_;
  std::vector<IoRequest*> done_;
};

inline absl::StatusOr<std::unique_ptr<IoQueue>> CrashGroup::Device::NewQueue(uint32_t) {
  return std::make_unique<Queue>(*this);
}

inline std::unique_ptr<BlockDevice> CrashGroup::NewDevice(std::vector<std::byte> content) {
  MutexLock lock(mutex_);
  disks_.push_back(std::make_unique<Disk>());
  disks_.back()->now = content;
  disks_.back()->durable = std::move(content);
  return std::make_unique<Device>(*this, *disks_.back());
}

/// The devices of a database in `group`, with the contents `images` in the order data, log,
/// journal. Missing images are empty.
inline DatabaseDevices DevicesOf(CrashGroup& group, CrashImages images,
                                 const DatabaseSizing& sizing) {
  images.resize(3);
  DatabaseDevices devices;
  devices.data = group.NewDevice(std::move(images[0]));
  devices.log = group.NewDevice(std::move(images[1]));
  devices.journal = group.NewDevice(std::move(images[2]));
  devices.sizing = sizing;
  return devices;
}

}  // namespace latchkey
