// The devices of a database on the disks of a CrashRecorder.
#pragma once

#include "engine/open_store.h"
#include "storage/device/faulty/crash_recorder.h"

namespace latchkey {

/// Small sizes: a test fills each of the devices with a few records.
inline DatabaseSizing SmallSizing() {
  return {.log_segment_bytes = 16 << 10,
          .log_initial_bytes = 64 << 10,
          .journal_segment_bytes = 8 << 10,
          .reserve_bytes = 1,
          .doublewrite_pages = 8,
          .assume_device_costs = true};
}

/// Disk 0 is the data; with a log, disk 1 is the log and disk 2 the journal.
inline DatabaseDevices DevicesOn(CrashRecorder& disks, const DatabaseSizing& sizing,
                                 bool has_log = true) {
  DatabaseDevices devices;
  devices.data = disks.Open(0);
  if (has_log) {
    devices.log = disks.Open(1);
    devices.journal = disks.Open(2);
  }
  devices.sizing = sizing;
  return devices;
}

}  // namespace latchkey
