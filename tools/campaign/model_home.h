// Where a database of the model campaign lives while it is closed and opened again.
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
#include "tools/campaign/model_configurations.h"

namespace latchkey {

/// Not thread-safe.
class ModelHome {
 public:
  /// `path`: where files go; removed at the end.
  ModelHome(const ModelConfiguration& configuration, std::string path);
  ~ModelHome();

  absl::StatusOr<std::unique_ptr<Database>> Open();
  /// Whether what was closed can be opened again.
  bool survives_closing() const { return configuration_.medium != ModelMedium::kMemory; }
  /// Whether the power can go: there are disks that know what they have synced, and a log.
  bool survives_power_loss() const {
    return configuration_.has_disks() && configuration_.options.durability != Durability::kNone;
  }

  /// The power goes: every call of the database fails from now on. REQUIRES: survives_power_loss().
  void CutPower() { disks_->PowerOff(); }
  /// What the machine finds when it starts again: of what was written and not synced, what the seed
  /// chooses. Also behind a clean close, which needs nothing that is not synced. Internal: a rule
  /// of the disks was broken. REQUIRES: the database is gone.
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
