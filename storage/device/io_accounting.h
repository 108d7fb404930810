// IoAccounting: what a device did, and what its busy time was spent on.
//
// The write cost model of the layouts (thesis 6.1) compares page and segment I/O by the device time
// each takes. Latency cannot serve: at depth 32 it is mostly waiting for the other 31. So busy time
// is shared out: at every instant each request in flight is charged its share, by weight. The
// weight of a request is its length plus a constant, the bytes that the device could transfer in
// the time of its positioning (thesis: T_pos * B): beside 30 page reads, a segment of 256 pages
// takes much more of the device than any of them.
//
// Thread-safety: every member may be called from every actor at once.
// Invariant: the busy times of the classes add up to the device's (to rounding), which never
// exceeds the time since construction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "storage/base/check.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Requests that start, or finish, at one instant: one reading of the clock serves all of them.
struct IoBatch {
  std::array<uint32_t, kIoClasses> requests{};
  std::array<uint64_t, kIoClasses> lengths{};  ///< bytes asked for: the same at start and finish
  std::array<uint64_t, kIoClasses> bytes{};    ///< transferred; looked at by Finish only
  uint32_t errors = 0;                         ///< looked at by Finish only

  void Add(IoClass io_class, uint64_t length, uint64_t transferred_bytes = 0) {
    ++requests[static_cast<size_t>(io_class)];
    lengths[static_cast<size_t>(io_class)] += length;
    bytes[static_cast<size_t>(io_class)] += transferred_bytes;
  }
  bool IsEmpty() const { return requests == decltype(requests){}; }
  static IoBatch One(IoClass io_class, uint64_t length, uint64_t transferred_bytes = 0) {
    IoBatch batch;
    batch.Add(io_class, length, transferred_bytes);
    return batch;
  }
};

/// Requests in flight whose completion can be seen before their owner collects it. Without this, a
/// segment written in the background would be charged until somebody cares for its buffer again.
class CompletionSource {
 public:
  virtual ~CompletionSource() = default;
  /// Adds to `completed` each request seen completed since the last call. Called at every event of
  /// the accounting, with its latch held: a few instructions, and no call back.
  virtual void TakeCompleted(IoBatch& completed) = 0;
};

/// Costs two uncontended latches and two readings of the clock per request or batch: about 0.1 us.
class IoAccounting {
 public:
  explicit IoAccounting(Runtime& runtime) : runtime_(runtime) {}
  /// REQUIRES: no sources: the queues of a device are gone before it.
  ~IoAccounting() { LATCHKEY_CHECK(sources_.empty()); }

  /// These requests are in flight from now on, until the same number of each class is finished.
  void Start(const IoBatch& batch);
  void Finish(const IoBatch& batch);
  /// As Finish for requests of a CompletionSource: their flight ends when the source tells of them,
  /// at the latest now.
  void FinishTaken(const IoBatch& batch);
  /// `source` is asked from now on, until it is removed.
  void AddSource(CompletionSource& source);
  void RemoveSource(CompletionSource& source);
  /// A request that was refused before it started.
  void CountRefused();
  void CountSync(Nanos latency, bool ok);
  /// What a request costs besides its bytes, in bytes that could be transferred meanwhile.
  void SetPositioningBytes(uint64_t bytes);
  static constexpr uint64_t kDefaultPositioningBytes = 32768;

  /// Everything up to now, requests in flight included.
  DeviceStats Snapshot() const;

 private:
  // Charges the time since the last event to what was in flight, then takes out what the sources
  // have seen completed. REQUIRES: latch_ held.
  void Settle() const;
  void Land(const IoBatch& batch) const;  // ends flights. REQUIRES: latch_ held.
  void Count(const IoBatch& batch);       // REQUIRES: latch_ held.

  Runtime& runtime_;
  alignas(64) mutable SpinLatch latch_;
  mutable Nanos last_event_ = 0;
  mutable Nanos busy_ = 0;
  // Doubles: shares are fractions of nanoseconds, and 2^53 ns are 104 days without rounding.
  mutable double depth_integral_ = 0;
  mutable std::array<double, kIoClasses> class_busy_{};
  mutable uint32_t total_in_flight_ = 0;
  mutable std::array<uint32_t, kIoClasses> in_flight_{};
  mutable std::array<uint64_t, kIoClasses> length_in_flight_{};
  uint64_t positioning_bytes_ = kDefaultPositioningBytes;
  std::vector<CompletionSource*> sources_;
  std::array<uint64_t, kIoClasses> finished_{};
  std::array<uint64_t, kIoClasses> bytes_{};
  uint64_t errors_ = 0;
  uint64_t syncs_ = 0;
  Nanos sync_time_ = 0;
};

}  // namespace latchkey
