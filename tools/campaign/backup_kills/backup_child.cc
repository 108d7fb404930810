#include "tools/campaign/backup_kills/backup_child.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/backup/backup_job.h"
#include "engine/database_impl.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/kills/kill_workload.h"
#include "tools/campaign/shared/kill_points.h"

namespace latchkey {
namespace {

// Small, so that a killed backup has page files to go on behind.
constexpr BackupSizing kSizing = {.page_file_bytes = uint64_t{32} << 10,
                                  .batch_bytes = uint64_t{16} << 10};
constexpr char kLoadedTree[] = "loaded";
constexpr uint32_t kLoadedRecords = 300;

absl::StatusOr<uint32_t> Finished(const std::string& directory) {
  const absl::StatusOr<std::vector<BackupInfo>> backups = ListBackups(directory);
  if (absl::IsNotFound(backups.status())) return 0;
  if (!backups.ok()) return backups.status();
  return static_cast<uint32_t>(backups->size());
}

std::string LoadedKey(uint32_t record) { return fmt::format("loaded {:05}", record); }
std::string LoadedValue(uint32_t record) { return std::string(100 + record % 50, 'l'); }

// A bulk load that ends while a backup copies pages.
absl::Status LoadTree(Database& db) {
  const absl::Status dropped = db.DropTree(kLoadedTree);
  if (!dropped.ok() && !absl::IsNotFound(dropped)) return dropped;
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BulkLoader> load, db.NewBulkLoader(kLoadedTree));
  for (uint32_t i = 0; i < kLoadedRecords; ++i) {
    LATCHKEY_RETURN_IF_ERROR(load->Put(LoadedKey(i), LoadedValue(i)));
  }
  return load->Finish().status();
}

// Dropped or never loaded, or whole.
absl::Status CheckLoadedTree(Database& db) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::optional<uint32_t> records,
                            CountRows(db, kLoadedTree, LoadedKey, LoadedValue));
  if (!records || *records == kLoadedRecords) return absl::OkStatus();
  return absl::InternalError(
      fmt::format("the loaded tree has {} of {} records", *records, kLoadedRecords));
}

class RestoreChild {
 public:
  RestoreChild(const RestoreLife& life, const KillNotes& kills, BackupNotes& notes)
      : life_(life), kills_(kills), notes_(notes), rng_(life.life_seed) {}

  absl::Status Run() {
    LATCHKEY_RETURN_IF_ERROR(CompareLeft());
    const absl::StatusOr<std::vector<BackupInfo>> backups = CheckBackups(life_.directory);
    const uint32_t returned = notes_.finished.load();
    if (absl::IsNotFound(backups.status()) && returned == 0) return absl::OkStatus();
    LATCHKEY_RETURN_IF_ERROR(backups.status());
    if (backups->size() < returned || backups->size() > returned + 1) {
      return absl::InternalError(fmt::format("there are {} backups, and {} calls have returned OK",
                                             backups->size(), returned));
    }
    notes_.proven.fetch_add(backups->size());
    const auto newest = static_cast<uint32_t>(backups->size());
    const uint32_t number =
        rng_.Below(3) == 0 ? 1 + static_cast<uint32_t>(rng_.Below(newest)) : newest;
    LATCHKEY_RETURN_IF_ERROR(Restore(number));
    LATCHKEY_RETURN_IF_ERROR(Compare(number));
    notes_.restored.fetch_add(1);
    return RemoveCopy();
  }

 private:
  // The restore before was killed: its copy is not there, or it is whole.
  absl::Status CompareLeft() {
    if (!std::filesystem::exists(life_.copy)) return absl::OkStatus();
    LATCHKEY_RETURN_IF_ERROR(Compare(0));
    notes_.found_whole.fetch_add(1);
    return RemoveCopy();
  }

  absl::Status Restore(uint32_t number) {
    RestoreOptions options;
    options.number = number;
    options.database.cache_bytes = 8 << 20;
    return RestoreBackup(life_.directory, life_.copy, options);
  }

  // `number` 0: any of the series.
  absl::Status Compare(uint32_t number) {
    Options options;
    options.cache_bytes = 8 << 20;
    options.create_if_missing = false;
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db,
                              Database::Open(life_.copy, options));
    LATCHKEY_ASSIGN_OR_RETURN(const KillTrees trees, OpenKillTrees(*db));
    std::vector<KillBounds> bounds;
    std::vector<KillThreadModel> models;
    for (uint32_t t = 0; t < life_.threads; ++t) {
      bounds.push_back({notes_.backups[number == 0 ? 1 : number].acknowledged[t].load(),
                        kills_.threads[t].submitted.load()});
      models.emplace_back(life_.seed, t);
    }
    LATCHKEY_RETURN_IF_ERROR(CheckKillStore(*db, trees, life_.seed, bounds, models));
    LATCHKEY_RETURN_IF_ERROR(CheckLoadedTree(*db));
    return db->Close();
  }

  absl::Status RemoveCopy() {
    std::error_code error;
    std::filesystem::remove_all(life_.copy, error);
    return error ? absl::UnavailableError("cannot remove " + life_.copy) : absl::OkStatus();
  }

  const RestoreLife& life_;
  const KillNotes& kills_;
  BackupNotes& notes_;
  Rng rng_;
};

}  // namespace

void BackupNotes::Reset() {
  finished.store(0);
  for (Backup& backup : backups) {
    for (auto& thread : backup.acknowledged) thread.store(0);
  }
}

absl::Status BackUpBeside(Database& db, const std::string& directory, uint32_t threads,
                          const KillNotes& kills, BackupNotes& notes, bool dies_after_one) {
  for (;;) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint32_t finished, Finished(directory));
    notes.finished.store(finished);  // a call that was killed may have finished its backup
    if (finished == BackupNotes::kMostBackups) return absl::OkStatus();
    for (uint32_t t = 0; t < threads; ++t) {
      notes.backups[finished + 1].acknowledged[t].store(kills.threads[t].acknowledged.load());
    }
    bool loaded = false;
    absl::Status load;
    BackupOptions options;
    // A limit that is never reached takes away the pauses, in which most of a backup's time goes by.
    if (notes.attempts.fetch_add(1) % 4 != 0) options.max_bytes_per_second = uint64_t{1} << 60;
    options.incremental = finished > 0;
    // During the check a checkpoint of the store would make durable what the backup has noted.
    options.check = !dies_after_one;
    options.progress = [&](const BackupProgress& progress) {
      if (progress.phase == BackupPhase::kPages && !std::exchange(loaded, true))
        load = LoadTree(db);
      return load.ok();
    };
    const absl::StatusOr<BackupInfo> info =
        DatabaseImpl::Of(db).Backup(directory, options, kSizing);
    LATCHKEY_RETURN_IF_ERROR(load);
    LATCHKEY_RETURN_IF_ERROR(info.status());
    notes.finished.store(info->number);
    notes.backups_made.fetch_add(1);
    notes.resumed.fetch_add(info->resumed_pages > 0 ? 1 : 0);
    if (dies_after_one) KillThisProcess();
  }
}

int RunRestoreLife(const RestoreLife& life, KillNotes& kills, BackupNotes& notes) {
  const absl::Status end = RestoreChild(life, kills, notes).Run();
  if (end.ok()) return 0;
  kills.Fail(end);
  return 1;
}

}  // namespace latchkey
