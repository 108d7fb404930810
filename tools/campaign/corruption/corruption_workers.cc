#include "tools/campaign/corruption/corruption_workers.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "storage/base/check.h"

namespace latchkey {
namespace {

// Processor time, so that a case on a loaded machine does not count as a hang.
constexpr rlim_t kHangSeconds = 60;
// So few that even a slow machine with sanitizers needs far less than the limit for them.
constexpr uint64_t kCasesBetweenLimits = 50;

/// Memory in which a worker reports to its parent process.
struct Slot {
  std::atomic<uint64_t> next{0};  // the case in progress
  uint32_t failures = 0;
  CorruptionTally tally;
  char text[8 << 10] = {};  // one failure per line
};

struct Slots {
  explicit Slots(uint32_t count) : count(count) {
    void* memory = mmap(nullptr, count * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    LATCHKEY_CHECK(memory != MAP_FAILED);
    slots = static_cast<Slot*>(memory);
    for (uint32_t i = 0; i < count; ++i) new (&slots[i]) Slot;
  }
  ~Slots() { munmap(slots, count * sizeof(Slot)); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  const uint32_t count;
  Slot* slots = nullptr;
};

void AddFailure(Slot& slot, const std::string& line) {
  ++slot.failures;
  const size_t used = std::strlen(slot.text), room = sizeof(slot.text) - used;
  std::snprintf(slot.text + used, room, "%s\n", line.c_str());
}

void LimitProcessorTime() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto used = static_cast<rlim_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  rlimit limit{};
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, used + kHangSeconds);
  setrlimit(RLIMIT_CPU, &limit);
}

void RunOne(CaseRunner& runner, uint64_t number, Slot& slot) {
  std::string failure;
  if (runner.RunCase(number, &slot.tally, &failure)) return;
  AddFailure(slot, runner.Describe(number) + ": " + failure);
}

/// Runs the cases of one worker, from the case after the one at which its predecessor died.
void Work(CaseRunner& runner, uint32_t step, uint32_t max_failures, Slot& slot) {
  for (uint64_t i = slot.next; i < runner.cases(); i += step) {
    if (slot.failures >= max_failures) return;
    slot.next = i;
    if (i / step % kCasesBetweenLimits == 0) LimitProcessorTime();
    RunOne(runner, i, slot);
  }
  slot.next = UINT64_MAX;
}

pid_t StartWorker(CaseRunner& runner, uint32_t step, uint32_t max_failures, Slot& slot) {
  std::fflush(nullptr);
  const pid_t child = fork();
  LATCHKEY_CHECK(child >= 0);
  if (child != 0) return child;
  Work(runner, step, max_failures, slot);
  _exit(0);
}

std::string EndOf(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const char* name = WTERMSIG(status) == SIGXCPU ? " (it hangs)" : "";
  return fmt::format("killed by signal {}{}", WTERMSIG(status), name);
}

/// One worker process and its successors, until all their cases are done.
class Worker {
 public:
  Worker(CaseRunner& runner, uint32_t step, uint32_t max_failures, Slot& slot)
      : runner_(runner), step_(step), max_failures_(max_failures), slot_(slot) {
    Start();
  }
  void Finish() {
    for (;;) {
      int status = 0;
      LATCHKEY_CHECK(waitpid(child_, &status, 0) == child_);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
      const uint64_t died_in = slot_.next;
      ++slot_.tally.cases;
      ++slot_.tally.by_verdict[static_cast<size_t>(CaseVerdict::kWrong)];
      AddFailure(slot_, runner_.Describe(died_in) + ": " + EndOf(status));
      if (slot_.failures >= max_failures_) return;
      slot_.next = died_in + step_;
      Start();
    }
  }

 private:
  void Start() { child_ = StartWorker(runner_, step_, max_failures_, slot_); }

  CaseRunner& runner_;
  const uint32_t step_, max_failures_;
  Slot& slot_;
  pid_t child_ = 0;
};

void Collect(const Slot& slot, CorruptionTally* tally, std::vector<std::string>* failures) {
  tally->Add(slot.tally);
  const char* line = slot.text;
  while (const char* end = std::strchr(line, '\n')) {
    failures->emplace_back(line, end);
    line = end + 1;
  }
}

}  // namespace

void RunCases(CaseRunner& runner, uint32_t jobs, uint32_t max_failures, CorruptionTally* tally,
              std::vector<std::string>* failures) {
  const uint32_t workers = std::max(jobs, 1u);
  Slots slots(workers);
  for (uint32_t i = 0; i < workers; ++i) slots.slots[i].next = i;
  if (jobs == 0) {
    for (uint64_t i = 0; i < runner.cases() && slots.slots[0].failures < max_failures; ++i) {
      RunOne(runner, i, slots.slots[0]);
    }
  } else {
    std::vector<Worker> running;
    for (uint32_t i = 0; i < workers; ++i) {
      running.emplace_back(runner, workers, max_failures, slots.slots[i]);
    }
    for (Worker& worker : running) worker.Finish();
  }
  for (uint32_t i = 0; i < workers; ++i) Collect(slots.slots[i], tally, failures);
}

}  // namespace latchkey
