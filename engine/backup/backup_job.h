// One backup of an open database. README.md says how it works and why it is consistent.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "engine/backup/backup_directory.h"
#include "engine/backup/known_pages.h"
#include "engine/backup/log_copier.h"
#include "engine/bulk/bulk_load_impl.h"
#include "engine/latchkey.h"
#include "engine/log/checkpointer.h"
#include "engine/log/engine_log.h"
#include "engine/pace.h"
#include "storage/page_store.h"

namespace latchkey {

/// Figures that tests make small.
struct BackupSizing {
  uint64_t page_file_bytes = uint64_t{256} << 20;  ///< an interrupted backup goes on behind these
  uint64_t batch_bytes = kBackupPieceBytes;        ///< of pages read together; at least a page
  /// Below this number of page writes no sequence has come round (LocationWord::kSequenceBits).
  uint64_t writes_of_one_round = (uint64_t{1} << 26) - 1;
};

/// The parts of the database that a backup uses.
struct BackupSource {
  Runtime& runtime;
  PageStore& store;
  EngineLog& log;
  Checkpointer& checkpointer;
  BulkLoads& loads;
  uint64_t database_id = 0;
  BackupSizing sizing;
};

/// Not thread-safe; one job of a database at a time.
class BackupJob {
 public:
  BackupJob(const BackupSource& source, const BackupOptions& options)
      : source_(source), options_(options), pace_(source.runtime, options.max_bytes_per_second) {}
  ~BackupJob() {
    source_.checkpointer.ReleaseLog();
    source_.loads.StopNoting();
  }

  absl::StatusOr<BackupInfo> Run(const std::string& path);

 private:
  struct Batch;

  absl::Status CheckSeries();
  absl::Status LoadKnown();
  absl::Status Resume();
  absl::Status BeginNew();
  absl::Status CopyPages();
  absl::Status CopyLoads();
  absl::Status CopyRuns(BulkLoads::Runs runs);
  absl::Status CopyBatch(Batch& batch);
  absl::Status NoteGone(PageId page);
  absl::Status EnsureFile();
  absl::Status SealFile(bool finished);
  absl::Status CopyEnd(const BulkLoads::Runs& runs);
  absl::Status Finish();
  absl::Status Check();
  absl::Status GoOn();
  absl::Status Wait(uint64_t bytes);
  absl::Status GiveWay(absl::FunctionRef<absl::Status()> go_on);

  const BackupSource source_;
  const BackupOptions& options_;
  Pace pace_;
  Nanos piece_begin_ = 0;  // end of the last wait
  Lsn seen_log_{0};        // end of the log then
  bool copies_loads_ = false;
  std::unique_ptr<BackupDirectory> directory_;
  BackupManifest manifest_;  // of the backup that is being made
  KnownPages known_;
  bool trusts_known_ = true;
  std::unique_ptr<LogCopier> log_copier_;
  std::unique_ptr<PageFileWriter> file_;
  BackupProgress progress_;
};

}  // namespace latchkey
