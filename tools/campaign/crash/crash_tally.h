// Counts the events that recorded runs are meant to reach. A count of zero shows that the workload
// never reached this event.
#pragma once

#include <cstdint>
#include <string>

#include "engine/latchkey.h"
#include "storage/device/faulty/crash_recorder.h"
#include "tools/campaign/crash/crash_monitor.h"

namespace latchkey {

struct CrashTally {
  uint64_t commits = 0, rollbacks = 0, aborts = 0, savepoint_rollbacks = 0, loads = 0;
  uint64_t values_in_parts = 0;
  uint64_t waiting_puts = 0;  ///< puts that waited in a change buffer
  uint64_t checkpoints = 0, drops = 0, splits = 0, merges = 0, overflow_pages = 0;
  uint64_t page_loads = 0, page_cleanings = 0;  ///< of the pool: pages read or new; pages written
  uint64_t in_place = 0, appended = 0, moved = 0;  ///< page writes of the layout
  uint64_t into_holes = 0;                         ///< of those in place
  uint64_t segments_cleaned = 0, holes_plugged = 0, doublewritten = 0;
  uint64_t growths = 0, cuts = 0;                           ///< of any file
  uint64_t discards = 0;  ///< of the data's disk, if it is ForgetfulFlash: they write zeros
  uint64_t log_slots_reused = 0, journal_slots_reused = 0;  ///< segments of the two logs
  uint64_t pages_repaired = 0;     ///< from doublewrite areas, by recoveries
  uint64_t pages_from_images = 0;  ///< made again from images in the log, by recoveries

  /// Adds the engine's own counts of a run.
  void Add(const Statistics& statistics);
  /// Adds the counts derived from the disks of a run.
  void Add(const CrashRecorder& disks, const DatabaseOnDisks& database);
  void Add(const CrashTally& other);
  /// " commits=12 rollbacks=3 ..."
  std::string Describe() const;
};

}  // namespace latchkey
