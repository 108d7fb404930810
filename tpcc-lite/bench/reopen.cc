#include "tpcc-lite/bench/reopen.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using Opener = absl::FunctionRef<absl::StatusOr<std::unique_ptr<KvBackend>>()>;

constexpr Nanos kBetweenLooks = 20 * kNanosPerMilli;
constexpr Nanos kCheckpointPatience = 600 * kNanosPerSecond;
constexpr Nanos kEndless = 1'000'000 * kNanosPerSecond;

/// The report of the child, sent through the pipe right before it is killed or gives up.
struct LastWords {
  uint64_t commits = 0, dirty_pages = 0, pages_in_cache = 0;
  bool failed = false;
  bool cancelled = false;
  char error[256] = {};
};

void Say(int pipe_end, const LastWords& words) {
  // Shorter than PIPE_BUF: write(2) writes it whole or not at all.
  if (write(pipe_end, &words, sizeof words) != sizeof words) _exit(1);
}

/// Waits until the cache is full of dirty pages, then crashes.
class Watcher {
 public:
  Watcher(const KvBackend& backend, int pipe_end) : backend_(backend), pipe_end_(pipe_end) {}

  void Run(const std::atomic<bool>& stop) {
    Runtime& runtime = ThreadRuntime();
    uint64_t most_dirty = 0;
    Nanos last_growth = runtime.Now();
    while (!stop.load(std::memory_order_relaxed)) {
      runtime.SleepFor(kBetweenLooks);
      const Statistics now = backend_.GetStatistics().latchkey.value_or(Statistics());
      const uint64_t used = now.frames - now.free_frames;
      if (now.dirty_frames > most_dirty) {
        most_dirty = now.dirty_frames;
        last_growth = runtime.Now();
      }
      const bool full = now.dirty_frames > 0 && static_cast<double>(now.dirty_frames) >=
                                                    kReopenDirtyShare * static_cast<double>(used);
      if (full || runtime.Now() - last_growth >= kReopenPatience) Crash(now, used);
    }
  }

 private:
  [[noreturn]] void Crash(const Statistics& now, uint64_t used) const {
    Say(pipe_end_,
        {.commits = now.commits, .dirty_pages = now.dirty_frames, .pages_in_cache = used});
    raise(SIGKILL);
    _exit(1);
  }

  const KvBackend& backend_;
  const int pipe_end_;
};

absl::Status UpdateUntilKilled(Opener open, const KvBenchConfig& config, int pipe_end) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvBackend> backend, open());
  if (!backend->GetStatistics().latchkey.has_value()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{} does not tell how many of its pages are dirty", backend->Name());
  }
  KvBenchConfig updates = config;
  LATCHKEY_ASSIGN_OR_RETURN(updates.workload, FindKvWorkload("update-uniform"));
  updates.warmup = 0;
  updates.operations = 0;
  updates.duration = kEndless;
  Watcher watcher(*backend, pipe_end);
  std::atomic<bool> over{false};
  std::unique_ptr<Actor> watching;
  KvBenchHooks hooks;
  hooks.on_measure_begin = [&] {
    watching = ThreadRuntime().Spawn("watcher", [&] { watcher.Run(over); });
  };
  const absl::Status status = RunKvBench(*backend, updates, hooks).status();
  over.store(true, std::memory_order_relaxed);
  if (watching != nullptr) watching->Join();
  LATCHKEY_RETURN_IF_ERROR(status);
  return absl::CancelledError("interrupted");
}

[[noreturn]] void BeTheChild(Opener open, const KvBenchConfig& config, int pipe_end) {
  const absl::Status status = UpdateUntilKilled(open, config, pipe_end);
  LastWords words{.failed = true, .cancelled = absl::IsCancelled(status)};
  const absl::string_view message = status.message();
  std::memcpy(words.error, message.data(), std::min(message.size(), sizeof words.error - 1));
  Say(pipe_end, words);
  _exit(1);
}

/// The report of the child; nullopt: the child ended without one. Waits for the end of the child.
absl::StatusOr<LastWords> Outlive(pid_t child, int pipe_end) {
  LastWords words;
  ssize_t got = 0;
  do {
    got = read(pipe_end, &words, sizeof words);
  } while (got < 0 && errno == EINTR);
  close(pipe_end);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (got != sizeof words) {
    return MakeStatus(absl::StatusCode::kInternal, "the updating process {} ended too early",
                      child);
  }
  if (words.cancelled) return absl::CancelledError("interrupted");
  if (words.failed) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "the updating process: {}",
                      std::string_view(words.error));
  }
  return words;
}

absl::StatusOr<LastWords> CrashAChild(Opener open, const KvBenchConfig& config) {
  int ends[2];
  if (pipe(ends) != 0) return absl::ResourceExhaustedError("no pipe to a child process");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    BeTheChild(open, config, ends[1]);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return absl::ResourceExhaustedError("no child process could be started");
  }
  return Outlive(child, ends[0]);
}

absl::Status CountRecords(KvBackend& backend, const KvBenchConfig& config) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvSession> session, backend.NewSession());
  const std::string beyond(16, '\xff');
  uint64_t records = 0;
  LATCHKEY_RETURN_IF_ERROR(session->Begin());
  LATCHKEY_RETURN_IF_ERROR(session->Scan(0, "", beyond, /*reverse=*/false,
                                         [&](std::string_view, std::string_view value) {
                                           records += value.size() == config.value_size ? 1 : 0;
                                           return true;
                                         }));
  LATCHKEY_RETURN_IF_ERROR(session->Commit());
  if (records == config.records) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "{} of {} records are there after the crash",
                    records, config.records);
}

/// Waits for the checkpoint that an open begins. If it fails, there is nothing to wait for.
absl::Status AwaitCheckpoint(const KvBackend& backend) {
  const Nanos until = ThreadRuntime().Now() + kCheckpointPatience;
  while (ThreadRuntime().Now() < until) {
    const Statistics now = backend.GetStatistics().latchkey.value_or(Statistics());
    if (now.log && now.log->checkpoints > 0) return absl::OkStatus();
    ThreadRuntime().SleepFor(kBetweenLooks);
  }
  return absl::DeadlineExceededError("no checkpoint came to its end after the open");
}

}  // namespace

absl::StatusOr<ReopenResult> MeasureReopen(Opener open, const KvBenchConfig& config) {
  LATCHKEY_RETURN_IF_ERROR(config.Validate());
  LATCHKEY_ASSIGN_OR_RETURN(const LastWords words, CrashAChild(open, config));
  ReopenResult result;
  result.commits = words.commits;
  result.dirty_pages = words.dirty_pages;
  Runtime& runtime = ThreadRuntime();
  const Nanos began = runtime.Now();
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvBackend> backend, open());
  result.open_s = static_cast<double>(runtime.Now() - began) / kNanosPerSecond;
  const Statistics statistics = backend->GetStatistics().latchkey.value_or(Statistics());
  if (!statistics.recovery) {
    return absl::FailedPreconditionError(
        "nothing was to recover: give a durability with a log, and a cache that holds dirty pages");
  }
  result.phases = *statistics.recovery;
  result.dirty_share = words.pages_in_cache == 0 ? 0
                                                 : static_cast<double>(words.dirty_pages) /
                                                       static_cast<double>(words.pages_in_cache);
  LATCHKEY_RETURN_IF_ERROR(AwaitCheckpoint(*backend));
  result.checkpointed_s = static_cast<double>(runtime.Now() - began) / kNanosPerSecond;
  LATCHKEY_RETURN_IF_ERROR(CountRecords(*backend, config));
  LATCHKEY_RETURN_IF_ERROR(backend->Close());
  return result;
}

}  // namespace latchkey
