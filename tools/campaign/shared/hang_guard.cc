#include "tools/campaign/shared/hang_guard.h"

#include <dirent.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "storage/runtime/runtime.h"

namespace latchkey {
namespace {

constexpr unsigned kMostSecondsOfReport = 20;

void Print(const char* text) {
  const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

void PrintStack(int) {
  void* calls[48];
  Print("a thread is in\n");
  backtrace_symbols_fd(calls, backtrace(calls, 48), STDERR_FILENO);
}

// Reads a directory and so allocates memory, which a signal handler must not do. If a thread hangs in
// the allocator, the second alarm ends the report.
void ReportAndDie(int) {
  signal(SIGALRM, SIG_DFL);
  alarm(kMostSecondsOfReport);
  Print("A child process has not ended. Its threads:\n");
  if (DIR* const threads = opendir("/proc/self/task")) {
    while (const dirent* const thread = readdir(threads)) {
      const int id = std::atoi(thread->d_name);
      if (id == 0) continue;  // "." or ".."
      syscall(SYS_tgkill, getpid(), id, SIGUSR2);
      ThreadRuntime().SleepFor(50 * kNanosPerMilli);  // until it has printed
    }
  }
  raise(SIGALRM);
}

}  // namespace

void DieIfHung(unsigned seconds) {
  void* call;
  backtrace(&call, 1);  // its first call loads a library, which a signal handler must not do
  signal(SIGUSR2, PrintStack);
  signal(SIGALRM, ReportAndDie);
  alarm(seconds);
}

}  // namespace latchkey
