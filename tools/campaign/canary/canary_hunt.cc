#include "tools/campaign/canary/canary_hunt.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"

extern char** environ;

namespace latchkey {
namespace {

constexpr Nanos kLookEvery = 2 * kNanosPerMilli;
constexpr std::string_view kVariable = "LATCHKEY_CANARY=";
constexpr std::string_view kMet = "canary met: ";

std::optional<uint64_t> NumberAt(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

// "counts: crash states=12 runs=3" has states = 12.
std::optional<uint64_t> CountIn(std::string_view line, std::string_view key) {
  const std::string sought = fmt::format(" {}=", key);
  const size_t at = line.find(sought);
  return at == std::string_view::npos ? std::nullopt : NumberAt(line.substr(at + sought.size()));
}

template <typename Visit>
void ForEachLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool StoppedItself(int signal) {
  return signal == SIGABRT || signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE ||
         signal == SIGILL;
}

absl::Status CannotStart(const std::string& program, int error) {
  return MakeStatus(absl::StatusCode::kUnavailable, "cannot start {}: {}", program,
                    ErrnoText(error));
}

// The environment of this process, with another canary selected.
std::vector<std::string> EnvironmentFor(const std::string& canary) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, kVariable.data(), kVariable.size()) != 0) {
      environment.emplace_back(*entry);
    }
  }
  if (!canary.empty()) environment.push_back(std::string(kVariable) + canary);
  return environment;
}

std::vector<char*> PointersTo(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

absl::StatusOr<pid_t> Start(const HuntOrder& order, int output) {
  std::vector<std::string> words = {order.program};
  words.insert(words.end(), order.arguments.begin(), order.arguments.end());
  std::vector<std::string> environment = EnvironmentFor(order.canary);
  const std::vector<char*> argv = PointersTo(words), envp = PointersTo(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, order.program.c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return CannotStart(order.program, error);
  return pid;
}

// The wait status; nullopt: the time limit was reached and the process was killed.
std::optional<int> Await(Runtime& runtime, pid_t pid, Nanos limit) {
  const Nanos start = runtime.Now();
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (runtime.Now() - start > limit) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return std::nullopt;
    }
    runtime.SleepFor(kLookEvery);
  }
}

std::string ContentOf(std::FILE* file) {
  std::string content;
  std::array<char, 4096> piece;
  std::rewind(file);
  for (size_t n; (n = std::fread(piece.data(), 1, piece.size(), file)) > 0;) {
    content.append(piece.data(), n);
  }
  return content;
}

}  // namespace

std::string TellCanaryMet(std::string_view canary, uint64_t met) {
  return fmt::format("{}{} times, {}\n", kMet, met, canary);
}

HuntResult JudgeHunt(std::string_view output, int wait_status, std::string_view unit) {
  HuntResult result;
  std::string_view wrong, last;
  ForEachLine(output, [&](std::string_view line) {
    if (line.starts_with("WRONG") && wrong.empty()) wrong = line;
    if (line.starts_with("counts: ")) {
      result.work = CountIn(line, unit);
    } else if (line.starts_with(kMet)) {
      result.met = NumberAt(line.substr(kMet.size())).value_or(0);
    } else {
      last = line;
    }
  });
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    result.end = StoppedItself(signal) ? HuntEnd::kCheck : HuntEnd::kUnfit;
    result.what = fmt::format("signal {}: {}", signal, last);
  } else if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
    result.end = wrong.empty() ? HuntEnd::kPassed : HuntEnd::kUnfit;
    result.what = wrong;
  } else {
    result.end =
        WEXITSTATUS(wait_status) == 1 && !wrong.empty() ? HuntEnd::kMistake : HuntEnd::kUnfit;
    result.what = wrong.empty() ? fmt::format("exit {}: {}", WEXITSTATUS(wait_status), last)
                                : std::string(wrong);
  }
  return result;
}

absl::StatusOr<HuntResult> Hunt(Runtime& runtime, const HuntOrder& order) {
  const TemporaryFile output(std::tmpfile(), &std::fclose);
  if (output == nullptr) return CannotStart(order.program, errno);
  LATCHKEY_ASSIGN_OR_RETURN(const pid_t pid, Start(order, fileno(output.get())));
  const std::optional<int> status = Await(runtime, pid, order.limit);
  if (status) return JudgeHunt(ContentOf(output.get()), *status, order.unit);
  HuntResult result;
  result.end = HuntEnd::kTooLong;
  result.what = fmt::format("did not end within {} s", order.limit / kNanosPerSecond);
  return result;
}

}  // namespace latchkey
