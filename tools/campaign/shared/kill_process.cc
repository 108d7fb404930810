#include "tools/campaign/shared/kill_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/shared/hang_guard.h"

namespace latchkey {

absl::StatusOr<SharedPages> SharedPages::Map(size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return MakeStatus(absl::StatusCode::kResourceExhausted, "{} bytes of shared memory: {}", bytes,
                      std::strerror(errno));
  }
  return SharedPages(data, bytes);
}

SharedPages::~SharedPages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(absl::FunctionRef<int()> body) {
  std::fflush(nullptr);  // prints buffered output once, not in both processes
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return MakeStatus(absl::StatusCode::kUnavailable, "no child process: {}", std::strerror(errno));
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent ended before prctl
    DieIfHung(kMostSecondsOfChild);
    const int result = body();
    std::fflush(nullptr);
    _exit(result);
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid));
}

ChildProcess::~ChildProcess() {
  Kill();
  WaitForEnd();
}

bool ChildProcess::HasEnded() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

void ChildProcess::Kill() {
  // A child keeps its process id until it is waited for, so the signal hits no other process.
  if (!ended_) kill(pid_, SIGKILL);
}

void ChildProcess::WaitUntil(Runtime& runtime, absl::FunctionRef<bool()> is_enough) {
  while (!HasEnded() && !is_enough()) runtime.SleepFor(kNanosPerMilli / 2);
}

void ChildProcess::WaitForEnd() {
  while (!ended_) {
    const pid_t got = waitpid(pid_, &status_, 0);
    LATCHKEY_CHECK(got == pid_ || errno == EINTR);
    ended_ = got == pid_;
  }
}

bool ChildProcess::was_killed() const {
  return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL;
}
bool ChildProcess::ended_well() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

std::string ChildProcess::DescribeEnd() const {
  if (WIFSIGNALED(status_) && WTERMSIG(status_) == SIGALRM) {
    return "the child had not ended in time; it has printed where its threads were";
  }
  if (WIFSIGNALED(status_)) {
    return fmt::format("the child died of signal {} ({})", WTERMSIG(status_),
                       strsignal(WTERMSIG(status_)));
  }
  return fmt::format("the child ended with {}", WEXITSTATUS(status_));
}

}  // namespace latchkey
