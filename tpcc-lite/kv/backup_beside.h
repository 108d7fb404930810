// Backups beside a run: how much do they slow its users down?
//
// An actor makes full backups, one after the other and without a limit of their rate, from before the
// warm-up until after the run. Each goes into a directory beside that of the database, and is removed.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// What became of the backups of a run.
struct BackupBesideResult {
  uint64_t finished = 0;  ///< copied, read back and published
  uint64_t bytes = 0;     ///< of their files
  double seconds = 0;     ///< from the begin of the first to the end of the last finished one
};

/// Not thread-safe.
class BackupBeside {
 public:
  /// `directory` is not there yet.
  BackupBeside(KvBackend& backend, std::string directory, Runtime& runtime)
      : backend_(backend), directory_(std::move(directory)), runtime_(runtime) {}
  /// Interrupts the backup and removes what it has written.
  ~BackupBeside();
  BackupBeside(const BackupBeside&) = delete;
  BackupBeside& operator=(const BackupBeside&) = delete;

  void Begin();
  /// Interrupts the backup that is being made. Returns the first error of a backup.
  absl::StatusOr<BackupBesideResult> End();

 private:
  absl::Status MakeBackups();
  void Remove() const;
  void Join();

  KvBackend& backend_;
  const std::string directory_;
  Runtime& runtime_;
  BackupBesideResult result_;
  absl::Status status_;
  std::atomic<bool> over_{false};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
