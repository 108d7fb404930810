// For crash tests: a simulated machine that records all events on its disks, and options for a
// database so small that it writes pages, truncates its log and cleans segments within a short run.
#pragma once

#include <string>
#include <vector>

#include "engine/open_store.h"
#include "engine/options.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey {

/// A small cache, small segments, and a checkpoint for each 64 KiB of log.
inline Options BusyOptions(const std::string& layout, Durability durability) {
  Options options;
  options.cache_bytes = 2 << 20;
  options.durability = durability;
  options.checkpoint_log_bytes = 64 << 10;
  options.techniques.layout = layout;
  options.techniques.segment_size = 64 << 10;
  return options;
}

inline DatabaseSizing BusySizing() {
  return {.log_segment_bytes = 16 << 10,
          .log_initial_bytes = 64 << 10,
          .journal_segment_bytes = 8 << 10,
          .reserve_bytes = 12 * (64 << 10),
          .doublewrite_pages = 16,
          .assume_device_costs = true};
}

struct RecordedMachine {
  /// A new machine: the disks are empty, slow, and recorded.
  RecordedMachine(uint64_t seed, double preempt_probability)
      : runtime({.seed = seed, .preempt_probability = preempt_probability}),
        disks(runtime, {.min_latency = 5 * kNanosPerMicro,
                        .max_latency = 60 * kNanosPerMicro,
                        .sync_latency = 30 * kNanosPerMicro,
                        .seed = seed}) {
    for (const char* name : {"data", "log", "journal"}) disks.AddDisk(name);
  }
  /// The machine after a power failure, with what it finds on its disks.
  RecordedMachine(uint64_t seed, double preempt_probability, const std::vector<DiskImage>& images)
      : runtime({.seed = seed, .preempt_probability = preempt_probability}),
        disks(runtime, {.record = false, .max_latency = 20 * kNanosPerMicro, .seed = seed}) {
    for (const DiskImage& image : images) disks.AddDisk("disk", image);
  }

  SimulatedRuntime runtime;
  CrashRecorder disks;
};

}  // namespace latchkey
