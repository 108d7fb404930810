// The list of workloads of the KV benchmark: loads, reads, updates and the mixes of YCSB.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace latchkey {

/// Shares of the operations; their sum is 1.
struct KvMix {
  double read = 0, update = 0, insert = 0, scan = 0, read_modify_write = 0;
};

struct KvWorkload {
  std::string_view name;  ///< as on the command line
  KvMix mix;
  bool zipf = false;        ///< choice of keys: skewed and scrambled, or uniform
  bool load = false;        ///< begins empty and inserts every record once
  bool sequential = false;  ///< a load in key order
  std::string_view what;
  bool bulk = false;         ///< a load by KvSession::LoadSorted, with one thread
  bool device_rate = false;  ///< shown beside the device's own rate of synced overwrites
  bool reopen = false;       ///< not timed: a crash ends it, and the open after it is (reopen.h)
  enum class Removal : uint8_t { kNone, kEach, kRange };
  /// Deletes the middle 90 % of the records: each in a transaction of its own, in key order, or by one
  /// range delete per thread (KvSession::DeleteRangeAuto).
  Removal removal = Removal::kNone;

  /// Scans every record once, in one transaction per thread, each a part of the keys.
  bool scans_all = false;
  /// Before the measured part every record is updated as often, in random order, and the pages are
  /// written back.
  uint32_t updates_before = 0;

  /// Whether its operations are puts alone, so that a batch of them can be one transaction.
  bool only_puts() const { return (load || mix.update >= 1) && !bulk && !device_rate && !reopen; }
  bool read_only() const { return mix.read + mix.scan >= 1 || (scans_all && updates_before == 0); }
};

std::span<const KvWorkload> KvWorkloads();

/// InvalidArgument with the known names: no such workload.
absl::StatusOr<const KvWorkload*> FindKvWorkload(std::string_view name);

}  // namespace latchkey
