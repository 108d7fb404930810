#include "tools/cli/signals.h"

#include <csignal>

namespace latchkey {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

std::atomic<int> signals_seen{0};
static_assert(std::atomic<int>::is_always_lock_free, "counted in a signal handler");

void OnStopSignal(int signal_number) {
  stop_requested.store(true, std::memory_order_relaxed);
  // Two signals may be one request: timeout(1) signals its child and then its whole process group.
  if (signals_seen.fetch_add(1, std::memory_order_relaxed) < 2) return;
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

}  // namespace

void InstallStopSignals() {
  struct sigaction action = {};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` is an error as any other
}

const std::atomic<bool>& StopRequested() { return stop_requested; }

}  // namespace latchkey
