#include "tools/campaign/model/model_home.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "storage/base/status_macros.h"
#include "storage/device/faulty/crash_replay.h"

namespace latchkey {
namespace {

constexpr uint32_t kDisks = 3;

bool TearsWrites(const CrashChoice& choice) {
  return choice.variant == CrashVariant::kSectors || choice.variant == CrashVariant::kGarbage ||
         choice.variant == CrashVariant::kExactly;
}

}  // namespace

ModelHome::ModelHome(const ModelConfiguration& configuration, std::string path)
    : configuration_(configuration),
      path_(std::move(path)),
      rng_(configuration.options.techniques.seed) {
  if (configuration.has_disks()) PlugIn(std::vector<DiskImage>(kDisks));
}

ModelHome::~ModelHome() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void ModelHome::PlugIn(const std::vector<DiskImage>& images) {
  disks_ = std::make_unique<CrashRecorder>(
      ThreadRuntime(),
      CrashRecorderOptions{.capacity_limit_bytes = uint64_t{1} << 30, .seed = rng_.Next()});
  for (size_t i = 0; i < images.size(); ++i) disks_->AddDisk(fmt::format("disk {}", i), images[i]);
}

absl::StatusOr<std::unique_ptr<Database>> ModelHome::Open() {
  if (configuration_.has_disks()) return OpenOnDisks();
  return Database::Open(path_, configuration_.options);
}

absl::StatusOr<std::unique_ptr<Database>> ModelHome::OpenOnDisks() {
  const DatabaseSizing sizing = {
      .log_segment_bytes = 64 << 10,
      .log_initial_bytes = 256 << 10,
      .journal_segment_bytes = 16 << 10,
      .reserve_bytes = 1,
      .doublewrite_pages = 0,
      .tears_no_page = configuration_.medium == ModelMedium::kPowerCutUntorn,
      .assume_device_costs = true};
  Options options = configuration_.options;
  options.create_if_missing = !created_;
  LATCHKEY_ASSIGN_OR_RETURN(
      std::unique_ptr<DatabaseImpl> db,
      DatabaseImpl::OpenOverDevices(
          ThreadRuntime(),
          DevicesOn(*disks_, sizing, configuration_.options.durability != Durability::kNone),
          options));
  created_ = true;
  return DatabaseImpl::AsDatabase(std::move(db));
}

absl::Status ModelHome::Restart() {
  if (disks_ == nullptr) return absl::OkStatus();
  for (const std::string& violation : disks_->violations()) return absl::InternalError(violation);
  CrashReplay replay(*disks_);
  replay.AdvanceTo(replay.end());
  std::vector<CrashChoice> choices = replay.Choices({});
  if (configuration_.medium == ModelMedium::kPowerCutUntorn) std::erase_if(choices, TearsWrites);
  PlugIn(replay.Images(choices[rng_.Below(choices.size())], rng_.Next()));
  return absl::OkStatus();
}

}  // namespace latchkey
