// The files or disks of a database in the model campaign, while it is closed and opened again.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "storage/base/rng.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/disk_image.h"
#include "tools/campaign/model/model_configurations.h"

namespace latchkey {

/// Not thread-safe.
class ModelHome {
 public:
  /// `path`: directory for files; removed at the end.
  ModelHome(const ModelConfiguration& configuration, std::string path);
  ~ModelHome();

  absl::StatusOr<std::unique_ptr<Database>> Open();
  /// Whether a closed database can be opened again.
  bool survives_closing() const { return configuration_.medium != ModelMedium::kMemory; }
  /// Whether power losses are possible: the disks know which writes are synced, and there is a log.
  bool survives_power_loss() const {
    return configuration_.has_disks() && configuration_.options.durability != Durability::kNone;
  }

  /// Cuts the power: every call of the database fails from now on. REQUIRES: survives_power_loss().
  void CutPower() { disks_->PowerOff(); }
  /// Makes the state that the machine finds when it starts again: of the unsynced writes the seed
  /// chooses which are there. Also called after a clean close, which must need no unsynced write.
  /// Internal: a rule of the disks was broken. REQUIRES: the database is destroyed.
  absl::Status Restart();

 private:
  absl::StatusOr<std::unique_ptr<Database>> OpenOnDisks();
  void PlugIn(const std::vector<DiskImage>& images);

  const ModelConfiguration& configuration_;
  const std::string path_;
  std::unique_ptr<CrashRecorder> disks_;
  bool created_ = false;
  Rng rng_;
};

}  // namespace latchkey
