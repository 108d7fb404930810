// The three disks of a database, on which a test cuts the power: a CrashRecorder, and the states
// that the machine may find afterwards.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/testing/devices_on.h"
#include "storage/base/rng.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The contents of the disks in the order data, log, journal.
using CrashImages = std::vector<DiskImage>;

/// One life of the disks, in real time. The database on them must be destroyed before them.
class CrashDisks {
 public:
  /// Missing images are empty.
  explicit CrashDisks(CrashImages images = {}) : recorder_(ThreadRuntime()) {
    images.resize(3);
    for (const char* name : {"data", "log", "journal"}) {
      recorder_.AddDisk(name, std::move(images[recorder_.disks()]));
    }
  }

  DatabaseDevices Devices(const DatabaseSizing& sizing) { return DevicesOn(recorder_, sizing); }
  CrashRecorder& recorder() { return recorder_; }

  /// The power is cut now, if it is still on: what the machine finds after `variant`.
  CrashImages CutPower(CrashVariant variant) { return AtTheEnd().Images({.variant = variant}, 1); }
  /// The same after one of all variants, which `rng` draws.
  CrashImages CutPower(Rng& rng) { return AtTheEnd().SomeImages(rng); }

 private:
  CrashReplay AtTheEnd() {
    recorder_.PowerOff();
    for (const std::string& violation : recorder_.violations()) FAIL(violation);
    CrashReplay replay(recorder_);
    replay.AdvanceTo(replay.end());
    return replay;
  }

  CrashRecorder recorder_;
};

}  // namespace latchkey
