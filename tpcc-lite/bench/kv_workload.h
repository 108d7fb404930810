// What the KV benchmark does: loads, reads, updates and the mixes of YCSB, as one list.
#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string_view>

namespace latchkey {

/// Shares of the operations, adding up to 1.
struct KvMix {
  double read = 0, update = 0, insert = 0, scan = 0, read_modify_write = 0;
};

struct KvWorkload {
  std::string_view name;  ///< as on the command line
  KvMix mix;
  bool zipf = false;        ///< which keys: skewed and scrambled, or uniform
  bool load = false;        ///< begins empty and inserts every record once
  bool sequential = false;  ///< a load in key order
  std::string_view what;
  bool device_rate = false;  ///< the device's own rate of synced overwrites belongs beside it
  bool reopen = false;       ///< not timed: a crash ends it, and the open after it is (reopen.h)

  bool read_only() const { return mix.read + mix.scan >= 1; }
};

std::span<const KvWorkload> KvWorkloads();

/// InvalidArgument with the known names when there is no such workload.
absl::StatusOr<const KvWorkload*> FindKvWorkload(std::string_view name);

}  // namespace latchkey
