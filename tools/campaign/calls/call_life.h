// One life of a database in the calls campaign. A seed draws all of its properties.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The draw of a seed.
struct CallLifePlan {
  Options options;
  uint32_t actors = 4;
  uint32_t calls = 100;        ///< of each actor
  uint64_t disk_bytes = 0;     ///< per disk; beyond it the disk is full
  std::optional<Fault> fault;  ///< of the devices, once the database is open
  double preempt_probability = 0;
  /// All callers write the same six short keys, mostly with values that fit a leaf.
  bool is_hot = false;

  static CallLifePlan Of(uint64_t seed, uint32_t calls);
  std::string Describe() const;
};

/// Counts over all lives.
struct CallCounts {
  uint64_t lives = 0, calls = 0, ok = 0, not_found = 0, aborted = 0, exhausted = 0, refused = 0,
           unavailable = 0, invalid = 0;
  uint64_t faults = 0, reopened = 0, compared = 0;
  uint64_t leaked = 0;  ///< lives with pages that stay in use because a fault kept them from going
  std::vector<std::string> mistakes;

  void Add(const CallCounts& other);
  /// Counts `status`. Notes a mistake if latchkey.h does not document it.
  void Note(const char* call, const absl::Status& status);
};

/// Runs the life of `plan`. REQUIRES: the caller is an actor of `runtime`.
CallCounts RunCallLife(Runtime& runtime, uint64_t seed, const CallLifePlan& plan);

}  // namespace latchkey
