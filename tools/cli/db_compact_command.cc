#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "storage/base/status_macros.h"
#include "tools/cli/db_compact.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/signals.h"

namespace latchkey {
namespace {

absl::StatusOr<Options> OptionsOf(const CompactFlags& flags, Progress& progress) {
  LATCHKEY_ASSIGN_OR_RETURN(Options options, DatabaseOptions(flags.db, progress));
  options.create_if_missing = false;
  if (!flags.space_utilization.empty()) {
    LATCHKEY_ASSIGN_OR_RETURN(options.techniques.space_utilization,
                              ParseNumber("space-utilization", flags.space_utilization, 0.5, 0.98));
  }
  return options;
}

absl::Status Compact(const CompactFlags& flags) {
  Progress progress;
  CompactOptions options;
  options.progress = [&progress](const CompactProgress& now) {
    progress.Show(fmt::format("{} leaves, {} freed, data file of {} MiB", now.leaves, now.freed,
                              now.file_bytes / kMiB));
    return !StopRequested().load(std::memory_order_relaxed);
  };
  if (!flags.max_mb_s.empty()) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t rate,
                              ParseCount("max-mb-s", flags.max_mb_s, 1, UINT64_MAX / kBytesPerMb));
    options.max_bytes_per_second = rate * kBytesPerMb;
  }
  LATCHKEY_ASSIGN_OR_RETURN(const Options opened, OptionsOf(flags, progress));
  absl::StatusOr<std::unique_ptr<Database>> db = Database::Open(flags.db.path, opened);
  if (!db.ok()) return AboutDatabase(flags.db.path, db.status());
  const auto run = [&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const CompactInfo info, (*db)->Compact(options));
    progress.Clear();
    spdlog::info("data file: {} bytes before, {} now; {} leaves, {} freed", info.bytes_before,
                 info.bytes_after, info.leaves, info.freed);
    return absl::OkStatus();
  };
  return CloseAfter(**db, AboutDatabase(flags.db.path, run()));
}

}  // namespace

int CompactCommand(const CompactFlags& flags) {
  const absl::Status status = Compact(flags);
  return Finish(status);
}

}  // namespace latchkey
