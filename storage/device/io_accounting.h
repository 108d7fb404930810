// IoAccounting: counts a device's requests and divides its busy time among them.
//
// The write cost model of the layouts (thesis 6.1) compares page and segment I/O by the device time
// that each takes. Latency does not measure that: at depth 32 a request mostly waits for the other
// 31 requests. So at every instant the device's time is divided among the requests in flight, by
// weight. The weight of a request is the time that it takes alone (thesis: T_pos + n / B), for reads
// and writes apart. A segment of 256 pages beside 30 page reads is thus charged much more than any of
// them.
//
// Thread-safety: all actors may call every member at once.
// Invariant: the busy times of the classes add up to the device's (to rounding), which never
// exceeds the time since construction.
#pragma once

#include <array>
#include <cstdint>

#include "storage/base/check.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Requests that start, or finish, at one instant: one reading of the clock serves all of them.
struct IoBatch {
  std::array<uint32_t, kIoClasses> requests{};
  std::array<uint64_t, kIoClasses> lengths{};  ///< bytes asked for: the same at start and finish
  std::array<uint64_t, kIoClasses> bytes{};    ///< transferred; used by Finish only
  uint32_t total = 0;                          ///< of all classes
  uint32_t errors = 0;                         ///< used by Finish only

  void Add(IoClass io_class, uint64_t length, uint64_t transferred_bytes = 0) {
    ++total;
    ++requests[static_cast<size_t>(io_class)];
    lengths[static_cast<size_t>(io_class)] += length;
    bytes[static_cast<size_t>(io_class)] += transferred_bytes;
  }
  bool IsEmpty() const { return total == 0; }
  static IoBatch One(IoClass io_class, uint64_t length, uint64_t transferred_bytes = 0) {
    IoBatch batch;
    batch.Add(io_class, length, transferred_bytes);
    return batch;
  }
};

/// A queue whose completions can be seen before their owner collects them. Without this, a segment
/// written in the background would be charged until its owner uses the buffer again.
class CompletionSource {
 public:
  /// REQUIRES: none of its requests is in flight.
  virtual ~CompletionSource() { LATCHKEY_CHECK(in_flight_ == 0); }
  /// Adds to `completed` each request seen completed since the last call. Called at every event of
  /// the accounting while requests of this source are in flight, with the accounting's latch held:
  /// must take a few instructions and not call the accounting.
  virtual void TakeCompleted(IoBatch& completed) = 0;

 private:
  friend class IoAccounting;
  // The accounting's latch guards both.
  uint32_t in_flight_ = 0;            // requests that were started and not yet reported
  CompletionSource* next_ = nullptr;  // in the list of those with requests in flight
};

/// Costs two uncontended latches and two readings of the clock per request or batch: about 0.1 us.
class IoAccounting {
 public:
  explicit IoAccounting(Runtime& runtime) : runtime_(runtime) {}
  /// REQUIRES: all sources have been destroyed.
  ~IoAccounting() { LATCHKEY_CHECK(sources_ == nullptr); }

  /// The requests are in flight from now on. The flight of a `source`'s requests ends when the
  /// source reports them; that of others when Finish is called for as many of each class.
  void Start(const IoBatch& batch, CompletionSource* source = nullptr);
  /// `source`: that of Start, if it will never report the requests.
  void Finish(const IoBatch& batch, CompletionSource* source = nullptr);
  /// As Finish, for requests that their source has reported or reports now.
  void FinishTaken(const IoBatch& batch);
  /// Counts a request that was refused before it started.
  void CountRefused();
  void CountSync(Nanos latency, bool ok);
  /// BlockDevice::SetRequestTimes.
  void SetRequestTimes(const RequestTimes& times);

  /// Statistics up to now, requests in flight included.
  DeviceStats Snapshot() const;

 private:
  // Charges the time since the last event to the requests in flight, then ends the flights that the
  // sources have seen completed.
  void Settle() const LATCHKEY_REQUIRES(latch_);
  void ChargeUntil(Nanos now) const LATCHKEY_REQUIRES(latch_);
  void AskSources() const LATCHKEY_REQUIRES(latch_);
  void Land(const IoBatch& batch) const LATCHKEY_REQUIRES(latch_);  // ends flights
  void DropIdleSources() const LATCHKEY_REQUIRES(latch_);
  void Count(const IoBatch& batch) LATCHKEY_REQUIRES(latch_);

  Runtime& runtime_;
  alignas(64) mutable SpinLatch latch_;
  mutable Nanos last_event_ LATCHKEY_GUARDED_BY(latch_) = 0;
  mutable Nanos busy_ LATCHKEY_GUARDED_BY(latch_) = 0;
  // Doubles: shares are fractions of nanoseconds, and 2^53 ns are 104 days without rounding.
  mutable double depth_integral_ LATCHKEY_GUARDED_BY(latch_) = 0;
  mutable std::array<double, kIoClasses> class_busy_ LATCHKEY_GUARDED_BY(latch_){};
  mutable uint32_t total_in_flight_ LATCHKEY_GUARDED_BY(latch_) = 0;
  mutable std::array<uint32_t, kIoClasses> in_flight_ LATCHKEY_GUARDED_BY(latch_){};
  mutable std::array<uint64_t, kIoClasses> length_in_flight_ LATCHKEY_GUARDED_BY(latch_){};
  RequestTimes times_ LATCHKEY_GUARDED_BY(latch_);
  // Those with requests in flight. A list through the sources: Start must not allocate.
  mutable CompletionSource* sources_ LATCHKEY_GUARDED_BY(latch_) = nullptr;
  std::array<uint64_t, kIoClasses> finished_ LATCHKEY_GUARDED_BY(latch_){};
  std::array<uint64_t, kIoClasses> bytes_ LATCHKEY_GUARDED_BY(latch_){};
  std::array<uint64_t, kIoClasses> started_bytes_ LATCHKEY_GUARDED_BY(latch_){};
  uint64_t errors_ LATCHKEY_GUARDED_BY(latch_) = 0;
  uint64_t syncs_ LATCHKEY_GUARDED_BY(latch_) = 0;
  Nanos sync_time_ LATCHKEY_GUARDED_BY(latch_) = 0;
};

}  // namespace latchkey
