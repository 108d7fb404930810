#include "tools/cli/watch_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/runtime/runtime.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/cli/watched_metrics.h"

namespace latchkey {
namespace {

constexpr Nanos kPause = 50 * kNanosPerMilli;
// A program that has published nothing for so long has ended without closing its database.
constexpr int64_t kMostSilence = 10;

std::string FileOf(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path + "/metrics.json" : path;
}

/// nullopt: there is no such file.
std::optional<std::string> ContentOf(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

absl::StatusOr<WatchedMetrics> ReadMetrics(const std::string& path) {
  const std::string file = FileOf(path);
  const std::optional<std::string> text = ContentOf(file);
  if (!text) {
    return MakeStatus(absl::StatusCode::kNotFound,
                      "there is no {}: the program that has the database open does not publish its "
                      "figures; open it "
                      "with the option metrics-path={}",
                      file, file);
  }
  absl::StatusOr<WatchedMetrics> metrics = ParseMetrics(*text);
  if (metrics.ok()) return metrics;
  return InvalidArgument("{}: {}", file, std::string(metrics.status().message()));
}

absl::Status Watch(const std::string& path) {
  if (isatty(STDERR_FILENO) == 0) {
    return InvalidArgument(
        "--watch={}: stderr is no terminal to draw on; the program's file has the figures, too",
        path);
  }
  Runtime& runtime = ThreadRuntime();
  LATCHKEY_ASSIGN_OR_RETURN(WatchedMetrics before, ReadMetrics(path));
  Progress progress;
  progress.Show(path + ": waiting for the next second");
  LiveView view(path, "commits");
  const Nanos begin = runtime.Now();
  Nanos since = begin;
  while (!StopRequested().load(std::memory_order_relaxed)) {
    runtime.SleepFor(kPause);
    absl::StatusOr<WatchedMetrics> now = ReadMetrics(path);
    if (absl::IsNotFound(now.status())) return absl::OkStatus();  // the database was closed
    LATCHKEY_RETURN_IF_ERROR(now.status());
    if (now->written_at == before.written_at) {
      if (runtime.WallClockSeconds() - now->written_at <= kMostSilence) continue;
      return MakeStatus(absl::StatusCode::kUnavailable,
                        "{}: nothing was published for {} s: its program has ended without closing "
                        "it, or stands still",
                        path, runtime.WallClockSeconds() - now->written_at);
    }
    const Nanos at = runtime.Now();
    LiveSample sample =
        SampleBetween(before, *now, static_cast<double>(at - since) / kNanosPerSecond);
    sample.end_s = static_cast<double>(at - begin) / kNanosPerSecond;
    progress.ShowLines(view.Add(sample, now->figures, Progress::Columns()));
    before = *std::move(now);
    since = at;
  }
  return absl::OkStatus();
}

}  // namespace

int WatchCommand(const std::string& path) { return Finish(Watch(path)); }

}  // namespace latchkey
