// Decides which calls of a device fail, and how: the k-th of its kind, once or from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "storage/base/rng.h"

namespace latchkey {

enum class DeviceCall : uint8_t { kRead, kWrite, kSync, kResize };
inline constexpr size_t kDeviceCalls = 4;

enum class FaultKind : uint8_t {
  kIoError,      ///< EIO of a read, write, sync or resize; some sectors of a write may be there
  kReadError,    ///< EIO of a read
  kWriteError,   ///< EIO of a write
  kNoSpace,      ///< ENOSPC of a write or resize
  kShort,        ///< a read or write that stops half-way and makes no more progress
  kBadPlace,     ///< EIO of a write, and of every later write of one of its pages (4096 bytes)
  kSyncError,    ///< EIO of a sync: the writes that it should have covered may be lost for ever
  kLostWrite,    ///< acknowledged, never carried out
  kMisdirected,  ///< acknowledged, carried out one or more blocks away
  kFlippedBit,   ///< one bit of the bytes read is wrong, once
};

/// A range of a disk that takes no write any more.
struct BadPlace {
  uint64_t offset = 0, length = 0;
};

/// Nullopt for an unknown name. Names: io-error, read-error, write-error, no-space, short,
/// bad-place, sync-error, lost-write, misdirected, flipped-bit.
std::optional<FaultKind> FaultKindOf(const char* name);
const char* FaultKindName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kIoError;
  uint64_t at_call = 0;  ///< counted from 0 over the calls that this kind can hit
  bool from_then_on = false;
  uint64_t seed = 1;  ///< of the details: sectors, distance, bit
  std::optional<uint32_t> only_disk{};  ///< calls of other disks neither count nor fail
};

/// Counts calls and decides which one fails. Not thread-safe.
class FaultInjector {
 public:
  FaultInjector() : rng_(1) {}
  /// Replaces the fault and counts from 0 again; nullopt: no call fails any more.
  void Set(const std::optional<Fault>& fault);
  /// From now on no call fails; the counts stay.
  void Stop() { fault_.reset(); }
  /// Counts the call and returns its fault; nullopt: it does not fail.
  std::optional<FaultKind> Next(uint32_t disk, DeviceCall call);
  /// Number of calls since Set, and of injected faults.
  uint64_t calls() const { return calls_; }
  uint64_t injected() const { return injected_; }
  Rng& rng() { return rng_; }

 private:
  std::optional<Fault> fault_;
  Rng rng_;
  uint64_t calls_ = 0;
  uint64_t injected_ = 0;
};

}  // namespace latchkey
